//! How many unary calls are under way at once, and which of them wait for which.

use tenure_core::etcd::{Act, Keys, Op, Read, Txn};
use tokio::sync::{Semaphore, SemaphorePermit};

/// For the calls of elections.
const ELECTIONS: usize = 64;
/// For the calls of the lease: the core has one of each kind, and few leases to revoke.
const LEASE: usize = 8;

/// Turns of two kinds. All elections stand on one lease, so its calls never wait behind theirs.
pub(super) struct Turns {
    elections: Semaphore,
    lease: Semaphore,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { elections: Semaphore::new(ELECTIONS), lease: Semaphore::new(LEASE) }
    }

    /// In the order of the requests, until it is dropped.
    pub(super) async fn take(&self, op: &Op) -> Option<SemaphorePermit<'_>> {
        // Never closed.
        self.of(op).0.acquire().await.ok()
    }

    /// How many have the turn for which this one waits.
    pub(super) fn under_way(&self, op: &Op) -> usize {
        let (turns, all) = self.of(op);
        all.saturating_sub(turns.available_permits())
    }

    fn of(&self, op: &Op) -> (&Semaphore, usize) {
        if is_of_lease(op) { (&self.lease, LEASE) } else { (&self.elections, ELECTIONS) }
    }
}

/// Whether it is about the lease, and not about one election.
pub(super) fn is_of_lease(op: &Op) -> bool {
    match op {
        Op::Grant { .. } | Op::Revoke { .. } | Op::KeepAlive { .. } => true,
        Op::Txn(txn) => is_confirmation(txn),
        Op::Watch { .. } | Op::Unwatch { .. } => false,
    }
}

/// Whether it confirms a renewal: only that reads nothing but single keys, without a condition.
/// Candidates have a condition, and observers read all keys of an election.
fn is_confirmation(Txn { when, then, otherwise }: &Txn) -> bool {
    let is_single = |act: &Act| matches!(act, Act::Read(Read { keys: Keys::One(_), .. }));
    when.is_none() && otherwise.is_empty() && then.iter().all(is_single)
}

#[cfg(test)]
mod tests {
    use tenure_core::etcd::{LeaseId, Pick};

    use super::*;

    #[test]
    fn what_is_of_the_lease() {
        let read = |keys| Act::Read(Read { keys, pick: Pick::First });
        let one = || read(Keys::One("e/1".into()));
        let txn = |when, then| Op::Txn(Txn { when, then, otherwise: vec![] });
        assert!(is_of_lease(&txn(None, vec![one(), one()])));
        assert!(is_of_lease(&Op::Revoke { lease: LeaseId(1) }));
        // A candidate that looks for its key, one that makes it, and an observer.
        assert!(!is_of_lease(&txn(Some(("e/1".into(), 0)), vec![one()])));
        let put = Act::Put { key: "e/1".into(), value: "".into(), lease: LeaseId(1) };
        assert!(!is_of_lease(&txn(None, vec![one(), put])));
        assert!(!is_of_lease(&txn(None, vec![read(Keys::Prefix("e/".into()))])));
    }
}
