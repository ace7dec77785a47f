//! Parked requests.

use tenure_core::nerio::{Event, Ignored, Message, OwnEvent, Refusal, Release, Request};

use crate::story::*;

/// Rule 1: a request is dropped when not refreshed for 3 refresh intervals.
#[test]
fn stale_parked_request_is_dropped() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(500)));
    s.slip(ms(100));
    s.ask("q", "a", request(at(20)));
    s.pass(ms(450));
    assert_eq!(s.holder("a"), None, "q was last heard of 450 ms ago, and R is 100 ms");
}

/// Rule 2: a parked request is replaced only by a higher Start.
#[test]
fn higher_start_replaces_parked_request() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(30)));
    s.ask("q", "a", request(at(20)));
    let effects = s.tell("p", "a", release(at(10)));
    assert_eq!(granted(&effects).unwrap().start, at(30));
}

/// Rule 2: release(s) deletes parked Starts ≤ s.
#[test]
fn release_deletes_parked_starts() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.ask("q", "a", request(at(20)));
    s.ask("r", "a", request(at(30)));
    s.tell("q", "a", release(at(20)));
    s.tell("r", "a", release(at(29)));
    assert_eq!(s.state("a").waiting, 1, "q is gone, r's Start is above its release");
}

/// Rule 4: Start, δ, T and fence flag all come from one ok, the one with the highest Start.
#[test]
fn answer_comes_from_one_ok() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    s.drop_all();
    s.pass(ms(100));
    let refreshed = granted(&s.deliver("p", "a")).unwrap();
    s.deliver("a", "p");
    s.deliver("p", "b");
    s.deliver("b", "p");
    let elected = s.events("p").iter().find_map(|event| match event {
        Event::Own(OwnEvent::Stamped { timestamp, .. }) => Some(timestamp.clone()),
        _ => None,
    });
    let stamps = elected.unwrap();
    let of_a = stamps.stamps().iter().find(|(instance, _)| *instance == refreshed.instance);
    assert_eq!(of_a.unwrap().1, refreshed.stamp);
}

/// Rule 1: `F := max(F, C_arrival + (1 + ρ)δ)`: the arrival bounds the Start, so a dead
/// candidate's request costs little.
#[test]
fn parked_lease_counts_from_arrival() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.slip(ms(50));
    s.ask("q", "a", request(at(20)));
    s.pass(ms(170));
    let holder = s.state("a").holder.unwrap();
    assert_eq!(holder.who.name, name("q"));
    assert_eq!(holder.remaining, ms(50 + 1_100 - 220));
}

/// Rule 1: a request is dropped when its own lease would be over.
#[test]
fn lapsed_parked_request_is_dropped() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", for_span(at(20), ms(100)));
    s.drop_all();
    s.pass(ms(220));
    assert!(s.letters.is_empty(), "an ok for a lease that is over: {:?}", s.letters);
    assert_eq!(s.holder("a"), None);
}

/// Rule 2: the admission checks run again on unparking.
#[test]
fn the_checks_run_again_on_unparking() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.failing = Some("a");
    s.ask("p", "a", for_span(at(11), ms(200)));
    s.pass(ms(220));
    assert_eq!(s.holder("a"), None, "it cannot write: nobody is granted");
}

/// Rule 3: the grantor ignores a request of the holder with a lower Start, and repeats the stored
/// ok for an equal Start, without extending F. If an older duplicate lowered gs, a release of the
/// earlier lease would end the later lease.
#[test]
fn the_highest_start_granted_counts() {
    let mut s = Story::new();
    let first = granted(&s.ask("p", "a", request(at(20)))).unwrap();
    s.slip(ms(300));
    let lower = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&lower), [Event::Own(OwnEvent::Ignored(Ignored::Stale))]);
    assert_eq!(granted(&s.ask("p", "a", request(at(20)))), Some(first), "the same ok again");
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(800));
    s.tell("p", "a", release(at(19)));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "gs is still 20");
}

/// A late timer does not let a newcomer pass waiting candidates.
#[test]
fn late_timer_favours_no_newcomer() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.slip(ms(250));
    let effects = s.ask("r", "a", request(at(30)));
    let ok = granted(&effects).unwrap();
    assert_eq!(ok.start, at(20), "q's: its timer was due");
    assert_eq!(ok.stamp.clock, at(10_250), "T is of the grant, and not of the arrival (rule 5)");
    assert!(matches!(refusal(&effects), Some(Refusal::Held { .. })), "and r waits");
}

/// Parked requests are bounded: a grantor evicts the lowest in the common order.
#[test]
fn parked_requests_are_bounded() {
    let mut config = config(&GRANTORS);
    config.limits.parked = 1;
    let mut s = Story::with(config);
    s.ask("p", "a", request(at(10)));
    let low = s.ask("q", "a", request(at(20)));
    assert!(matches!(refusal(&low), Some(Refusal::Held { parked: true, .. })));
    let mut urgent = request(at(30));
    urgent.priority = 9;
    assert!(matches!(refusal(&s.ask("r", "a", urgent)), Some(Refusal::Held { parked: true, .. })));
    let again = s.ask("q", "a", request(at(40)));
    assert!(matches!(refusal(&again), Some(Refusal::Held { parked: false, .. })));
    s.tell("p", "a", release(at(10)));
    assert_eq!(s.holder("a").as_deref(), Some("r"));
}

/// Rule 5: a request that lapsed before another grant leaves a mark behind: if the request arrived
/// again, it would get a grant that no candidate uses.
#[test]
fn lapsed_start_is_not_granted_again() {
    let mut s = Story::new();
    for candidate in ["p", "q"] {
        assert!(granted(&s.ask(candidate, "a", for_span(at(10), ms(100)))).is_some());
        s.pass(ms(110));
    }
    let effects = s.ask("p", "a", for_span(at(10), ms(100)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Released))]);
}

/// A grantor remembers a release that overtakes its request, for a few elections at a time: any
/// sender can name elections.
#[test]
fn foreign_releases_take_little_room() {
    let mut config = config(&GRANTORS);
    (config.limits.elections, config.limits.watermarks) = (10, 4);
    let mut s = Story::with(config);
    for n in 0..100 {
        let election = format!("stranger-{n}").parse().unwrap();
        let release = Release { election, start: at(10), next: None };
        let answer = s.tell("q", "a", Message::from(release));
        assert_eq!(sent(&answer).count(), 1, "nothing is held, so it is confirmed");
    }
    for n in 0..10 {
        let election = format!("election-{n}").parse().unwrap();
        let asked = Request { election, ..request(at(10)) };
        assert!(granted(&s.ask("p", "a", asked)).is_some(), "{n}");
    }
    for name in ["stranger-0", "one-more"] {
        let asked = Request { election: name.parse().unwrap(), ..request(at(10)) };
        assert_eq!(refusal(&s.ask("p", "a", asked)), Some(Refusal::Full));
    }
    let mut is_remembered = |n: i32| {
        let election = format!("stranger-{n}").parse().unwrap();
        let asked = s.ask("q", "a", Request { election, ..request(at(5)) });
        emitted(&asked) == [Event::Own(OwnEvent::Ignored(Ignored::Released))]
    };
    assert_eq!((0..100).filter(|n| is_remembered(*n)).count(), 4, "as many as there is room for");
}

/// Rule 5: the mark counts even if the arriving message itself causes the other grant, because the
/// timer is late: only a request that can be granted may be parked.
#[test]
fn just_lapsed_start_does_not_wait() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(100)));
    s.ask("q", "a", request(at(20)));
    s.slip(ms(120));
    let effects = s.ask("p", "a", for_span(at(10), ms(100)));
    assert_eq!(s.holder("a").as_deref(), Some("q"));
    assert_eq!(emitted(&effects).last(), Some(&Event::Own(OwnEvent::Ignored(Ignored::Released))));
}
