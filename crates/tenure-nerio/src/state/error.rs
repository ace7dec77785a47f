//! Errors of the memory of a grantor, and their remedies.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tenure::state::{self, Damage, StateError};
use tenure_core::nerio::{Boot, DocumentError, Instance};
use tenure_core::{ClusterName, NodeName};

/// The reason why the memory of a grantor was not opened. The memory is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(
        "the clock of this machine is at least {seconds} s behind, and a new state directory takes \
         its age from this clock; set the clock (chrony, systemd-timesyncd), then start again"
    )]
    ClockBehind { seconds: u64 },
    #[error("no random numbers for a new state directory: {0}")]
    Random(io::Error),
    #[error(
        "state directory {path} is not new: it belongs to node {node} in cluster {cluster}, \
         started {starts} times (memory {instance}); start without --new"
    )]
    NotNew {
        path: PathBuf,
        node: NodeName,
        cluster: ClusterName,
        instance: Instance,
        /// Number of starts of this memory.
        starts: Boot,
    },
    #[error(
        "state directory {path} is not new: it holds {found:?}, but its identity file is lost; \
         start without --new, so that the fences are read from the other grantors"
    )]
    Remains { path: PathBuf, found: String },
    #[error(
        "state directory {path} belongs to node {found}, and this is node {expected}; each node \
         needs its own directory"
    )]
    OtherNode { path: PathBuf, found: NodeName, expected: NodeName },
    #[error(
        "state directory {path} belongs to node {node} of cluster {found}, and this is cluster \
         {expected}; each cluster needs its own directory"
    )]
    OtherCluster { path: PathBuf, node: NodeName, found: ClusterName, expected: ClusterName },
    #[error(
        "the members in state directory {path} do not fit the settings of this node: {why}; start \
         the node with the settings of its cluster"
    )]
    OtherDocument { path: PathBuf, why: DocumentError },
}

/// The reason why a record was not written. The record before it is still valid and readable. A
/// later write may succeed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    State(#[from] state::WriteError),
    #[error(
        "{path} has no room for another election: it holds {held} elections; let some of them end \
         first"
    )]
    Full { path: PathBuf, held: usize },
    #[error("this record is a grant, and grants are never flushed: call StateDir::write")]
    NotFlushed,
    #[error("there is no thread to write with: restart this node")]
    NoThread,
}

/// The reason why a grant table of this boot is not used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tear {
    Head(Damage),
    /// The file does not have the length of a table.
    Length {
        bytes: u64,
    },
    /// A pair of slots holds bytes that no interrupted write leaves behind.
    Pair {
        /// Number of the pair, from 0.
        pair: u32,
    },
    /// Several slots are torn. A process that dies in a write tears only one slot.
    Slots {
        torn: u32,
    },
    Twice {
        /// Number of the second entry, from 0.
        pair: u32,
    },
}

impl fmt::Display for Tear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(damage) => write!(f, "the head of the grant table is damaged: {damage}"),
            Self::Length { bytes } => write!(f, "the grant table has a length of {bytes} bytes"),
            Self::Pair { pair } => write!(f, "pair {pair} of the grant table is damaged"),
            Self::Slots { torn } => write!(f, "{torn} slots of the grant table are torn"),
            Self::Twice { pair } => {
                write!(f, "pair {pair} of the grant table repeats an election")
            }
        }
    }
}
