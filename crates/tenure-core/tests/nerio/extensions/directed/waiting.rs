//! Reported reasons for waiting, and reported leaders, must be true.

use tenure_core::nerio::{
    Command, Event, Holder, Ignored, Leaving, Message, OwnEvent, Refusal, Refused, ToGrantor,
};
use tenure_core::{Fence, Waiting};

use crate::story::*;

/// The reasons for waiting that `who` has reported.
fn told(s: &Story, who: &str) -> Vec<Waiting> {
    let told = s.events(who).iter().filter_map(|event| match event {
        Event::Waiting(waiting) => Some(waiting.clone()),
        _ => None,
    });
    told.collect()
}

/// The grantor answers the last request of p with a refusal.
fn refuse(s: &mut Story, grantor: &'static str, refusal: Refusal) {
    let start = s.letters.iter().rev().find_map(|letter| match &letter.message {
        Message::Grantor(ToGrantor::Request(request)) => Some(request.start),
        _ => None,
    });
    let (election, asker, seen) = (x(), s.who("p").inc, Fence::NONE);
    let (start, name_shared) = (start.unwrap(), None);
    let refused = Refused { election, asker, start, refusal, seen, name_shared };
    s.tell(grantor, "p", Message::from(refused));
}

/// q's grant, as a grantor describes it.
fn held_by_q(s: &mut Story) -> Refusal {
    s.ask("q", "c", renewal(at(10), 1));
    let holder = s.state("c").holder.unwrap();
    Refusal::Held { holder: Box::new(Holder { leading: true, ..*holder }), parked: true }
}

/// A single silent grantor of three is no obstacle: the leader is.
#[test]
fn unneeded_grantor_is_no_obstacle() {
    let mut s = Story::new();
    s.elect("q");
    s.actors.remove("c");
    s.campaign("p");
    s.run(ms(2_000));
    let behind = Waiting::Behind { who: "q".into(), leading: true };
    assert!(s.leads("q"));
    assert_eq!(told(&s, "p").last(), Some(&behind), "{:?}", told(&s, "p"));
}

/// A grantor that refused and has granted afterwards is no obstacle any more.
#[test]
fn granting_grantor_is_no_obstacle() {
    let mut s = Story::new();
    let held = held_by_q(&mut s);
    s.campaign("p");
    for _ in 0..3 {
        refuse(&mut s, "a", Refusal::Disk);
        refuse(&mut s, "b", Refusal::Disk);
        refuse(&mut s, "c", held.clone());
        s.pass(REFRESH);
    }
    let Some(Waiting::Refused { .. }) = told(&s, "p").pop() else { panic!("{:?}", told(&s, "p")) };
    for _ in 0..3 {
        refuse(&mut s, "a", Refusal::Disk);
        refuse(&mut s, "c", held.clone());
        s.deliver("p", "b");
        s.deliver("b", "p");
        s.pass(REFRESH);
    }
    let behind = Waiting::Behind { who: "q".into(), leading: true };
    assert_eq!(told(&s, "p").last(), Some(&behind), "{:?}", told(&s, "p"));
}

/// A candidate asks no grantor before a quorum has the release of its last leadership, and reports
/// that.
#[test]
fn unconfirmed_release_is_the_obstacle() {
    let mut s = Story::new();
    s.elect("p");
    s.run(ms(50));
    s.actors.remove("b");
    s.actors.remove("c");
    s.resign("p");
    s.campaign("p");
    s.run(ms(1_000));
    let (first, now) = (told(&s, "p").into_iter().next(), s.now("p"));
    let Some(Waiting::GivingUp { missing, until }) = first else { panic!("{:?}", told(&s, "p")) };
    assert_eq!(missing, ["b".into(), "c".into()]);
    assert!(until > now, "{until} {now}");
    s.run(until.since(now) + ms(1_000));
    assert!(matches!(told(&s, "p").last(), Some(Waiting::NoQuorum { .. })), "{:?}", told(&s, "p"));
}

/// A leader that resigned under a promise leads no more. Observers, waiting candidates and its own
/// next campaign learn that, and the end of the promise, although the leader's grants last.
#[test]
fn leaving_leader_is_not_reported_leading() {
    let mut config = config(&GRANTORS);
    config.verify_max = ms(500);
    let mut s = Story::with(config);
    s.elect("p");
    s.campaign("q");
    s.command("r", Command::Observe { every: ms(20) });
    s.run(ms(150));
    s.verify("r", "p");
    s.deliver_all();
    s.resign("p");
    let held = s.events("p").iter().find_map(|event| match event {
        Event::Own(OwnEvent::Held { until }) => Some(*until),
        _ => None,
    });
    let held = held.unwrap();
    s.run(ms(40));
    let view = s.events("r").iter().rev().find_map(|event| match event {
        Event::View(view) => view.leader().cloned(),
        _ => None,
    });
    let view = view.unwrap();
    assert_eq!((&*view.id, view.incarnation), ("p", Some(s.who("p").inc.0)));
    let (near, ms_now) = (|at: tenure_core::Time| at.since(held).max(held.since(at)), s.now("p"));
    assert!(view.leaving.is_some_and(|leaving| near(leaving) < ms(150)), "{view:?} {held}");
    assert!(ms_now < held && s.leader().is_none());

    // Candidates that wait: q, and p with its next campaign.
    s.campaign("p");
    assert_eq!(told(&s, "p"), [Waiting::Promised { who: "p".into(), until: held }]);
    let left = held.since(s.now("p"));
    s.run(left.saturating_sub(ms(1)));
    let promised = told(&s, "q").into_iter().find_map(|waiting| match waiting {
        Waiting::Promised { who, until } => Some((who, until)),
        _ => None,
    });
    let (who, until) = promised.unwrap_or_else(|| panic!("{:?}", told(&s, "q")));
    assert!(*who == *"p" && near(until) < ms(150), "{who} {until} {held}");
    s.run(ms(500));
    assert!(s.leads("q"));
}

/// Only the holder of a grant can announce that it leaves: no other candidate can, nor can the
/// holder of an earlier grant.
#[test]
fn only_its_holder_leaves_a_grant() {
    let mut s = Story::new();
    s.ask("p", "a", renewal(at(10), 1));
    let leaving = |start| Message::from(Leaving { election: x(), start, held: ms(500) });
    for (who, start) in [("q", at(10)), ("p", at(9))] {
        let effects = s.tell(who, "a", leaving(start));
        assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::NotTheHolder))]);
        assert_eq!(s.state("a").holder.unwrap().leaving, None, "{who}");
    }
    s.tell("p", "a", leaving(at(10)));
    assert_eq!(s.state("a").holder.unwrap().leaving, Some(ms(500)));
}

/// A refusal is not much longer than its request: it leaves out fields that waiting candidates do
/// not need.
#[test]
fn refusal_omits_the_holders_value() {
    let mut s = Story::new();
    let mut with_value = renewal(at(10), 1);
    with_value.value = "v".repeat(128).parse().unwrap();
    s.ask("p", "a", with_value);
    assert_eq!(s.state("a").holder.unwrap().value.as_str().len(), 128);
    let Some(Refusal::Held { holder, .. }) = refusal(&s.ask("q", "a", request(at(20)))) else {
        panic!("p holds it")
    };
    assert_eq!((holder.value.as_str(), holder.who), ("", s.who("p")));
}
