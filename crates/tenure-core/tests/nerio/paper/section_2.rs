//! Section 2: a class of leader election protocols.

use tenure_core::nerio::{Event, MemberSet, Quorums};

use crate::story::*;

/// Equation 12: "process p is leader at time t iff a quorum of processes grant a lease to p": with
/// fewer grants p is not leader, and any quorum system will do.
#[test]
fn leader_iff_quorum_grants() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(!s.leads("p"), "one of three");
    s.deliver("p", "c");
    s.deliver("c", "p");
    assert!(s.leads("p"), "two of three");
}

#[test]
fn a_weighted_quorum_decides_by_weight() {
    let mut config = config(&GRANTORS);
    config.quorums = Quorums::weighted(&[3, 1, 1], None).unwrap();
    let mut s = Story::with(config);
    s.campaign("p");
    for grantor in ["b", "c"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    assert!(!s.leads("p"), "b and c weigh two of five");
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(s.leads("p"), "a alone weighs three");
}

#[test]
fn explicit_quorum_follows_its_sets() {
    let mut config = config(&GRANTORS);
    let sets = [MemberSet::from_iter([0, 1]), MemberSet::from_iter([0, 2])];
    config.quorums = Quorums::explicit(3, &sets).unwrap();
    let mut s = Story::with(config);
    s.campaign("p");
    for grantor in ["b", "c"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    assert!(!s.leads("p"));
    s.deliver("p", "a");
    s.deliver("a", "p");
    assert!(s.leads("p"));
}

const SIX: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[test]
fn grid_quorum_covers_every_row() {
    let mut config = config(&SIX);
    config.quorums = Quorums::grid(2, 3).unwrap();
    let mut s = Story::empty(config);
    for grantor in SIX {
        let disk = s.directory(true);
        s.start(grantor, Some(disk));
    }
    s.start("p", None);
    s.campaign("p");
    for grantor in ["a", "b", "d", "e"] {
        s.deliver("p", grantor);
        s.deliver(grantor, "p");
    }
    assert!(!s.leads("p"), "no full row");
    s.deliver("p", "c");
    s.deliver("c", "p");
    assert!(s.leads("p"));
}

/// Equation 7 at its smallest, and with the most members.
#[test]
fn smallest_and_largest_clusters_elect() {
    let mut s = Story::empty(config(&["a"]));
    let disk = s.directory(true);
    s.start("a", Some(disk));
    s.campaign("a");
    s.deliver_all();
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some("a"));

    let names: Vec<&'static str> = (0..31_u8)
        .map(|n| {
            &*String::leak(format!("{}{}", (b'a' + n % 26) as char, ["", "x"][usize::from(n / 26)]))
        })
        .collect();
    let mut s = Story::empty(config(&names));
    for grantor in names.iter() {
        let disk = s.directory(true);
        s.start(grantor, Some(disk));
    }
    s.elect(names[30]);
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some(names[30]));
    for crashed in &names[..15] {
        s.actors.remove(crashed);
    }
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some(names[30]), "16 of 31 are a quorum");
}

/// "A process cannot grant a lease to two different processes at the same time t."
#[test]
fn grantor_never_grants_twice() {
    let mut s = Story::new();
    assert!(granted(&s.ask("p", "a", request(at(10)))).is_some());
    assert!(granted(&s.ask("q", "a", request(at(10)))).is_none());
    assert_eq!(s.holder("a").as_deref(), Some("p"));
}

/// Equation 13 in one direction only: "it may be that a quorum of processes are still granting a
/// lease to p after p gives up on the lease".
#[test]
fn grants_outlast_the_claim() {
    let mut s = Story::new();
    s.elect("p");
    let until = s.until("p");
    let left = until.since(s.now("p"));
    s.drop_all();
    s.slip(left);
    assert!(!s.leads("p"));
    for grantor in GRANTORS {
        assert_eq!(s.holder(grantor).as_deref(), Some("p"));
    }
}

/// "We assume that the clock advances from one sample to the next. This can be ensured by making
/// the clock a pair consisting of the hardware clock and a counter that is reset each time the
/// hardware clock advances and is incremented each time the clock is sampled."
#[test]
fn clock_advances_between_samples() {
    let mut s = Story::new();
    let mut sample = |start| granted(&s.ask("p", "a", request(at(start)))).unwrap().stamp;
    let (first, second) = (sample(1), sample(2));
    assert_eq!((first.clock, second.clock), (at(10_000), at(10_000)));
    assert!(first.counter < second.counter);
    s.slip(ms(1));
    let third = granted(&s.ask("p", "a", request(at(3)))).unwrap().stamp;
    assert_eq!((third.clock, third.counter), (at(10_001), 0));
}

/// "If a crashed process p was a leader, eventually it stops being leader …, and if a crashed
/// process q granted a lease, eventually this lease expires."
#[test]
fn leases_of_the_crashed_expire() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.actors.remove("p");
    s.run(ms(1_099));
    assert_eq!(s.leader(), None, "(1 + ρ)·δ must pass first");
    s.run(ms(150));
    assert_eq!(s.leader(), Some("q"));
    assert!(s.events("q").iter().any(|event| matches!(event, Event::Elected { .. })));
}
