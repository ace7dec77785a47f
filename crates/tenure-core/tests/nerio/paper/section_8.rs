//! Sections 8 and 10.1: Leader Stability and the choice of δ.

use std::cell::Cell;
use std::time::Duration;

use tenure_core::Time;
use tenure_core::nerio::{Checked, Config, Event, OwnEvent};

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

/// Letters on their way, with the times of their arrival on the clock of p.
#[derive(Default)]
struct Road(Vec<(Time, Letter)>);

impl Road {
    /// Time passes; each letter travels for the span that `way` gives, or is lost.
    fn run(
        &mut self,
        s: &mut Story,
        span: Duration,
        way: impl Fn(Time, &Letter) -> Option<Duration>,
    ) {
        let end = s.now("p").after(span);
        while s.now("p") < end {
            s.pass(ms(5));
            let now = s.now("p");
            self.send(s, &way);
            while let Some(at) = self.0.iter().position(|(at, _)| *at <= now) {
                let (_, letter) = self.0.remove(at);
                s.put(&letter);
                self.send(s, &way);
            }
        }
    }

    fn send(&mut self, s: &mut Story, way: &impl Fn(Time, &Letter) -> Option<Duration>) {
        let now = s.now("p");
        for letter in std::mem::take(&mut s.letters) {
            if let Some(span) = way(now, &letter) {
                self.0.push((now.after(span), letter));
            }
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a road may lose letters")]
fn at_once(_: Time, _: &Letter) -> Option<Duration> {
    Some(ms(0))
}

fn slow(_: Time, _: &Letter) -> Option<Duration> {
    Some(ms(70))
}

/// The events of p about its lease.
fn of_lease(s: &Story) -> Vec<OwnEvent> {
    let own = s.events("p").iter().filter_map(|event| match event {
        Event::Own(own @ (OwnEvent::LeaseOutgrown { .. } | OwnEvent::LeaseSuffices { .. })) => {
            Some(own.clone())
        }
        _ => None,
    });
    own.collect()
}

/// The measured round trip, the lease, and the least sufficient lease, in the only event about the
/// lease.
fn outgrown(s: &Story) -> (Duration, Duration, Duration) {
    match &of_lease(s)[..] {
        [OwnEvent::LeaseOutgrown { samples: 100, short }] => {
            (short.beside.round_trip, short.lease, short.enough.unwrap())
        }
        other => panic!("{other:?}"),
    }
}

fn with_times(s: &Story, lease: Duration, round_trip: Duration) -> Option<Checked> {
    let config = Config::clone(&s.config).with_lease(lease);
    Config { round_trip, refresh: round_trip * 2, ..config }.check().ok()
}

/// d is measured. A leader with a lease of 1 s warns of round trips for which its settings would be
/// refused, and names the least lease. Later it reports that the network is quick again.
#[test]
fn outgrown_lease_is_reported() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    road.run(&mut s, ms(40_000), at_once);
    assert_eq!(of_lease(&s), [], "quick");
    road.run(&mut s, ms(10_000), slow);
    let (round_trip, lease, enough) = outgrown(&s);
    assert!(round_trip >= ms(140) && round_trip < ms(160), "{round_trip:?}");
    assert_eq!(lease, ms(1_000));
    assert!(with_times(&s, enough, round_trip).is_some(), "{enough:?}");
    assert!(with_times(&s, enough - ms(1), round_trip).is_none(), "{enough:?}");
    road.run(&mut s, ms(100_000), at_once);
    let [_, OwnEvent::LeaseSuffices { samples: 100, round_trip }] = of_lease(&s)[..] else {
        panic!("{:?}", of_lease(&s))
    };
    assert!(round_trip < ms(20), "{round_trip:?}");
    assert!(s.leads("p"), "the lease was never lost");
}

#[test]
fn young_leader_judges_no_network() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    road.run(&mut s, ms(20_000), slow);
    assert_eq!(of_lease(&s), [], "fewer than a hundred renewals");
    road.run(&mut s, ms(40_000), slow);
    outgrown(&s);
}

/// d is the time until a quorum has answered.
#[test]
fn slow_minority_outgrows_no_lease() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    let c_is_slow = |_, letter: &Letter| {
        let is_of_c = letter.by == "c" || letter.to == address("c");
        Some(if is_of_c { ms(200) } else { ms(0) })
    };
    road.run(&mut s, ms(60_000), c_is_slow);
    assert_eq!(of_lease(&s), []);
    let b_is_slow_too = |now, letter: &Letter| match letter.by {
        "b" => Some(ms(150)),
        _ => c_is_slow(now, letter),
    };
    road.run(&mut s, ms(60_000), b_is_slow_too);
    assert!(outgrown(&s).0 >= ms(150));
}

/// Letters that arrive are quick; the percentile counts the pauses after lost letters.
#[test]
fn lost_answers_outgrow_lease() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    let gap = Cell::new(s.now("p"));
    // Every three seconds a renewal loses its answers, for 200 ms.
    let with_gaps = |now: Time, letter: &Letter| {
        if letter.by == "p" && now.since(gap.get()) >= ms(3_000) {
            gap.set(now);
        }
        let lost = letter.by != "p" && now.since(gap.get()) < ms(200);
        (!lost).then_some(ms(0))
    };
    road.run(&mut s, ms(60_000), with_gaps);
    let (round_trip, ..) = outgrown(&s);
    assert!(round_trip >= ms(200) && round_trip < ms(300), "{round_trip:?}");
    assert!(s.leads("p"));
}

/// If no quorum answers a renewal before the lease ends, the trip counts as lasting until that end.
/// A single such trip does not move the percentile.
#[test]
fn lost_leases_outgrow_lease() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    road.run(&mut s, ms(40_000), at_once);
    for lost in 1..=2 {
        assert_eq!(of_lease(&s), []);
        road.run(&mut s, ms(1_500), |_, _| None);
        road.run(&mut s, ms(3_000), at_once);
        let ends = s.events("p").iter().filter(|event| matches!(event, Event::Ended(_)));
        assert_eq!(ends.count(), lost);
        s.elect("p");
    }
    road.run(&mut s, ms(3_000), at_once);
    assert!(outgrown(&s).0 > ms(500), "{:?}", outgrown(&s));
}

/// Grantors that refuse at once are not slow.
#[test]
fn refused_renewals_outgrow_no_lease() {
    let (mut s, mut road) = (Story::new(), Road::default());
    s.elect("p");
    road.run(&mut s, ms(40_000), at_once);
    for _ in 0..3 {
        s.reboot("b");
        s.reboot("c");
        s.letters.clear();
        road.run(&mut s, ms(5_000), at_once);
        assert!(!s.leads("p"), "b and c wait for the end of all leases");
        s.elect("p");
    }
    assert_eq!(of_lease(&s), []);
}
