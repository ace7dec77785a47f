//! A proposer whose answers a test makes up. Members are positions in {a, b, c} or {a, ..., e}.

use std::sync::Arc;

use tenure_core::nerio::epoch::{Ballot, EpochId, Phase, Proposer};
use tenure_core::nerio::{Inc, MemberSet};

use super::{ballot, membership};

/// A proposer of {d, e, f} after {a, b, c}.
fn proposer() -> Proposer {
    started("a b c", "d e f")
}

fn started(before: &str, own: &str) -> Proposer {
    Proposer::start(membership(before), membership(own), Inc(1), Ballot::NONE).unwrap()
}

fn own() -> EpochId {
    membership("d e f").id()
}

fn other() -> EpochId {
    membership("g h i").id()
}

/// Promises of these members for the present ballot; the members have accepted no successor.
fn promise(proposer: &mut Proposer, members: &[usize]) {
    for member in members {
        proposer.on_promise(*member, proposer.ballot(), None);
    }
}

fn ready(proposer: &mut Proposer, seats: &[usize]) {
    for seat in seats {
        proposer.on_ready(*seat, own());
    }
}

/// A proposer that has asked members to accept its own successor.
fn accepting() -> Proposer {
    let mut proposer = proposer();
    promise(&mut proposer, &[0, 1]);
    ready(&mut proposer, &[0, 1]);
    assert_eq!(proposer.phase(), Phase::Accept { successor: own() });
    proposer
}

/// 2.1.5 to 2.1.7, without an accident.
#[test]
fn own_successor_is_decided() {
    let mut proposer = proposer();
    assert_eq!((proposer.phase(), proposer.missing()), (Phase::Prepare, MemberSet::first(3)));
    assert!(!proposer.on_promise(0, proposer.ballot(), None));
    assert!(!proposer.on_promise(0, proposer.ballot(), None), "a repeated promise adds nothing");
    assert!(proposer.on_promise(1, proposer.ballot(), None));
    assert_eq!((proposer.phase(), proposer.missing()), (Phase::Ready, MemberSet::first(3)));
    assert!(!proposer.on_ready(2, own()) && proposer.on_ready(0, own()));
    assert_eq!(proposer.phase(), Phase::Accept { successor: own() });
    assert!(!proposer.on_accepted(0, proposer.ballot(), own()));
    assert!(!proposer.on_accepted(0, proposer.ballot(), own()));
    assert_eq!(proposer.missing(), MemberSet::from_iter([1, 2]));
    assert!(proposer.on_accepted(2, proposer.ballot(), own()));
    assert_eq!(proposer.phase(), Phase::Decided { successor: own() });
    assert!(proposer.missing().is_empty());
}

/// 2.1.1
#[test]
fn refused_ballot_is_followed_by_larger() {
    let mut proposer = proposer();
    let first = proposer.ballot();
    proposer.on_timeout();
    assert_eq!(proposer.ballot(), first, "unanswered questions are repeated");
    promise(&mut proposer, &[0]);
    proposer.on_refused(ballot(7));
    assert_eq!(proposer.ballot(), first, "the caller decides when");
    proposer.on_timeout();
    assert_eq!(proposer.ballot(), Ballot { counter: 8, inc: Inc(1) });
    assert_eq!(proposer.missing(), MemberSet::first(3));
    assert!(!proposer.on_promise(1, first, None), "a promise for the ballot before");
    assert_eq!(proposer.missing(), MemberSet::first(3));
}

/// 2.1.1: after a refused accept, too, the proposer asks for promises.
#[test]
fn refused_accept_asks_for_promises() {
    let mut proposer = accepting();
    proposer.on_refused(ballot(7));
    proposer.on_timeout();
    assert_eq!((proposer.phase(), proposer.ballot().counter), (Phase::Prepare, 8));
    promise(&mut proposer, &[1, 2]);
    let accept = Phase::Accept { successor: own() };
    assert_eq!(proposer.phase(), accept, "its seats were ready before");
}

/// 2.1.5: the proposer's caller lacks the document of the successor.
#[test]
fn caller_may_prepare_anew() {
    let mut proposer = accepting();
    let first = proposer.ballot();
    proposer.prepare_anew();
    assert_eq!(proposer.phase(), Phase::Prepare);
    assert!(proposer.ballot() > first);
    assert_eq!(proposer.missing(), MemberSet::first(3));
}

/// 2.1.1: a second proposal of one incarnation never uses a ballot again.
#[test]
fn second_proposal_takes_later_ballot() {
    let mut first = proposer();
    assert!(first.cancel());
    let (before, own) = (membership("a b c"), membership("g h i"));
    let second = Proposer::start(Arc::clone(&before), Arc::clone(&own), Inc(1), first.ballot());
    assert!(second.unwrap().ballot() > first.ballot());
    let last = Ballot { counter: u64::MAX, inc: Inc(9) };
    assert_eq!(Proposer::start(before, own, Inc(1), last), None);
}

/// 2.1.5
#[test]
fn highest_accepted_successor_is_adopted() {
    let mut proposer = started("a b c d e", "d e f");
    let first = proposer.ballot();
    proposer.on_refused(ballot(7));
    proposer.on_timeout();
    assert!(proposer.ballot() > first);
    let later = Some((ballot(6), other()));
    let earlier = Some((ballot(5), membership("k l m").id()));
    assert!(!proposer.on_promise(4, proposer.ballot(), None));
    assert!(!proposer.on_promise(3, proposer.ballot(), later));
    assert!(proposer.on_promise(0, proposer.ballot(), earlier));
    assert_eq!(proposer.phase(), Phase::Accept { successor: other() }, "whether ready or not");
}

/// 2.1.6
#[test]
fn own_successor_waits_until_ready() {
    let mut proposer = proposer();
    promise(&mut proposer, &[0, 1, 2]);
    assert_eq!(proposer.phase(), Phase::Ready);
    assert!(!proposer.on_ready(0, other()) && !proposer.on_ready(1, other()));
    assert!(!proposer.on_ready(0, own()));
    assert!(!proposer.on_ready(0, own()), "a repeated answer adds nothing");
    assert_eq!(proposer.missing(), MemberSet::from_iter([1, 2]));
    assert!(proposer.on_ready(2, own()));
}

/// 2.1.7: T1, as a proposer sees it. Member b accepted by an earlier ballot.
#[test]
fn acceptances_of_two_ballots_decide_nothing() {
    let mut proposer = accepting();
    let first = proposer.ballot();
    assert!(!proposer.on_accepted(0, first, own()));
    proposer.on_refused(ballot(7));
    proposer.on_timeout();
    proposer.on_promise(0, proposer.ballot(), Some((first, own())));
    promise(&mut proposer, &[2]);
    assert_eq!(proposer.phase(), Phase::Accept { successor: own() });
    assert!(!proposer.on_accepted(0, proposer.ballot(), own()));
    assert!(!proposer.on_accepted(1, first, own()), "b has it by the ballot before");
    assert!(!proposer.on_accepted(1, proposer.ballot(), other()));
    assert!(proposer.on_accepted(1, proposer.ballot(), own()));
}

/// 2.1.10
#[test]
fn other_decision_ends_the_proposal() {
    let mut proposer = accepting();
    assert!(proposer.on_decided(other()));
    assert!(!proposer.on_accepted(0, proposer.ballot(), own()));
    assert!(!proposer.on_accepted(1, proposer.ballot(), own()));
    assert!(!proposer.on_decided(own()));
    proposer.on_refused(ballot(7));
    proposer.on_timeout();
    assert_eq!(proposer.phase(), Phase::Decided { successor: other() });
    assert!(!proposer.cancel());
}

/// 2.1.10
#[test]
fn cancel_ends_before_first_accept() {
    let mut proposer = proposer();
    promise(&mut proposer, &[0, 1]);
    assert!(proposer.cancel());
    assert!(!proposer.on_ready(0, own()) && !proposer.on_ready(1, own()));
    assert_eq!((proposer.phase(), proposer.missing()), (Phase::Cancelled, MemberSet::EMPTY));
}

/// 2.1.10: the accept is on its way, or an accept of another proposer has arrived.
#[test]
fn begun_decision_cannot_be_cancelled() {
    let mut asked = accepting();
    asked.on_refused(ballot(7));
    asked.on_timeout();
    assert_eq!(asked.phase(), Phase::Prepare);
    assert!(!asked.cancel(), "a member may have accepted by the ballot before");
    let mut told = proposer();
    told.on_promise(0, told.ballot(), Some((ballot(0), other())));
    assert!(!told.cancel());
}

/// 2.1.9: the proposing member itself has accepted a successor, before or after others promise.
#[test]
fn carried_successor_waits_for_no_seat() {
    for promises in [0, 2] {
        let mut proposer = started("a b c d e", "d e f");
        let others: Vec<usize> = (1..=promises).collect();
        promise(&mut proposer, &others);
        proposer.carry((ballot(0), own()));
        promise(&mut proposer, &[1, 2, 3]);
        assert_eq!(proposer.phase(), Phase::Accept { successor: own() });
        assert!(!proposer.cancel());
    }
    let mut ready = proposer();
    promise(&mut ready, &[0, 1]);
    assert_eq!(ready.phase(), Phase::Ready);
    ready.carry((ballot(1), other()));
    assert_eq!(ready.phase(), Phase::Accept { successor: other() });
    let mut later = started("a b c d e", "d e f");
    later.carry((ballot(1), own()));
    later.on_promise(1, later.ballot(), Some((ballot(2), other())));
    promise(&mut later, &[2, 3]);
    let decided = Phase::Accept { successor: other() };
    assert_eq!(later.phase(), decided, "a promise names a higher ballot");
}

/// T10: another answer shows that the memory of member 0 is replaced.
#[test]
fn forgotten_promise_is_ignored() {
    let mut proposer = proposer();
    promise(&mut proposer, &[0]);
    proposer.forget(0);
    promise(&mut proposer, &[1]);
    assert_eq!(proposer.phase(), Phase::Prepare);
    promise(&mut proposer, &[2]);
    assert_eq!(proposer.phase(), Phase::Ready);
}
