//! Section 10.3: partitions, with and without a quorum.

use tenure_core::nerio::Detector;

use crate::story::*;

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

/// "If there is no such partition […] then the weak leader election algorithm might be used to
/// assign a temporary, non-authoritative, leader in each partition."
#[test]
fn partition_without_quorum_has_weak_leader() {
    let mut s = Story::of_members(on_ring(&FIVE, Detector::Ping), &FIVE);
    s.elect("a");
    s.campaign("d");
    s.run_split(ms(5_000), &[&["a", "b"], &["c"], &["d", "e"]]);
    assert_eq!(s.leader(), None, "no partition has a quorum");
    assert!(
        s.all_name(&["a", "b"], "a") && s.all_name(&["c"], "c") && s.all_name(&["d", "e"], "d")
    );
    s.run(ms(3_000));
    assert!(s.leader().is_some() && s.all_name(&FIVE, "a"));
}

/// "Nerio class protocols work even if the network partitions if there is a partition that contains
/// a quorum": "functionality is desired in minority partitions", whose weak leader leads nothing.
#[test]
fn weak_leader_of_minority_never_leads() {
    let mut s = Story::of_members(on_ring(&FIVE, Detector::Ping), &FIVE);
    s.run(ms(300));
    for member in FIVE {
        s.campaign(member);
    }
    for _ in 0..50 {
        s.run_split(ms(100), &[&["a", "b"], &["c", "d", "e"]]);
        // `leader` panics with two leaders.
        assert!(s.leader().is_none_or(|leader| ["c", "d", "e"].contains(&leader)));
    }
    assert!(s.leader().is_some());
    assert!(s.all_name(&["a", "b"], "a") && s.all_name(&["c", "d", "e"], "c"));
}
