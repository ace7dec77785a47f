//! The maximum number of unary calls that are under way at the same time. Each class of calls has
//! its own limit, and no class waits for another.

use tenure_core::etcd::{Act, Keys, Op, Read, Txn};
const CANDIDATES: usize = 64;
/// The maximum number of observers' queries under way, queries of gone callers included. Other
/// calls must not wait behind observers' queries.
const OBSERVERS: usize = 32;
/// The limit for calls of the lease: the core has at most one of each kind under way, and few
/// leases to revoke.
const LEASE: usize = 8;

/// Classes of calls. All elections share one lease: calls of the lease never wait behind calls of
/// elections. Calls of candidates never wait behind calls of observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Lease,
    Candidate,
    Observer,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Lease, Self::Candidate, Self::Observer];

    pub(super) const fn most(self) -> usize {
        match self {
            Self::Lease => LEASE,
            Self::Candidate => CANDIDATES,
            Self::Observer => OBSERVERS,
        }
    }
}

/// Whether the call reads keys of others, with their values.
pub(super) fn is_of_observer(op: &Op) -> bool {
    kind(op) == Kind::Observer
}

pub(super) fn kind(op: &Op) -> Kind {
    match op {
        Op::Grant { .. } | Op::Revoke { .. } | Op::KeepAlive { .. } => Kind::Lease,
        Op::Txn(txn) if is_confirmation(txn) => Kind::Lease,
        Op::Txn(Txn { then, .. }) if matches!(then.first(), Some(Act::Move { .. })) => Kind::Lease,
        Op::Txn(Txn { when, .. }) if !when.is_empty() => Kind::Candidate,
        Op::Txn(Txn { then, .. }) if then.iter().all(|act| matches!(act, Act::Read(_))) => {
            Kind::Observer
        }
        Op::Txn(_) | Op::Watch { .. } | Op::Unwatch { .. } => Kind::Candidate,
    }
}

/// Whether the call confirms a renewal, or reads the term of etcd. A confirmation is the only call
/// that deletes a key which does not exist. A read of the term is the only call that reads single
/// keys without a condition: candidates have a condition, and observers read all keys of an
/// election.
fn is_confirmation(txn: &Txn) -> bool {
    let is_single = |act: &Act| matches!(act, Act::Read(Read { keys: Keys::One(_), .. }));
    let Txn { when, then, otherwise } = txn;
    let looks = when.is_empty() && otherwise.is_empty() && then.iter().all(is_single);
    looks || txn.deletes_nothing()
}

#[cfg(test)]
mod tests {
    use tenure_core::etcd::{Compare, LeaseId, Pick};

    use super::*;

    #[test]
    fn request_shows_its_class() {
        let read = |keys| Act::Read(Read { keys, pick: Pick::First, keys_only: false });
        let one = || read(Keys::One("e/1".into()));
        let txn = |when, then| Op::Txn(Txn { when, then, otherwise: vec![] });
        assert_eq!(kind(&txn(vec![], vec![one(), one()])), Kind::Lease);
        assert_eq!(kind(&Op::Revoke { lease: LeaseId(1) }), Kind::Lease);
        let confirms = |revision, deleted: &str| {
            let when = vec![Compare::Created { key: "e/1".into(), revision }];
            let then = vec![Act::Delete { key: deleted.into() }, one()];
            Txn { when, then, otherwise: vec![one(), one()] }
        };
        assert_eq!(kind(&Op::Txn(confirms(0, "e/1"))), Kind::Lease);
        // A leaving candidate's transaction also deletes a key, but must not be repeated.
        assert_eq!(kind(&Op::Txn(confirms(7, "e/1"))), Kind::Candidate);
        assert!(!confirms(0, "e/2").deletes_nothing());
        let there = Compare::Created { key: "e/1".into(), revision: 0 };
        let moved = Act::Move { key: "e/1".into(), lease: LeaseId(1) };
        assert_eq!(kind(&txn(vec![there.clone()], vec![moved])), Kind::Lease);
        // A candidate that looks for its key, a candidate that makes its key, and an observer.
        assert_eq!(kind(&txn(vec![there.clone()], vec![one()])), Kind::Candidate);
        let put = Act::Put { key: "e/1".into(), value: "".into(), lease: LeaseId(1) };
        assert_eq!(kind(&txn(vec![], vec![one(), put])), Kind::Candidate);
        assert_eq!(kind(&txn(vec![], vec![read(Keys::Prefix("e/".into()))])), Kind::Observer);
    }
}
