//! Section 7: edicts.

use std::cmp::Ordering;

use tenure_core::nerio::{EdictTimestamp, Event, Incomparable, QuorumTimestamp};

use crate::paper::elected;
use crate::story::*;

/// "Extend the ok response from q with T_q. … Process p awaits messages from all processes in a
/// quorum Q, and constructs a Quorum Timestamp QT_p as the set of pairs (q, T_q) for all q ∈ Q."
#[test]
fn qt_holds_the_quorums_samples() {
    let mut s = Story::new();
    s.campaign("p");
    s.slip(ms(3));
    let a = granted(&s.deliver("p", "a")).unwrap();
    s.slip(ms(4));
    let c = granted(&s.deliver("p", "c")).unwrap();
    s.deliver("a", "p");
    s.deliver("c", "p");
    let expected = QuorumTimestamp::new([(a.instance, a.stamp), (c.instance, c.stamp)]);
    assert_eq!(elected(&s, "p"), expected);
}

/// Lemma 7.1: instances that complete in order have timestamps in order, whoever completes them
/// and whichever quorums they use.
#[test]
fn lemma_7_1_timestamps_follow_completion() {
    let mut s = Story::new();
    let mut last: Option<QuorumTimestamp> = None;
    for (candidate, quorum) in
        [("p", ["a", "b"]), ("q", ["b", "c"]), ("r", ["c", "a"]), ("q", ["a", "b"])]
    {
        s.slip(ms(1));
        s.actor(candidate).events.clear();
        s.campaign(candidate);
        for _ in 0..4 {
            for grantor in quorum {
                s.deliver(candidate, grantor);
                s.deliver(grantor, candidate);
            }
            s.slip(ms(1));
            s.timers();
        }
        let timestamp = elected(&s, candidate);
        if let Some(earlier) = last.replace(timestamp.clone()) {
            assert_eq!(earlier.order(&timestamp), Ok(Ordering::Less), "{earlier} {timestamp}");
        }
        s.resign(candidate);
        s.deliver_all();
    }
}

/// "Edict timestamps are lexicographically ordered, first by quorum timestamp and then by the
/// natural ordering on edict counters."
#[test]
fn edicts_order_by_leadership_and_counter() {
    let mut s = Story::new();
    s.elect("p");
    let first = elected(&s, "p");
    s.resign("p");
    s.deliver_all();
    s.elect("q");
    let second = elected(&s, "q");
    let edict = |quorum: &QuorumTimestamp, counter| EdictTimestamp {
        epoch: 0,
        quorum: quorum.clone(),
        counter,
    };
    let order = |a: &EdictTimestamp, b: &EdictTimestamp| a.order(b);
    assert_eq!(order(&edict(&first, 0), &edict(&first, 1)), Ok(Ordering::Less));
    assert_eq!(order(&edict(&first, 9), &edict(&second, 0)), Ok(Ordering::Less));
    assert_eq!(order(&edict(&second, 0), &edict(&first, 9)), Ok(Ordering::Greater));
}

/// QT is frozen at completion: the timestamp of a leadership does not change with renewals.
#[test]
fn leadership_keeps_its_timestamp() {
    let mut s = Story::new();
    s.elect("p");
    s.run(ms(5_000));
    let elections =
        s.events("p").iter().filter(|event| matches!(event, Event::Elected { .. })).count();
    assert_eq!(elections, 1, "one timestamp for the whole leadership");
}

/// At most one ok of each grantor enters QT; a duplicate changes nothing.
#[test]
fn each_grantor_enters_qt_once() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    let ok = s.take("a", "p");
    for _ in 0..5 {
        s.put(&ok[0]);
    }
    assert!(!s.leads("p"), "one grantor is one grantor");
    s.deliver("p", "b");
    s.deliver("b", "p");
    assert_eq!(elected(&s, "p").stamps().len(), 2);
}

/// A grantor whose state directory was lost is another instance: its timestamps are not
/// comparable with the earlier ones, which is an error and never an order.
#[test]
fn lost_directory_gives_another_instance() {
    let mut s = Story::new();
    let before = granted(&s.ask("p", "a", request(at(10)))).unwrap();
    s.lose_disk("a");
    s.run(ms(2_300));
    let after = granted(&s.ask("p", "a", request(at(20)))).unwrap();
    let qt = |ok: &tenure_core::nerio::Granted| QuorumTimestamp::new([(ok.instance, ok.stamp)]);
    assert_eq!(qt(&before).order(&qt(&after)), Err(Incomparable::Disjoint));
    assert_eq!(qt(&after).order(&qt(&before)), Err(Incomparable::Disjoint));
}
