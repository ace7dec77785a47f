//! Messages between a participant and etcd: outgoing requests and incoming answers.
//!
//! A driver maps these types to etcd's wire format, field by field.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::key::{Bytes, Keys, LeaseId};

/// A revision of etcd's store, which grows by one with every writing transaction.
pub type Revision = u64;

/// The number of a call or a watch, unique in the life of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CallId(pub u64);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    Request(Request),
    Answer(Answer),
}

/// A call. A watch has answers until it has ended; any other call has one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    pub call: CallId,
    /// The longest wait for the answer; the driver may end the call then. For a watch: the longest
    /// wait until it is open.
    pub within: Duration,
    pub op: Op,
}

/// An operation of etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// `LeaseGrant` with an id that the session has drawn.
    Grant {
        lease: LeaseId,
        /// The requested length, in seconds.
        ttl: u32,
    },
    /// A request on the `LeaseKeepAlive` stream of this lease.
    KeepAlive { lease: LeaseId },
    /// `LeaseRevoke`: all keys of the lease go with it, in one revision.
    Revoke { lease: LeaseId },
    /// `Txn`, always linearizable: the core sends no transaction without operations, and no
    /// serializable one (ruling 2, E1).
    Txn(Txn),
    /// `Watch` on the one stream of the process, with `require-leader`.
    Watch {
        keys: Keys,
        /// The first revision to report.
        from: Revision,
        /// Whether the watch reports only deletions (`NOPUT`).
        deletions: bool,
    },
    /// Ends a watch. No answer follows.
    Unwatch { watch: CallId },
}

/// A transaction: `then` runs if all comparisons hold, else `otherwise`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Txn {
    /// The comparisons; without any, `then` runs.
    pub when: Vec<Compare>,
    pub then: Vec<Act>,
    pub otherwise: Vec<Act>,
}

impl Txn {
    /// Whether the transaction only deletes a key that does not exist: an entry of the log without
    /// a change.
    #[must_use]
    pub fn deletes_nothing(&self) -> bool {
        let Self { when, then, otherwise } = self;
        let [Compare::Created { key, revision: 0 }] = &when[..] else { return false };
        let Some((Act::Delete { key: deleted }, rest)) = then.split_first() else { return false };
        let is_read = |act: &Act| matches!(act, Act::Read(_));
        deleted == key && rest.iter().chain(otherwise).all(is_read)
    }
}

/// A comparison of a transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// `CREATE(key) = revision`; zero means that there is no such key.
    Created { key: Bytes, revision: Revision },
    /// `LEASE(key) = lease`.
    Lease { key: Bytes, lease: LeaseId },
}

/// An operation of a transaction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    Put {
        key: Bytes,
        value: Bytes,
        lease: LeaseId,
    },
    /// Moves the key to another lease and keeps its value (`ignore_value`).
    Move {
        key: Bytes,
        lease: LeaseId,
    },
    /// Writes another value and keeps the lease (`ignore_lease`).
    Proclaim {
        key: Bytes,
        value: Bytes,
    },
    Delete {
        key: Bytes,
    },
    Read(Read),
}

impl Act {
    /// Reads this key, with its value.
    #[must_use]
    pub const fn read(key: Bytes) -> Self {
        Self::Read(Read { keys: Keys::One(key), pick: Pick::First, keys_only: false })
    }
}

/// A `Range` with limit 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Read {
    pub keys: Keys,
    pub pick: Pick,
    /// Whether the read leaves values out (`keys_only`). etcd 3.7 then leaves leases out, too; etcd
    /// 3.4 does not.
    pub keys_only: bool,
}

/// The key that a [`Read`] returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pick {
    /// The key with the lowest create revision: the leader.
    First,
    /// The key with the highest create revision up to this revision: the predecessor.
    LastUpTo(Revision),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Answer {
    pub call: CallId,
    pub header: Option<Header>,
    pub reply: Reply,
}

/// The header of an answer: the answering member, and the state of its store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header {
    pub cluster: u64,
    pub member: u64,
    /// The revision of the member's store. The answer to a keep-alive may show an old revision, but
    /// the answer to a transaction never does.
    pub revision: Revision,
    /// The member's Raft term.
    pub term: u64,
}

/// The content of an answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    Granted {
        /// The granted length in seconds; may exceed the requested one.
        ttl: u32,
    },
    LeaseExists,
    /// An answer to the keep-alive, which does not prove a renewal (E3).
    Alive {
        /// The length in seconds; `None` if there is no such lease.
        ttl: Option<u32>,
    },
    /// The lease was revoked, and its keys are gone.
    Revoked,
    /// No such lease; the answer to a put or to a revocation.
    LeaseGone,
    Txn {
        succeeded: bool,
        /// The keys that the reads found, in order.
        found: Vec<Option<KeyValue>>,
    },
    /// The watch is open, and reports every change from its revision on.
    Watching,
    /// Watched keys have changed. Events of one revision come in one answer.
    Changed(Vec<Change>),
    /// The watch has ended: it began before the oldest revision that etcd still has.
    Compacted {
        revision: Revision,
    },
    /// etcd has refused and carried out nothing, except perhaps for [`Refusal::NoSpace`]. A watch
    /// has ended.
    Refused(Refusal),
    /// The outcome is unknown: no answer in time, a lost connection, or an ambiguous error. A watch
    /// has ended.
    Unknown {
        why: Arc<str>,
    },
}

/// The reason why etcd has refused.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Refusal {
    Denied {
        said: Arc<str>,
    },
    /// etcd accepts neither user and password nor token, even after a new login.
    Unauthenticated {
        said: Arc<str>,
    },
    /// The quota is used up (alarm `NOSPACE`), or the server is overloaded. The grant or put that
    /// crosses the quota gets this answer, although etcd carries it out.
    NoSpace {
        said: Arc<str>,
    },
    /// A transaction has more comparisons or operations than this server allows (`--max-txn-ops`).
    TooManyOperations {
        said: Arc<str>,
    },
    /// Another refusal after which etcd has certainly carried out nothing.
    Other {
        said: Arc<str>,
    },
}

impl Refusal {
    /// Whether the refusal lasts until an operator acts: the user lacks the permission, or cannot
    /// log in.
    #[must_use]
    pub const fn is_permanent(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::Unauthenticated { .. })
    }

    /// The kind for programs: lower-case letters and hyphens.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Denied { .. } => "denied",
            Self::Unauthenticated { .. } => "unauthenticated",
            Self::NoSpace { .. } => "no-space",
            Self::TooManyOperations { .. } => "too-many-operations",
            Self::Other { .. } => "refused",
        }
    }
}

/// A key as etcd stores it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeyValue {
    pub key: Bytes,
    pub value: Bytes,
    /// The create revision, which gives the order of candidates.
    pub created: Revision,
    /// The revision of the last write.
    pub modified: Revision,
    pub lease: Option<LeaseId>,
}

/// An event of a watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    Put(KeyValue),
    /// A write with a value that is too large to be reported.
    TooLarge {
        key: Bytes,
        revision: Revision,
    },
    /// The deletion of the key, alone or with its lease.
    Deleted {
        key: Bytes,
        revision: Revision,
    },
}

impl Change {
    #[must_use]
    pub const fn key(&self) -> &Bytes {
        match self {
            Self::Put(KeyValue { key, .. })
            | Self::TooLarge { key, .. }
            | Self::Deleted { key, .. } => key,
        }
    }

    #[must_use]
    pub const fn revision(&self) -> Revision {
        match self {
            Self::Put(kv) => kv.modified,
            Self::TooLarge { revision, .. } | Self::Deleted { revision, .. } => *revision,
        }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(request) => request.fmt(f),
            Self::Answer(answer) => answer.fmt(f),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.op)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grant { lease, ttl } => write!(f, "grant lease {lease} for {ttl} s"),
            Self::KeepAlive { lease } => write!(f, "keep lease {lease} alive"),
            Self::Revoke { lease } => write!(f, "revoke lease {lease}"),
            Self::Txn(txn) => txn.fmt(f),
            Self::Watch { keys, from, deletions } => {
                write!(f, "watch {keys} from {from}")?;
                if *deletions { f.write_str(" for deletions") } else { Ok(()) }
            }
            Self::Unwatch { watch } => write!(f, "unwatch {watch}"),
        }
    }
}

impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let acts = |acts: &[Act], f: &mut fmt::Formatter<'_>| {
            acts.iter()
                .enumerate()
                .try_for_each(|(n, act)| write!(f, "{}{act}", if n == 0 { "" } else { ", " }))
        };
        for (n, compare) in self.when.iter().enumerate() {
            write!(f, "{} {compare}", if n == 0 { "if" } else { " and" })?;
        }
        if !self.when.is_empty() {
            f.write_str(" then ")?;
        }
        acts(&self.then, f)?;
        if !self.otherwise.is_empty() {
            f.write_str(" else ")?;
            acts(&self.otherwise, f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { key, revision } => write!(f, "create({key}) = {revision}"),
            Self::Lease { key, lease } => write!(f, "lease({key}) = {lease}"),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put { key, value, lease } => write!(f, "put {key} {value:?} lease {lease}"),
            Self::Move { key, lease } => write!(f, "move {key} to lease {lease}"),
            Self::Proclaim { key, value } => write!(f, "proclaim {key} {value:?}"),
            Self::Delete { key } => write!(f, "delete {key}"),
            Self::Read(Read { keys, pick, keys_only }) => {
                f.write_str(if *keys_only { "read key of " } else { "read " })?;
                match pick {
                    Pick::First => write!(f, "{keys}"),
                    Pick::LastUpTo(revision) => {
                        write!(f, "last of {keys} created up to {revision}")
                    }
                }
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.reply)?;
        if let Some(Header { revision, term, .. }) = self.header {
            write!(f, " at {revision} term {term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted { ttl } => write!(f, "granted for {ttl} s"),
            Self::LeaseExists => f.write_str("lease exists"),
            Self::Alive { ttl: Some(ttl) } => write!(f, "alive for {ttl} s"),
            Self::Alive { ttl: None } => f.write_str("not alive"),
            Self::Revoked => f.write_str("revoked"),
            Self::LeaseGone => f.write_str("no such lease"),
            Self::Txn { succeeded, found } => {
                f.write_str(if *succeeded { "so" } else { "not so" })?;
                found.iter().try_for_each(|found| match found {
                    Some(found) => write!(f, ", {found}"),
                    None => f.write_str(", none"),
                })
            }
            Self::Watching => f.write_str("watching"),
            Self::Changed(changes) => changes.iter().enumerate().try_for_each(|(n, change)| {
                write!(f, "{}{change}", if n == 0 { "" } else { ", " })
            }),
            Self::Compacted { revision } => write!(f, "compacted up to {revision}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
            Self::Unknown { why } => write!(f, "outcome unknown: {why}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Denied { said }
        | Self::Unauthenticated { said }
        | Self::NoSpace { said }
        | Self::TooManyOperations { said }
        | Self::Other { said }) = self;
        f.write_str(said)
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} created {}", self.key, self.value, self.created)?;
        match self.lease {
            Some(lease) => write!(f, " lease {lease}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(kv) => write!(f, "put {kv} at {}", kv.modified),
            Self::TooLarge { key, revision } => write!(f, "put {key}, too large, at {revision}"),
            Self::Deleted { key, revision } => write!(f, "deleted {key} at {revision}"),
        }
    }
}
