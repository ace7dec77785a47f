//! Observers: leader when a quorum names the same incarnation, vacant when a quorum says free, else
//! unknown.

use tenure_core::nerio::{Command, Effect, Event, OwnEvent, Record, Refusal, Request, Service};
use tenure_core::{Fence, Input, LeaderView, View};

use crate::story::*;

/// The view of an election without candidates, after a while.
fn view(s: &mut Story) -> View {
    s.command("r", Command::Observe { every: ms(100) });
    s.run(ms(500));
    let last = s.events("r").iter().rev().find_map(|event| match event {
        Event::View(view) => Some(View::clone(view)),
        _ => None,
    });
    last.expect("an observer says something")
}

#[test]
fn three_holders_are_no_leader() {
    let mut s = Story::new();
    for (candidate, grantor) in CANDIDATES.into_iter().zip(GRANTORS) {
        s.ask(candidate, grantor, renewal(at(10), 1));
    }
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[test]
fn two_incarnations_are_no_leader() {
    let mut s = Story::new();
    s.ask("p", "a", renewal(at(10), 1));
    s.restart("p");
    s.ask("p", "b", renewal(at(10), 1));
    s.ask("q", "c", renewal(at(10), 1));
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[test]
fn single_free_grantor_is_no_vacancy() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "b", request(at(10)));
    assert!(matches!(view(&mut s), View::Unknown { .. }));
}

#[test]
fn vacancy_is_reported() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    assert_eq!(view(&mut s), View::Vacant, "b and c are free, and a quorum");
}

/// The last leader in r's view.
fn leader(s: &Story) -> LeaderView {
    let last = s.events("r").iter().rev().find_map(|event| match event {
        Event::View(view) => Some(View::clone(view)),
        _ => None,
    });
    match last {
        Some(View::Leader(leader)) => leader,
        other => panic!("{other:?}"),
    }
}

/// The last answer of a grantor that fell silent does not shorten a view of a later quorum.
#[test]
fn silent_grantor_does_not_shorten_view() {
    let mut s = Story::new();
    for grantor in GRANTORS {
        s.ask("p", grantor, renewal(at(10), 1));
    }
    s.command("r", Command::Observe { every: ms(300) });
    s.run(ms(10));
    let before = leader(&s).until.unwrap();
    for grantor in ["a", "b"] {
        s.ask("p", grantor, renewal(at(20), 1));
    }
    s.drop_all();
    s.pass(ms(300));
    s.take("r", "c");
    s.deliver_all();
    let after = leader(&s).until.unwrap();
    assert!(after >= before.after(ms(10)), "{before} and then {after}: a and b have renewed");
}

/// The requests for a leader's grants carried one fence. Grants of an earlier leadership of the
/// same incarnation count for nothing.
#[test]
fn quorum_names_the_fence() {
    let mut s = Story::new();
    for (grantor, fence) in GRANTORS.into_iter().zip([2, 7, 7]) {
        s.ask("p", grantor, renewal(at(10), fence));
    }
    s.drop_all();
    s.command("r", Command::Observe { every: ms(300) });
    s.run(ms(10));
    assert_eq!(leader(&s).fence, Some(Fence::new(7)));
    s.command("r", Command::Unobserve);
    s.tell("p", "c", release(at(10)));
    assert!(matches!(view(&mut s), View::Unknown { .. }), "2 and 7: {:?}", s.events("r"));
}

/// A candidate that does not know of its quorum of grants has never led.
#[test]
fn candidate_without_victory_is_no_leader() {
    let mut s = Story::new();
    s.campaign("p");
    for grantor in ["a", "b"] {
        assert!(!s.deliver_and_take_answers("p", grantor).is_empty(), "an ok, which is lost");
    }
    s.drop_all();
    s.actors.remove("p");
    s.command("r", Command::Observe { every: ms(50) });
    s.run(ms(400));
    assert_eq!(s.holder("a"), Some("p".to_owned()));
    let named = |event: &Event| matches!(event, Event::View(view) if view.leader().is_some());
    assert!(!s.events("r").iter().any(named), "{:?}", s.events("r"));
}

/// After a healthy start the observer names a leader once, with its fence.
#[test]
fn first_view_has_the_fence() {
    let mut s = Story::new();
    s.command("r", Command::Observe { every: ms(50) });
    s.run(ms(200));
    s.campaign("p");
    for _ in 0..400 {
        // Letters go hop by hop, so that the observer asks in between.
        let letters = std::mem::take(&mut s.letters);
        letters.iter().for_each(|letter| drop(s.put(letter)));
        s.pass(ms(1));
    }
    let views: Vec<View> = s
        .events("r")
        .iter()
        .filter_map(|event| match event {
            Event::View(view) => Some(View::clone(view)),
            _ => None,
        })
        .collect();
    assert_eq!(views[0], View::Vacant);
    for view in &views[1..] {
        assert!(
            matches!(view, View::Leader(leader) if leader.fence == Some(Fence::new(1))),
            "{views:?}"
        );
    }
    assert!(views.len() > 1);
}

/// Grantors that rebooted under a leader begin at their reserve, and so above the leader's fence.
/// The leader's renewals carry its fence.
#[test]
fn rebooted_grantors_still_name_leader() {
    let mut s = Story::new();
    s.elect("p");
    for grantor in ["a", "b"] {
        s.reboot(grantor);
        s.run(ms(3_000));
        assert!(s.leads("p"), "two others renew it");
    }
    assert!(s.state("a").seen > Fence::new(s.fence("p")));
    s.actors.remove("c");
    s.run(ms(1_000));
    s.command("r", Command::Observe { every: ms(100) });
    s.run(ms(500));
    let (leader, who) = (leader(&s), s.who("p"));
    assert_eq!((&*leader.id, leader.incarnation), (who.name.as_str(), Some(who.inc.0)));
    assert_eq!(leader.fence, Some(Fence::new(s.fence("p"))));
}

/// A grant that is not durable is not visible: the grantor reports neither the grant, nor a
/// vacancy, nor that it serves.
#[test]
fn unwritten_grant_is_not_reported() {
    let mut s = Story::new();
    s.failing = Some("a");
    s.ask("p", "a", renewal(at(10), 1));
    let state = s.state("a");
    assert_eq!((state.holder, state.service), (None, Service::Failing));
    s.slip(ms(999));
    assert_eq!(s.state("a").service, Service::Failing);
    assert_eq!(refusal(&s.ask("q", "a", request(at(10)))), Some(Refusal::Disk));
    // The grantor writes the record again, without a request.
    s.pass(ms(1));
    assert_eq!(s.state("a").service, Service::Serving);
    assert_eq!(s.holder("a"), Some("p".to_owned()));
    let said: Vec<&Event> = s
        .events("a")
        .iter()
        .filter(|event| {
            matches!(event, Event::Own(OwnEvent::DiskFailed) | Event::Own(OwnEvent::DiskMended))
        })
        .collect();
    assert_eq!(said, [&Event::Own(OwnEvent::DiskFailed), &Event::Own(OwnEvent::DiskMended)]);
}

/// A grantor that cannot write is not free, though it names no holder.
#[test]
fn failing_grantor_is_not_free() {
    let mut s = Story::new();
    s.ask("p", "b", request(at(10)));
    s.failing = Some("a");
    s.ask("p", "a", request(at(10)));
    s.command("r", Command::Observe { every: ms(100) });
    for _ in 0..8 {
        s.failing = Some("a");
        s.run(ms(100));
    }
    let vacant = s.events("r").contains(&Event::View(View::Vacant.into()));
    assert!(!vacant, "c alone is free: {:?}", s.events("r"));
}

/// A grantor reports a flush that does not end after a second, like a disk that fails, and reports
/// the end of the flush, too. Meanwhile it grants as far as the reserve has room.
#[test]
fn hanging_flush_is_reported() {
    let mut s = Story::new();
    s.slow_disks = true;
    // Half of the reserve is used up, so the grantor asks for the next reserve.
    let fence = Fence::new(600);
    s.ask("p", "a", Request { fence, ..request(at(10)) });
    s.slip(ms(999));
    assert_eq!(s.state("a").service, Service::Serving);
    s.pass(ms(1));
    assert_eq!(s.state("a").service, Service::Failing);
    assert!(granted(&s.ask("p", "a", Request { fence, ..renewal(at(20), 10) })).is_some());
    s.flush_one("a");
    assert_eq!(s.state("a").service, Service::Serving);
    s.pass(ms(2_000));
    let said: Vec<_> = s.events("a").iter().filter(|e| is_of_disk(e)).collect();
    assert!(
        matches!(
            said[..],
            [Event::Own(OwnEvent::DiskHangs { .. }), Event::Own(OwnEvent::DiskMended)]
        ),
        "{said:?}"
    );
}

/// A starting grantor reports a hanging flush as well; a flush that fails in the end is reported
/// once.
#[test]
fn hanging_start_reports_failing_disk() {
    let mut s = Story::new();
    s.has_granted("a");
    s.slow_disks = true;
    s.restart("a");
    s.pass(ms(1_000));
    assert_eq!(s.state("a").service, Service::Failing);
    assert_eq!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Disk));
    let (ticket, _) = s.actor("a").flushes.pop_front().unwrap();
    s.step("a", Input::Failed(Some(ticket)));
    s.pass(ms(1_000));
    assert_eq!(s.state("a").service, Service::Starting, "it is written again");
    s.flush_one("a");
    assert_eq!(s.state("a").service, Service::Serving);
    let said: Vec<_> = s.events("a").iter().filter(|e| is_of_disk(e)).collect();
    let (hangs, rest) = said.split_first().unwrap();
    assert!(matches!(hangs, Event::Own(OwnEvent::DiskHangs { .. })));
    assert_eq!(rest, [&Event::Own(OwnEvent::DiskFailed), &Event::Own(OwnEvent::DiskMended)]);
}

fn is_of_disk(event: &Event) -> bool {
    matches!(
        event,
        Event::Own(OwnEvent::DiskHangs { .. })
            | Event::Own(OwnEvent::DiskFailed)
            | Event::Own(OwnEvent::DiskMended)
    )
}

/// Each of several unwritten records is tried first in its turn: a record that can never be written
/// does not keep the others unwritten.
#[test]
fn unwritten_records_take_turns() {
    let mut s = Story::new();
    let of =
        |name: &str| Request { election: name.parse().unwrap(), ..for_span(at(10), ms(2_000)) };
    for name in ["x", "y"] {
        s.failing = Some("a");
        s.ask("p", "a", of(name));
        s.slip(ms(1_000));
    }
    let mut first = Vec::new();
    for _ in 0..3 {
        s.failing = Some("a");
        let effects = s.step("a", Input::Timeout);
        let tried = effects.iter().find_map(|effect| match effect {
            Effect::Persist(Record::Grant(record)) => Some(record.election.to_string()),
            _ => None,
        });
        first.push(tried.unwrap_or_default());
        s.slip(ms(1_000));
    }
    assert_eq!(first, ["x", "y", "x"]);
}

/// Readings: an election is vacant only when a quorum was free at one instant. A leader that moves
/// from one grantor to the other leaves each of them free at some time.
#[test]
fn moving_leader_is_no_vacancy() {
    let mut s = Story::new();
    for grantor in ["a", "b"] {
        s.ask("p", grantor, for_span(at(10), ms(1_000)));
    }
    s.command("q", Command::Observe { every: ms(400) });
    s.deliver_all();
    // Grantor c was free when it was asked. Now p holds c and b, and a is free.
    s.ask("p", "c", request(at(20)));
    s.ask("p", "b", request(at(20)));
    s.tell("p", "a", release(at(10)));
    s.pass(ms(400));
    s.deliver("q", "a");
    s.deliver("a", "q");
    assert!(!s.events("q").contains(&Event::View(View::Vacant.into())), "{:?}", s.events("q"));
}
