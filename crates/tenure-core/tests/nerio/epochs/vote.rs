//! The vote of one member.

use tenure_core::nerio::Inc;
use tenure_core::nerio::epoch::{Ballot, Vote};

use super::ballot;

/// 2.1.1
#[test]
fn ballots_order_by_counter_first() {
    let of = |counter, inc| Ballot { counter, inc: Inc(inc) };
    assert!(of(1, 9) < of(2, 1) && of(2, 1) < of(2, 2));
    assert_eq!(of(4, 9).next(Inc(1)), Some(of(5, 1)));
    assert_eq!(of(u64::MAX, 9).next(Inc(1)), None);
}

/// 2.1.2, 2.1.3
#[test]
fn promise_bars_earlier_ballots() {
    let mut vote = Vote::NONE;
    assert!(vote.promise(ballot(2)));
    assert!(!vote.promise(ballot(1)));
    assert!(!vote.accept(ballot(1), 'S'));
    assert_eq!(vote, Vote { promised: ballot(2), accepted: None });
    assert!(vote.accept(ballot(2), 'S'));
    assert!(vote.accept(ballot(3), 'T'), "no promise is needed");
    assert!(!vote.promise(ballot(2)), "an acceptance promises as well");
    assert_eq!(vote.accepted, Some((ballot(3), 'T')));
}

/// 2.1.2: the first answer may be lost.
#[test]
fn repeated_prepare_is_promised_again() {
    let mut vote = Vote::<char>::NONE;
    assert!(vote.promise(ballot(2)));
    assert!(vote.promise(ballot(2)));
}

/// 2.1.1: the second proposer is a copy of the first proposer's process.
#[test]
fn ballot_has_one_successor() {
    let mut vote = Vote::NONE;
    assert!(vote.accept(ballot(1), 'S') && vote.accept(ballot(1), 'S'), "an answer may be lost");
    assert!(!vote.accept(ballot(1), 'T'));
    assert_eq!(vote.accepted, Some((ballot(1), 'S')));
    assert!(vote.accept(ballot(2), 'T'));
}

/// 2.1.1: a faulty process sends the highest counter.
#[test]
fn promise_grows_by_steps() {
    let mut vote = Vote::NONE;
    for counter in [u64::MAX, Ballot::STEP_MAX + 1] {
        assert!(!vote.promise(ballot(counter)) && !vote.accept(ballot(counter), 'S'));
    }
    assert_eq!(vote, Vote::NONE);
    assert!(vote.promise(ballot(Ballot::STEP_MAX)));
    assert!(vote.accept(ballot(2 * Ballot::STEP_MAX), 'S'));
    vote.promised.counter = u64::MAX - 1;
    assert!(vote.promise(ballot(u64::MAX)));
}

/// 2.1.4
#[test]
fn wedge_outlives_later_promises() {
    let mut vote = Vote::NONE;
    assert!(vote.promise(ballot(1)) && !vote.is_wedged());
    assert!(vote.accept(ballot(1), 'S') && vote.promise(ballot(7)));
    assert!(vote.is_wedged());
    assert_eq!(vote.accepted, Some((ballot(1), 'S')));
}

/// 2.1.3: five records of one member, written in every order.
#[test]
fn vote_on_disk_never_goes_back() {
    let mut vote = Vote::NONE;
    let mut records = vec![];
    for (counter, successor) in [(1, None), (1, Some('S')), (3, None), (4, Some('T')), (5, None)] {
        let _ = match successor {
            Some(successor) => vote.accept(ballot(counter), successor),
            None => vote.promise(ballot(counter)),
        };
        records.push(vote.clone());
    }
    for first in 0..5 {
        for step in 1..5 {
            let mut disk = Vote::NONE;
            (0..5).for_each(|nth| disk.merge(&records[(first + nth * step) % 5]));
            assert_eq!(disk, vote, "from {first} by {step}");
        }
    }
}
