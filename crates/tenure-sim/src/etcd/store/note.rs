//! Reports of the store to the judges, and faults of the store.

use std::fmt;

use tenure_core::etcd::{Bytes, KeyValue, LeaseId};

/// The value of a key that an operator has written, and nobody else.
pub const MEDDLED: &str = "meddled";

/// Something that has become true in the store. Judges see it at once; nobody else does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Note {
    /// A key was written.
    Put(KeyValue),
    /// A key is gone.
    Gone { key: Bytes, cause: Cause },
    /// A lease lasts at least until then, in true time.
    Lease {
        lease: LeaseId,
        /// When its end is due.
        ends: u64,
    },
    /// A lease is over.
    LeaseOver { lease: LeaseId, cause: Cause },
    /// A member leads etcd itself with a quorum, or nobody does.
    Leader(Option<usize>),
    /// A backup was restored: this is all there is.
    Restored { keys: Vec<KeyValue>, leases: Vec<LeaseId> },
}

/// Why a key or a lease is gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A node asked for it.
    Asked { node: usize },
    /// The lease was not renewed in time, by the clock of etcd's leader.
    Expired,
    /// A member that led before revoked what was renewed elsewhere: it had the revocation in hand
    /// when it was deposed, or was stuck on its disk (etcd#15247), or suspended.
    Late,
    /// An operator did it.
    Meddled,
}

/// Something that goes wrong in etcd. Spans are nanoseconds of true time.
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
    /// A member applies late what the others have.
    Slow { member: usize, span: u64 },
    /// The streams of a member end.
    Break { member: usize },
    /// Another member is made the leader, as `etcdctl move-leader` does, or the same once more.
    MoveLeader,
    /// The history is forgotten up to now, or almost.
    Compact {
        /// How many revisions are kept.
        keep: u64,
    },
    /// The quota is used up.
    Full { span: u64 },
    /// A node may do nothing.
    Deny { node: usize, span: u64 },
    /// A stranger writes its own value into the leaders' keys, whenever there is another value.
    Argue { span: u64 },
    /// A backup is made.
    Backup,
    /// The last backup is restored.
    Restore {
        /// For how long etcd is down.
        span: u64,
    },
    /// An operator deletes a key.
    DeleteKey {
        /// The how-manieth.
        nth: usize,
    },
    /// An operator writes a key.
    Overwrite {
        /// The how-manieth.
        nth: usize,
    },
    /// An operator revokes a lease.
    RevokeLease {
        /// The how-manieth.
        nth: usize,
    },
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
