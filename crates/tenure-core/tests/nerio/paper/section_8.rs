//! Sections 8 and 10.1: Leader Stability and the choice of δ.

use std::time::Duration;

use tenure_core::nerio::Event;

use crate::story::*;

/// "If leader p starts OQwBD before c_p(E_p) − d, then it is able to extend its leadership before
/// it expires." Here the leader starts after a third of the lease.
#[test]
fn renewal_starts_early() {
    let mut s = Story::new();
    s.elect("p");
    let until = s.until("p");
    s.drop_all();
    while s.letters.is_empty() {
        s.pass(ms(1));
    }
    let left = until.since(s.now("p"));
    assert!(left > ms(550) && left < ms(660), "{left:?} of 900 ms were left");
}

/// A lost renewal is repeated every `max(2d, 50 ms)`.
#[test]
fn a_lost_renewal_is_repeated() {
    let mut s = Story::new();
    s.elect("p");
    let (mut renewals, mut last) = (Vec::new(), None);
    while s.leads("p") {
        s.drop_all();
        s.pass(ms(1));
        if s.letters.iter().any(|l| l.to == address("a")) && s.leads("p") {
            renewals.push(last.map_or(ms(0), |last| s.now("p").since(last)));
            last = Some(s.now("p"));
        }
    }
    assert!(renewals.len() >= 10, "{renewals:?}");
    assert!(renewals[1..].iter().all(|gap| *gap >= ms(50) && *gap <= ms(52)), "{renewals:?}");
}

/// "p should use δ > 2d": with round trips of d = 100 ms a leader of 1 s remains leader.
#[test]
fn a_leader_survives_slow_round_trips() {
    let mut s = Story::new();
    s.campaign("p");
    for _ in 0..200 {
        let letters = std::mem::take(&mut s.letters);
        s.pass(ms(50));
        for letter in letters {
            s.put(&letter);
        }
    }
    assert!(s.leads("p"));
    assert!(!s.events("p").iter().any(|event| matches!(event, Event::Ended(_))));
}

/// "No matter what value of δ is chosen, Leader Uniqueness will hold."
#[test]
fn any_delta_is_granted_in_full() {
    for delta in [10, 100, 1_990] {
        let mut s = Story::new();
        s.ask("p", "a", for_span(at(10), ms(delta)));
        s.slip(ms(delta + delta / 10) - Duration::from_nanos(1));
        assert_eq!(s.holder("a").as_deref(), Some("p"), "(1 + ρ)·{delta} ms are not over");
        s.slip(Duration::from_nanos(1));
        assert!(granted(&s.ask("q", "a", request(at(20)))).is_some());
    }
}

/// 10.1: a checked lease is at least "δ = d + max(i, (1 + ρ)(E − C))".
#[test]
fn section_10_1_bounds_checked_leases() {
    let s = Story::new();
    let config = &s.config;
    let remaining = config.drift.shrink(config.lease) - config.renew_after();
    let needed = config.lease_needed(config.round_trip, config.renew_after(), remaining);
    assert!(needed <= config.lease, "{needed:?}");
}
