//! A lease that follows the network, by `lease_auto` (section 10.1).

use std::time::Duration;

use tenure_core::nerio::{Config, OwnEvent, Refusal};
use tenure_core::{Event, Time};

use crate::story::*;

/// Three grantors and candidates whose lease is 1 s at least, and `delta_max` at most.
fn story(delta_max: Duration) -> Story {
    Story::with(Config { lease_auto: true, delta_max, ..config(&GRANTORS) })
}

/// Time passes, and each letter travels for `way`.
fn run(s: &mut Story, road: &mut Vec<(Time, Letter)>, span: Duration, way: Duration) {
    let end = s.now("p").after(span);
    while s.now("p") < end {
        s.pass(ms(5));
        let now = s.now("p");
        loop {
            road.extend(s.letters.drain(..).map(|letter| (now.after(way), letter)));
            let Some(at) = road.iter().position(|(at, _)| *at <= now) else { break };
            let (_, letter) = road.remove(at);
            s.put(&letter);
        }
    }
}

/// The leases of p after each change.
fn leases(s: &Story) -> Vec<Duration> {
    let lease = |event: &tenure_core::nerio::Event| match event {
        Event::Own(OwnEvent::LeaseFollows(change)) => Some(change.lease),
        _ => None,
    };
    s.events("p").iter().filter_map(lease).collect()
}

#[test]
fn lease_grows_with_the_network() {
    let (mut s, mut road) = (story(ms(5_000)), Vec::new());
    s.elect("p");
    run(&mut s, &mut road, ms(30_000), ms(0));
    assert_eq!(leases(&s), []);
    run(&mut s, &mut road, ms(40_000), ms(70));
    let grown = *leases(&s).last().expect("a longer lease");
    assert!(grown > ms(1_500) && grown <= ms(5_000), "{grown:?}");
    let of_lease = |event: &tenure_core::nerio::Event| {
        matches!(event, Event::Own(OwnEvent::LeaseOutgrown { .. }))
    };
    assert!(!s.events("p").iter().any(of_lease), "no lease is too short");
    assert!(s.until("p") > s.now("p").after(ms(900)), "it is asked for");
    run(&mut s, &mut road, ms(200_000), ms(0));
    assert_eq!(leases(&s).last(), Some(&ms(1_000)), "the least: {:?}", leases(&s));
    assert!(s.leads("p"));
}

/// In an outage no quorum answers, which says nothing of the round trips.
#[test]
fn outage_lengthens_no_lease() {
    let (mut s, mut road) = (story(ms(5_000)), Vec::new());
    s.elect("p");
    for _ in 0..3 {
        run(&mut s, &mut road, ms(40_000), ms(0));
        while s.leads("p") {
            s.pass(ms(5));
            s.letters.clear();
        }
        s.pass(ms(10_000));
        s.drop_all();
        s.elect("p");
    }
    run(&mut s, &mut road, ms(40_000), ms(0));
    assert_eq!(leases(&s), []);
}

/// A shorter lease counts from the next Start: no claim goes back.
#[test]
fn claims_never_shrink() {
    let (mut s, mut road) = (story(ms(5_000)), Vec::new());
    s.elect("p");
    run(&mut s, &mut road, ms(60_000), ms(70));
    run(&mut s, &mut road, ms(200_000), ms(0));
    assert!(leases(&s).len() >= 2, "{:?}", leases(&s));
    let claims = &s.actors["p"].claims;
    assert!(claims.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{claims:?}");
    assert!(claims.iter().all(|(_, fence)| fence.is_some()), "never lowered");
}

#[test]
fn lease_max_bounds_the_lease() {
    let (mut s, mut road) = (story(ms(1_200)), Vec::new());
    s.elect("p");
    run(&mut s, &mut road, ms(60_000), ms(70));
    assert_eq!(leases(&s), [ms(1_200)]);
    let outgrown = |event: &tenure_core::nerio::Event| {
        matches!(event, Event::Own(OwnEvent::LeaseOutgrown { .. }))
    };
    assert!(s.events("p").iter().any(outgrown), "an operator must know");
}

/// The grantors give less than the candidate's own lease-max.
#[test]
fn refused_lease_falls_at_once() {
    let mut s = Story::new();
    s.actors.remove("p");
    s.configure(|config| (config.lease_auto, config.delta_max) = (true, ms(8_000)));
    s.start("p", None);
    // The grantors keep the settings of the story, with leases of up to 2 s.
    let mut road = Vec::new();
    s.elect("p");
    run(&mut s, &mut road, ms(90_000), ms(120));
    let refused = s.events("p").iter().any(|event| {
        let is_it = |refusal: &Refusal| matches!(refusal, Refusal::TooLong { .. });
        matches!(event, Event::Own(OwnEvent::Obstacle { refusal, .. }) if is_it(refusal))
    });
    assert!(!refused && leases(&s).contains(&ms(2_000)), "{:?}", leases(&s));
}
