//! Waiting without polling: parked requests.

use tenure_core::nerio::{Event, Ignored, Message, Refusal};
use tenure_core::{Fence, Input, Protocol, Time};

use crate::story::*;

/// A grantor that is not free refuses, naming holder and remaining time, and parks the request.
#[test]
fn a_grantor_that_is_not_free_refuses_and_parks() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.slip(ms(100));
    let effects = s.ask("q", "a", request(at(20)));
    assert_eq!(
        lines(&effects),
        ["to 127.0.0.1:7017: refused x start 0.020000 held by p~70000000 for 1s start 0.010000 \
          fence 1, parked seen 1"]
    );
    assert_eq!(s.state("a").waiting, 1);
}

/// When its grant ends by the clock it handles one parked request at once.
#[test]
fn the_end_of_a_lease_handles_one_parked_request() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.ask("r", "a", request(at(20)));
    s.pass(ms(219));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    s.drop_all();
    s.pass(ms(1));
    let oks: Vec<_> =
        s.letters.iter().filter(|l| matches!(l.message, Message::Granted(_))).collect();
    assert_eq!(oks.len(), 1, "one grant: {oks:?}");
    assert_eq!(s.state("a").waiting, 1);
}

/// Rule 1: `F := max(F, C_arrival + (1 + ρ)δ)`: the arrival bounds the Start, so a dead
/// candidate's request costs little.
#[test]
fn the_lease_of_a_parked_request_counts_from_its_arrival() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.slip(ms(50));
    s.ask("q", "a", request(at(20)));
    s.pass(ms(170));
    let holder = s.state("a").holder.unwrap();
    assert_eq!(holder.who.name, name("q"));
    assert_eq!(holder.remaining, ms(50 + 1_100 - 220));
}

/// Rule 1: dropped when its own lease would be over.
#[test]
fn a_parked_request_whose_lease_would_be_over_is_dropped() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", for_span(at(20), ms(100)));
    s.pass(ms(220));
    assert_eq!(s.holder("a"), None);
}

/// The same for an office that is free: it is kept as long as the request may be on its way.
#[test]
fn a_watermark_outlives_the_next_timeout() {
    let mut s = Story::new();
    s.tell("p", "a", release(at(10)));
    let deadline = s.actor("a").core.deadline().unwrap().at;
    assert_eq!(deadline, at(10_000).after(ms(2_200)), "(1 + ρ)·δ_max, and not in the past");
    s.pass(ms(2_199));
    s.step("a", Input::Timeout);
    let effects = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::Released)]);
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

/// Rule 3: a request of the holder with a lower Start is ignored, with an equal one the stored
/// ok is repeated, and F is not extended.
#[test]
fn the_highest_start_granted_counts() {
    let mut s = Story::new();
    let first = granted(&s.ask("p", "a", request(at(20)))).unwrap();
    s.slip(ms(300));
    let lower = s.ask("p", "a", request(at(10)));
    assert_eq!(emitted(&lower), [Event::Ignored(Ignored::Stale)]);
    assert_eq!(granted(&s.ask("p", "a", request(at(20)))), Some(first), "the same ok again");
    assert_eq!(s.state("a").holder.unwrap().remaining, ms(800));
    s.tell("p", "a", release(at(19)));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "gs is still 20");
}

/// Rule 3: a repeated request whose grant has lapsed is not granted again.
#[test]
fn a_duplicate_of_a_lapsed_request_is_ignored() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(20)));
    s.pass(ms(1_100));
    let effects = s.ask("p", "a", request(at(20)));
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::Stale)]);
}

/// Rule 4: oks of several Starts are combined, for each grantor only the one with the highest
/// Start counts, and E is the minimum over the quorum.
#[test]
fn oks_of_several_starts_are_combined_by_the_earliest_end() {
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
fn oks_at_or_below_the_floor_are_dropped_for_ever() {
    let mut s = Story::new();
    s.campaign("p");
    let late = s.deliver_and_take_answers("p", "c");
    s.deliver_all();
    assert!(s.leads("p"));
    let (before, until) = (s.events("p").len(), s.until("p"));
    let effects = s.put(&late[0]);
    assert_eq!(emitted(&effects), [Event::Ignored(Ignored::Unasked)]);
    assert_eq!((s.until("p"), s.events("p").len()), (until, before + 1));
}

/// Rule 4: a renewal takes `E := max(E, new)`, and a failed one is never released while the
/// earlier lease is in use.
#[test]
fn a_failed_renewal_is_not_released_while_the_lease_is_in_use() {
    let mut s = Story::new();
    s.elect("p");
    let until = s.until("p");
    while s.leads("p") {
        assert_eq!(s.until("p"), until, "nothing answers: E stays");
        assert!(s.letters.iter().all(|l| !matches!(l.message, Message::Release(_))));
        s.drop_all();
        s.pass(ms(10));
    }
}

/// A timer that is late does not let a newcomer pass those who wait.
#[test]
fn those_who_wait_go_before_a_newcomer_even_if_the_timer_is_late() {
    let mut s = Story::new();
    s.ask("p", "a", for_span(at(10), ms(200)));
    s.ask("q", "a", request(at(20)));
    s.slip(ms(250));
    let effects = s.ask("r", "a", request(at(30)));
    assert_eq!(granted(&effects).unwrap().start, at(20), "q's: its timer was due");
    assert!(matches!(refusal(&effects), Some(Refusal::Held { .. })), "and r waits");
}

/// Bounded, evicting the lowest in the common order.
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

/// At the ends of the clock nothing overflows and nothing spins.
#[test]
fn the_ends_of_the_clock_are_survived() {
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
