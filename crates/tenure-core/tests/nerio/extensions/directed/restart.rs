//! Restart.

use tenure_core::nerio::{Event, Ignored, OwnEvent, Refusal, Request, Service};

use crate::story::*;

/// Rule 1: a quarantine lasts `(1 + ρ)·δ_max` on the grantor's own clock, from a sample at its
/// start; the grantor grants nothing meanwhile.
#[test]
fn quarantine_outlasts_delta_max() {
    let mut s = Story::new();
    s.reboot("a");
    s.pass(ms(2_199));
    let remaining = std::time::Duration::from_millis(1);
    assert_eq!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { remaining }));
    s.pass(ms(1));
    assert!(granted(&s.ask("p", "a", request(at(11)))).is_some());
}

/// Rule 1: δ_max is the largest ever configured.
#[test]
fn delta_max_is_the_largest_ever_configured() {
    let mut s = Story::new();
    let mut lower = config(&GRANTORS);
    lower.delta_max = ms(1_000);
    s.config = lower.check().unwrap();
    s.reboot("a");
    s.pass(ms(2_199));
    assert!(matches!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { .. })));
    s.reboot("a");
    s.pass(ms(2_199));
    assert!(matches!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Quarantine { .. })));
}

/// Rule 1: the quarantine holds for the current leader, too (otherwise two leaders are possible).
#[test]
fn quarantine_holds_for_the_leader() {
    let mut s = Story::new();
    s.elect("p");
    s.reboot("a");
    let renewal = Request { leading: true, ..request(at(99_000)) };
    assert!(matches!(refusal(&s.ask("p", "a", renewal)), Some(Refusal::Quarantine { .. })));
}

/// Rule 1: a lease longer than δ_max is refused.
#[test]
fn no_lease_is_longer_than_delta_max() {
    let mut s = Story::new();
    let delta_max = ms(2_000);
    let long = for_span(at(10), delta_max + std::time::Duration::from_nanos(1));
    let refused = refusal(&s.ask("p", "a", long.clone()));
    assert_eq!(refused, Some(Refusal::TooLong { lease: long.lease, delta_max }));
    assert!(granted(&s.ask("p", "a", for_span(at(11), delta_max))).is_some());
    let empty = s.ask("p", "a", for_span(at(12), ms(0)));
    assert_eq!(emitted(&empty), [Event::Own(OwnEvent::Ignored(Ignored::Empty))]);
}

/// The boot count is raised, durably, before the first grant. A grantor with its memory waits for
/// its disk meanwhile, and has lost nothing.
#[test]
fn grants_wait_for_durable_boot() {
    let mut s = Story::new();
    s.has_granted("a");
    s.slow_disks = true;
    s.restart("a");
    assert_eq!(s.state("a").service, Service::Starting);
    assert_eq!(refusal(&s.ask("p", "a", request(at(10)))), Some(Refusal::Starting));
    s.flush_one("a");
    assert_eq!(s.state("a").service, Service::Serving);
    assert!(granted(&s.ask("p", "a", request(at(20)))).is_some());
}
