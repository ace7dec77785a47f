//! Section 9: Eventual Election, by weak leaders on a virtual ring.

use tenure_core::Input;
use tenure_core::nerio::Detector;

use crate::story::*;

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

fn five(detector: Detector) -> Story {
    Story::of_members(on_ring(&FIVE, detector), &FIVE)
}

/// "Elect the smallest process in P that has not failed."
#[test]
fn smallest_correct_member_is_elected() {
    let mut s = five(Detector::Ping);
    s.run(ms(300));
    assert!(s.all_name(&FIVE, "a"));
    s.actors.remove("a");
    s.run(ms(1_000));
    assert!(s.all_name(&FIVE[1..], "b"));
    s.actors.remove("b");
    s.run(ms(1_500));
    assert!(s.all_name(&FIVE[2..], "c"));
}

/// "Processes are organized into a virtual ring in order. […] Each process pairs with the closest
/// predecessor and closest successor on the ring that it considers correct by the failure detector,
/// and monitors it."
#[test]
fn members_monitor_closest_correct_neighbours() {
    let mut s = five(Detector::Ping);
    s.run(ms(300));
    let tick = |s: &mut Story, who: &'static str| {
        s.drop_all();
        let due = tenure_core::Protocol::deadline(&s.actors[who].core).unwrap().at;
        let actor = s.actor(who);
        actor.clock = actor.clock.max(due);
        pinged(&s.step(who, Input::Timeout))
    };
    assert_eq!(tick(&mut s, "c"), ["member b", "member d"]);
    assert_eq!(tick(&mut s, "a"), ["member b", "member e"], "the ring is closed");
    s.actors.remove("d");
    s.run(ms(1_000));
    let monitored = tick(&mut s, "c");
    assert_eq!(monitored, ["member b", "member d", "member e"], "a suspected one may come back");
    assert_eq!(tick(&mut s, "a"), ["member b", "member e"]);
}

/// "If a process q believes it is the lowest correct process (because the identifier of its
/// predecessor is larger than its own), then it considers itself a weak leader."
#[test]
fn lowest_member_considers_itself() {
    let mut s = five(Detector::Ping);
    s.run(ms(300));
    s.run_split(ms(2_000), &[&["a", "b"], &["c", "d", "e"]]);
    assert!(s.all_name(&["a", "b"], "a") && s.all_name(&["c", "d", "e"], "c"));
    s.run_split(ms(2_500), &[&["a"], &["b", "d"], &["c", "e"]]);
    assert!(
        s.all_name(&["a"], "a") && s.all_name(&["b", "d"], "b") && s.all_name(&["c", "e"], "c")
    );
}

/// "Under the properties of GST, failure detection becomes accurate and the algorithm will produce
/// a single leader."
#[test]
fn single_weak_leader_after_stabilization() {
    for detector in [Detector::Ping, Detector::Accrual] {
        let mut s = five(detector);
        s.run(ms(2_000));
        s.run_split(ms(3_000), &[&["a"], &["b"], &["c"], &["d", "e"]]);
        assert!(s.all_name(&["d", "e"], "d") && s.all_name(&["c"], "c"));
        s.run(ms(1_000));
        assert!(s.all_name(&FIVE, "a"), "{detector:?}");
    }
}

/// A link loses the letters in one direction. Only round trips count, so each end takes the other
/// for failed. Until the link is whole, two members may be weak leaders.
#[test]
fn one_way_loss_fails_both_ends() {
    let mut s = five(Detector::Ping);
    s.run(ms(300));
    s.run_cut(ms(1_500), |from, to| (from, to) == ("b", "a"));
    assert!(s.all_name(&["a"], "a") && s.all_name(&["b", "c", "d"], "b"));
    s.run(ms(1_000));
    assert!(s.all_name(&FIVE, "a"));
}

/// "The more sophisticated φ-accrual failure detector that gives a better approximation of the
/// failure status of processes": this detector learns how slow a member is, where the ping detector
/// takes the member for failed.
#[test]
fn accrual_detector_learns_slow_members() {
    for (detector, learns) in [(Detector::Ping, false), (Detector::Accrual, true)] {
        let mut s = Story::of_members(on_ring(&["a", "b"], detector), &["a", "b"]);
        // Letters need 350 ms; the round trip is longer than the silence.
        let mut late = Vec::new();
        for step in 0..600 {
            s.pass(ms(10));
            let letters = std::mem::take(&mut s.letters);
            late.extend(letters.into_iter().map(|letter| (step + 35, letter)));
            while late.first().is_some_and(|(due, _)| *due <= step) {
                let (_, letter) = late.remove(0);
                s.put(&letter);
            }
        }
        let weak = if learns { "a" } else { "b" };
        assert_eq!(s.weak("b").as_deref(), Some(weak), "{detector:?}");
    }
}

/// "A weak leader initiates OQwBD to try to become a leader if" it is "not currently granting a
/// lease to another process": the formula beside these words is their negation (erratum 3).
#[test]
fn erratum_3_granting_weak_leader_waits() {
    let three = ["a", "b", "c"];
    let mut s = Story::of_members(only_weak_leaders(&three), &three);
    s.run(ms(300));
    // The grantor of the weak leader grants to a process that never becomes leader.
    let begin = s.now("a");
    s.ask("c", "a", for_span(begin, ms(500)));
    s.drop_all();
    assert_eq!(requests(&s.campaign("a")), []);
    s.run(ms(400));
    assert!(!s.leads("a"), "it grants to another");
    s.run(ms(400));
    assert!(s.leads("a"), "the grant has ended");
}

/// "A weak leader initiates OQwBD": the others wait until they are weak leaders themselves.
#[test]
fn only_weak_leader_campaigns() {
    let three = ["a", "b", "c"];
    let mut s = Story::of_members(only_weak_leaders(&three), &three);
    s.run(ms(300));
    for member in ["c", "b"] {
        assert_eq!(requests(&s.campaign(member)), [], "{member} is no weak leader");
    }
    s.run(ms(500));
    assert_eq!(s.leader(), None);
    assert!(!requests(&s.campaign("a")).is_empty());
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some("a"));
    s.actors.remove("a");
    s.run(ms(2_000));
    assert_eq!(s.leader(), Some("b"), "c waits for b");
}

/// "It does so periodically in order to deal with possible collisions and message loss."
#[test]
fn weak_leader_tries_again() {
    let three = ["a", "b", "c"];
    let mut s = Story::of_members(only_weak_leaders(&three), &three);
    s.run(ms(300));
    s.campaign("a");
    s.drop_all();
    for _ in 0..2 {
        s.slip(REFRESH);
        let again = s.step("a", Input::Timeout);
        assert_eq!(requests(&again).len(), three.len());
        s.drop_all();
    }
    s.run(ms(200));
    assert!(s.leads("a"));
}

/// "Eventually only one process will attempt to become leader […]. After all conflicting grants
/// have expired, […] eventually this process will complete OQwBD."
#[test]
fn conflicting_attempts_end_with_leader() {
    let mut s = Story::of_members(only_weak_leaders(&FIVE), &FIVE);
    // Every member is a weak leader, and each has its own grant.
    s.run_split(ms(2_500), &[&["a"], &["b"], &["c"], &["d"], &["e"]]);
    for member in FIVE {
        s.campaign(member);
        s.run_split(ms(100), &[&["a"], &["b"], &["c"], &["d"], &["e"]]);
        assert!(!s.leads(member));
    }
    s.run(ms(4_000));
    assert!(s.leader().is_some());
    assert!(s.all_name(&FIVE, "a"));
}
