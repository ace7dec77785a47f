//! Section 1: the properties that the protocol satisfies.

use tenure_core::nerio::Event;
use tenure_core::{End, Loss};

use crate::paper::elected;
use crate::story::*;

/// "Leader Uniqueness: At any time, at most one process is leader."
#[test]
fn leader_uniqueness_at_any_time() {
    let mut s = Story::new();
    for candidate in CANDIDATES {
        s.campaign(candidate);
    }
    let mut led = 0;
    for round in 0..400 {
        s.run(ms(10));
        // `leader` panics with two leaders.
        led += usize::from(s.leader().is_some());
        if let (0, Some(leader)) = (round % 40, s.leader()) {
            s.resign(leader);
            s.campaign(leader);
        }
    }
    assert!(led > 300, "somebody led {led} of 400 times");
}

/// "Edict Validity: Only leaders can create edicts." A process asks for its standing when it
/// creates an edict: it has none before the first completion, and none from E on.
#[test]
fn only_leaders_can_create_edicts() {
    let mut s = Story::new();
    s.campaign("p");
    assert!(!s.leads("p"), "requests are not answers");
    s.deliver_all();
    assert!(s.leads("p"));
    let until = s.until("p");
    s.drop_all();
    let core = &s.actors["p"].core;
    let leads = |at| tenure_core::Protocol::standing(core, &x(), at).is_leading();
    assert!(leads(until.before(std::time::Duration::from_nanos(1))));
    assert!(!leads(until), "step 8: C < E, and no timer had to fire");
}

/// "Edict Ordering: Recipients of multiple edicts can determine the real-time order in which the
/// edicts were created."
#[test]
fn recipients_can_order_edicts() {
    let mut s = Story::new();
    let mut timestamps = Vec::new();
    for candidate in ["p", "q", "p", "r"] {
        s.actor(candidate).events.clear();
        s.elect(candidate);
        timestamps.push(elected(&s, candidate));
        s.resign(candidate);
        s.deliver_all();
    }
    for (i, earlier) in timestamps.iter().enumerate() {
        for (j, later) in timestamps.iter().enumerate() {
            assert_eq!(earlier.order(later), Ok(i.cmp(&j)), "{earlier} {later}");
        }
    }
}

/// "Leader Stability: If a process is leader then, in the absence of failures and in the
/// presence of timely communication and processing, it remains leader."
#[test]
fn a_leader_remains_leader() {
    let mut s = Story::new();
    s.elect("p");
    for rival in ["q", "r"] {
        s.campaign(rival);
    }
    for _ in 0..1_000 {
        s.run(ms(20));
        assert_eq!(s.leader(), Some("p"));
    }
    assert!(!s.events("p").iter().any(|event| matches!(event, Event::Ended(_))));
}

/// "Eventual Election: If there is no leader then, in the presence of sufficient timely
/// communication and processing and a bounded number of failures, a leader is elected."
#[test]
fn vacancy_ends_with_a_leader() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.campaign("r");
    s.run(ms(150));
    s.actors.remove("p");
    s.run(ms(1_300));
    assert!(matches!(s.leader(), Some("q" | "r")), "{:?}", s.leader());
}

/// "Fault Tolerance: Some number of crash failures are tolerated." Here a minority of the grantors
/// crashes.
#[test]
fn crashed_minority_is_tolerated() {
    let mut s = Story::new();
    s.actors.remove("b");
    s.elect("p");
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some("p"));
    s.actors.remove("c");
    s.run(ms(5_000));
    assert_eq!(s.leader(), None, "one of three is no quorum");
    assert!(s.events("p").contains(&Event::Ended(End::Lost(Loss::Expired))));
}

/// "Efficiency: the time and … networking resources required by the protocol are reasonable": one
/// message to and one from each grantor elects, and a third of a lease passes before the next.
#[test]
fn single_round_trip_elects() {
    let mut s = Story::new();
    let begin = s.campaign("p");
    assert_eq!(requests(&begin).len(), 3);
    for grantor in GRANTORS {
        assert_eq!(sent(&s.deliver("p", grantor)).count(), 1);
    }
    s.deliver("a", "p");
    s.deliver("b", "p");
    assert!(s.leads("p"));
    s.run(ms(5));
    s.drop_all();
    s.pass(ms(200));
    assert!(s.letters.is_empty(), "{:?}", s.letters);
}

/// "Message loss and reordering by the network is allowed, and network partitioning is permitted
/// too": a candidate believes nothing without an answer, and a partition heals.
#[test]
fn loss_and_partitions_are_survived() {
    let mut s = Story::new();
    s.campaign("p");
    for _ in 0..20 {
        s.pass(ms(50));
        s.drop_all();
        assert_eq!(s.leader(), None);
    }
    s.run(REFRESH * 3);
    assert_eq!(s.leader(), Some("p"));
}
