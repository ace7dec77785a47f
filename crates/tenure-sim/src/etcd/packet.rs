//! Messages of these worlds: a request with its member, an answer with its place in its stream, and
//! a sign of life.

use std::fmt;

use tenure_core::etcd::{Answer, CallId, Command, Event, LeaseId, Request};

use super::store::note::{Note, Trouble};
pub use crate::world::nodes::Place;

/// Message between a process and etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// A process asks the member it is connected to.
    Ask { life: u64, member: usize, request: Request },
    /// etcd answers.
    Tell {
        life: u64,
        answer: Answer,
        /// Place of the answer in its stream, from one; only of watches.
        nth: Option<u32>,
    },
    /// The streams of a process that are open, with the number of their last answer: a connection
    /// that says nothing is a broken one.
    Streams { life: u64, open: Vec<(CallId, u32)> },
}

/// With what a life begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Begin {
    pub life: u64,
    pub node: usize,
    /// A lease that it is handed.
    pub lease: Option<LeaseId>,
}

/// Command to a node of these worlds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// An application of ours.
    Ours(Command),
    /// A candidate that is not ours begins to contend.
    Contend,
    /// Something goes wrong in etcd.
    Trouble(Trouble),
}

/// Event of a node of these worlds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Report {
    /// By a core of ours.
    Ours(Event),
    /// By etcd, to the judges only.
    Store(Note),
}

impl From<Command> for Order {
    fn from(command: Command) -> Self {
        Self::Ours(command)
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask { member, request, .. } => write!(f, "member {member}: {request}"),
            Self::Tell { answer, nth: Some(nth), .. } => write!(f, "{answer} ({nth})"),
            Self::Tell { answer, nth: None, .. } => answer.fmt(f),
            Self::Streams { open, .. } => {
                f.write_str("streams")?;
                open.iter().try_for_each(|(call, last)| write!(f, " {call} ({last})"))
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(command) => command.fmt(f),
            Self::Contend => f.write_str("contend"),
            Self::Trouble(trouble) => write!(f, "{trouble:?}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours(event) => event.fmt(f),
            Self::Store(note) => note.fmt(f),
        }
    }
}
