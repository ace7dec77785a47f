//! Reports of the store to the checks, and faults of the store.

use std::fmt;

use tenure_core::etcd::{Bytes, KeyValue, LeaseId};

/// The value that only operators write.
pub const MEDDLED: &str = "meddled";

/// A change of the store. Only checks see notes, at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Note {
    /// A key was written.
    Put(KeyValue),
    /// A key is gone.
    Gone { key: Bytes, cause: Cause },
    /// A lease lasts at least until this true time.
    Lease {
        lease: LeaseId,
        /// Due end.
        ends: u64,
    },
    /// A lease is over.
    LeaseOver { lease: LeaseId, cause: Cause },
    /// The member that leads etcd with a quorum, if any.
    Leader(Option<usize>),
    /// A backup was restored, with exactly these contents.
    Restored { keys: Vec<KeyValue>, leases: Vec<LeaseId> },
}

/// The cause of a key's or lease's end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A node's request.
    Asked { node: usize },
    /// The lease was not renewed in time, by the clock of etcd's leader.
    Expired,
    /// A former leader revoked a lease that was renewed elsewhere. The former leader had been
    /// deposed while the revocation was pending, or was stuck on its disk (etcd#15247), or was
    /// suspended.
    Late,
    /// An operator.
    Meddled,
}

/// A fault of etcd. Spans are nanoseconds of true time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Trouble {
    /// A member does not reach the others; clients reach it.
    Cut { member: usize, span: u64 },
    /// No member reaches another.
    Split { span: u64 },
    /// A member is down.
    Kill { member: usize, span: u64 },
    /// The leader is stuck on its disk, and answers keep-alives.
    Stick { span: u64 },
    /// The leader's process is suspended.
    Stop { span: u64 },
    /// A member applies entries late.
    Slow { member: usize, span: u64 },
    /// The streams of a member end.
    Break { member: usize },
    /// Another member becomes the leader, as by `etcdctl move-leader`, or the same member again.
    MoveLeader,
    /// The history is compacted up to the last `keep` revisions.
    Compact { keep: u64 },
    /// The quota is used up.
    Full { span: u64 },
    /// A node has no permissions.
    Deny { node: usize, span: u64 },
    /// A stranger writes its own value into the leaders' keys, whenever a key has another value.
    Argue { span: u64 },
    /// A backup is made.
    Backup,
    /// The last backup is restored.
    Restore {
        /// Downtime of etcd.
        span: u64,
    },
    /// An operator deletes the `nth` key.
    DeleteKey { nth: usize },
    /// An operator writes the `nth` key.
    Overwrite { nth: usize },
    /// An operator revokes the `nth` lease.
    RevokeLease { nth: usize },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(kv) => write!(f, "store: put {kv} at {}", kv.modified),
            Self::Gone { key, cause } => write!(f, "store: {key} is gone, {cause}"),
            Self::Lease { lease, ends } => {
                write!(f, "store: lease {lease} until {:.6}", *ends as f64 / 1e9)
            }
            Self::LeaseOver { lease, cause } => write!(f, "store: lease {lease} is over, {cause}"),
            Self::Leader(Some(member)) => write!(f, "store: member {member} leads"),
            Self::Leader(None) => f.write_str("store: no member leads"),
            Self::Restored { keys, leases } => {
                write!(f, "store: restored, {} keys, {} leases", keys.len(), leases.len())
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { node } => write!(f, "node {node} asked for it"),
            Self::Expired => f.write_str("its time was over"),
            Self::Late => f.write_str("a member that had led did not know of its renewal"),
            Self::Meddled => f.write_str("an operator did it"),
        }
    }
}
