//! Waiting without polling: parked requests.

use tenure_core::nerio::{Event, Ignored, Message, OwnEvent, ToCandidate, ToGrantor};
use tenure_core::{Fence, Input, Protocol, Time};

use crate::story::*;

/// A grantor that is not free refuses, naming holder and remaining time, and parks the request.
#[test]
fn busy_grantor_refuses_and_parks() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.slip(ms(100));
    let effects = s.ask("q", "a", request(at(20)));
    assert_eq!(
        lines(&effects),
        ["to 127.0.0.1:7017: refused x start 0.020000 held by p~70000000 for 1s start 0.010000, \
          parked seen 1"]
    );
    assert_eq!(s.state("a").waiting, 1);
}

/// When a grant ends by the grantor's clock, the grantor handles one parked request at once.
#[test]
fn lease_end_handles_parked_request() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.ask("r", "a", request(at(20)));
    s.pass(ms(219));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    s.drop_all();
    s.pass(ms(1));
    let oks: Vec<_> = s
        .letters
        .iter()
        .filter(|l| matches!(l.message, Message::Candidate(ToCandidate::Granted(_))))
        .collect();
    assert_eq!(oks.len(), 1, "one grant: {oks:?}");
    assert_eq!(s.state("a").waiting, 1);
}

/// The watermark of a free election is kept as long as the released request may be under way.
#[test]
fn a_watermark_outlives_the_next_timeout() {
    let mut s = Story::new();
    s.tell("p", "a", release(at(10)));
    let deadline = s.actor("a").core.deadline().unwrap().at;
    assert_eq!(deadline, at(10_000).after(ms(2_200)), "(1 + ρ)·δ_max, and not in the past");
    s.pass(ms(2_199));
    s.step("a", Input::Timeout);
    let effects = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Released))]);
}

/// Rule 2: the holder is never parked.
#[test]
fn the_holder_is_never_parked() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.ask("p", "a", for_span(at(30), ms(200)));
    assert_eq!(s.state("a").waiting, 1);
    s.tell("p", "a", release(at(30)));
    assert_eq!(s.holder("a").as_deref(), Some("q"));
    assert_eq!(s.state("a").waiting, 0, "q holds and waits no more");
}

/// Rule 3: a repeated request whose grant has lapsed is not granted again.
#[test]
fn duplicate_of_lapsed_request_is_ignored() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(20)));
    s.pass(ms(1_100));
    let effects = s.ask("p", "a", request(at(20)));
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Stale))]);
}

/// Rule 4: oks of several Starts are combined. For a grantor, only the ok with the highest Start
/// counts, and E is the minimum over the quorum.
#[test]
fn oks_combine_by_earliest_end() {
    let mut s = Story::new();
    s.campaign("p");
    let begin = s.now("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    s.drop_all();
    s.pass(ms(100));
    s.deliver("p", "b");
    s.deliver("b", "p");
    assert_eq!(s.until("p"), begin.after(ms(900)), "(1 − ρ)·1 s from the older Start");
}

/// Rule 4: on completion QT is frozen and oks at or below the floor are dropped for ever.
#[test]
fn oks_below_floor_are_dropped() {
    let mut s = Story::new();
    s.campaign("p");
    let late = s.deliver_and_take_answers("p", "c");
    s.deliver_all();
    assert!(s.leads("p"));
    let (before, until) = (s.events("p").len(), s.until("p"));
    let effects = s.put(&late[0]);
    assert_eq!(emitted(&effects), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
    assert_eq!((s.until("p"), s.events("p").len()), (until, before + 1));
}

/// Rule 4: a renewal takes `E := max(E, new)`, and a failed renewal is never released while the
/// earlier lease is in use.
#[test]
fn failed_renewal_is_not_released() {
    let mut s = Story::new();
    s.elect("p");
    let until = s.until("p");
    while s.leads("p") {
        assert_eq!(s.until("p"), until, "nothing answers: E stays");
        assert!(
            s.letters.iter().all(|l| !matches!(l.message, Message::Grantor(ToGrantor::Release(_))))
        );
        s.drop_all();
        s.pass(ms(10));
    }
}

/// At the ends of the clock nothing overflows, and no timer spins.
#[test]
fn ends_of_clock_are_survived() {
    for now in [Time::ZERO, Time::from_nanos(u64::MAX - 1), Time::MAX] {
        let mut s = Story::new();
        for actor in s.actors.values_mut() {
            actor.clock = now;
        }
        s.campaign("p");
        s.campaign("q");
        for _ in 0..20 {
            s.deliver_all();
            s.timers();
        }
        let mut extreme = for_span(Time::MAX, std::time::Duration::MAX);
        extreme.fence = Fence::new(u64::MAX);
        s.ask("r", "a", extreme.clone());
        s.ask("r", "a", for_span(Time::MAX, ms(1)));
        s.tell("r", "a", release(Time::MAX));
        s.step("a", Input::Timeout);
        s.leader();
    }
}
