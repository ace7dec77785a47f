//! Succession: the order of waiting candidates, handing over, and split votes.

use tenure_core::nerio::{Command, Event, Ignored, Message, OwnEvent, Service, ToGrantor};
use tenure_core::{End, Loss, TransferFailure};

use crate::story::*;

/// Rule 1: a release is valid if the holder is its (name, inc) and its Start ≥ gs.
#[test]
fn release_below_start_is_ignored() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(20)));
    let effects = s.tell("p", "a", release(at(19)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotTheHolder))]);
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    let effects = s.tell("p", "a", release(at(20)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Freed { by: s.who("p") })]);
    assert_eq!(s.holder("a"), None);
}

#[test]
fn absent_next_is_passed_over() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(20)));
    s.tell("p", "a", release_for(10, "r"));
    assert_eq!(s.holder("a").as_deref(), Some("q"), "next never creates a grant by itself");
}

/// Rule 2: `next` is kept with the grant of the highest Start, and cleared on use.
#[test]
fn next_is_used_once() {
    let mut s = Story::new();
    let mut renewal = request(at(10));
    renewal.next = Some(name("q"));
    s.ask("p", "a", renewal);
    s.ask("q", "a", request(at(20)));
    s.tell("p", "a", release(at(10)));
    assert_eq!(s.holder("a").as_deref(), Some("q"));
    let mut first = request(at(30));
    first.priority = 1;
    s.ask("r", "a", first);
    s.ask("p", "a", request(at(30)));
    s.tell("q", "a", release(at(20)));
    assert_eq!(s.holder("a").as_deref(), Some("r"), "q's wish is open again");
}

/// Rule 4: a candidate yields only if no quorum is possible any more, and a refusal names a holder
/// ranked above it. Three candidates hold one grantor each, and exactly one of them goes on.
#[test]
fn single_candidate_survives_split_vote() {
    let mut s = Story::new();
    for candidate in CANDIDATES {
        s.campaign(candidate);
    }
    for (candidate, grantor) in CANDIDATES.iter().zip(GRANTORS) {
        s.deliver(candidate, grantor);
    }
    s.deliver_all();
    s.run(ms(50));
    assert!(s.leader().is_some(), "somebody leads after a round of yields");
    let leader = s.leader().unwrap();
    s.run(ms(3_000));
    assert_eq!(s.leader(), Some(leader), "and stays");
}

/// Rule 4: an ok for a request that waited shows that the rival in the way has gone. Older refusals
/// that name the rival are no reason to give the ok away again.
#[test]
fn hand_over_keeps_first_ok() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(150));
    s.resign("p");
    for grantor in ["a", "b"] {
        s.deliver("p", grantor);
        let effects = s.deliver(grantor, "q");
        assert_eq!(releases(&effects), [], "b and c have said that p leads");
    }
    assert!(s.leads("q"));
}

/// Rule 4, with renewals: a grantor was away, and then granted to a waiting candidate. The live
/// leader soon gets this grant back.
#[test]
fn live_leader_regains_its_grantor() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.reboot("a");
    while s.state("a").service != Service::Serving {
        s.run(ms(10));
    }
    while s.holder("a").is_none() {
        s.pass(ms(1));
        s.take("p", "a");
        s.deliver_all();
    }
    assert_eq!(s.holder("a").as_deref(), Some("q"), "the requests of p were lost");
    s.run(ms(650));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "a renewal, two refreshes, and a release");
    assert_eq!(s.leader(), Some("p"));
}

/// Rule 4: a candidate yields only as long as the reason lasts. However often a rival ahead comes
/// and goes, two candidates do not yield to each other in circles.
#[test]
fn unsteady_rival_costs_few_messages() {
    let mut s = Story::new();
    for round in 0..50 {
        s.run(ms(30));
        s.command("p", Command::Campaign { value: "".parse().unwrap(), priority: 1 });
        s.campaign("q");
        s.deliver("q", "a");
        s.deliver("p", "b");
        s.deliver("p", "c");
        s.run(ms(50));
        assert_eq!(s.leader(), Some("p"), "round {round}");
        assert_eq!(s.holder("a").as_deref(), Some("p"), "round {round}: q yielded it");
        s.slip(ms(1));
        s.resign("p");
        let (mut requests, mut releases) = (0, 0);
        for _ in 0..50 {
            while !s.letters.is_empty() {
                let letter = s.letters.remove(0);
                let of_q = letter.from == s.sender("q");
                requests += usize::from(
                    of_q && matches!(letter.message, Message::Grantor(ToGrantor::Request(_))),
                );
                releases += usize::from(
                    of_q && matches!(letter.message, Message::Grantor(ToGrantor::Release(_))),
                );
                s.put(&letter);
            }
            s.slip(ms(1));
            s.timers();
        }
        assert_eq!(s.leader(), Some("q"), "round {round}: before a refresh");
        let what = format!("round {round}: {requests} requests, {releases} releases");
        assert!(requests <= 15 && releases == 0, "{what}");
        s.slip(ms(1));
        s.resign("q");
    }
}

/// Transfer to a named candidate uses the field `next`: the leader hands over to a waiting
/// candidate.
#[test]
fn transfer_reaches_waiting_candidate() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.campaign("r");
    s.run(ms(250));
    let fence = s.fence("p");
    s.command("p", Command::Transfer { to: name("r"), probe: false });
    s.run(ms(5));
    assert_eq!(s.leader(), Some("r"));
    assert!(s.fence("r") > fence);
    assert!(s.events("p").contains(&Event::Ended(End::Lost(Loss::Transferred))));
}

#[test]
fn transfer_needs_a_waiting_candidate() {
    let mut s = Story::new();
    s.elect("p");
    s.command("p", Command::Transfer { to: name("q"), probe: false });
    s.run(ms(3_000));
    let (to, why) = (name("q"), TransferFailure::NotWaiting);
    assert!(s.events("p").contains(&Event::TransferFailed { to, why }));
    assert_eq!(s.leader(), Some("p"));
}

#[test]
fn every_transfer_is_answered() {
    let mut s = Story::new();
    let failed = |to: &str, why| Event::TransferFailed { to: name(to), why };
    let transfer = |to: &str| Command::Transfer { to: name(to), probe: false };
    let effects = s.command("p", transfer("q"));
    assert_eq!(emitted(&effects), [failed("q", TransferFailure::NotLeading)]);

    s.elect("p");
    s.command("p", transfer("q"));
    let effects = s.command("p", transfer("r"));
    assert!(emitted(&effects).contains(&failed("q", TransferFailure::Replaced)));
    let effects = s.resign("p");
    assert!(emitted(&effects).contains(&failed("r", TransferFailure::NotLeading)));
}

/// An ok that belongs to the transfer to another successor does not end the leadership.
#[test]
fn ok_belongs_to_its_transfer() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(150));
    s.slip(ms(1));
    s.command("p", Command::Transfer { to: name("q"), probe: false });
    s.command("p", Command::Transfer { to: name("r"), probe: false });
    s.deliver_all();
    assert!(s.leads("p"), "q waits, r does not, and r was named last");
}

#[test]
fn resign_is_idempotent() {
    let mut s = Story::new();
    assert_eq!(emitted(&s.resign("p")), [Event::Own(OwnEvent::Ignored(Ignored::Command))]);
    s.elect("p");
    assert!(emitted(&s.resign("p")).contains(&Event::Ended(End::Lost(Loss::Resigned))));
    assert_eq!(emitted(&s.resign("p")), [Event::Own(OwnEvent::Ignored(Ignored::Command))]);
}

/// A leader campaigns once more, and keeps its lease.
#[test]
fn a_second_campaign_changes_nothing() {
    let mut s = Story::new();
    s.elect("p");
    assert_eq!(emitted(&s.campaign("p")), [Event::Own(OwnEvent::Ignored(Ignored::Command))]);
    assert!(s.leads("p"));
}

/// A node with many campaigns forgets campaigns that are over: an application's requests are
/// bounded, too.
#[test]
fn finished_campaigns_are_forgotten() {
    let mut config = config(&GRANTORS);
    config.limits.elections = 10;
    let mut s = Story::with(config);
    for n in 0..300 {
        let value = "".parse().unwrap();
        for command in [Command::Campaign { value, priority: 0 }, Command::Resign] {
            let election = format!("e{n}").parse().unwrap();
            s.step("p", tenure_core::Input::Command { election, command });
            s.run(ms(100));
        }
    }
    let kept = format!("{:?}", s.actors["p"].core).matches("Candidate {").count();
    assert!(kept <= 11, "{kept} of 300 are kept");
}
