//! Messages of these worlds: requests with their member, answers with their place in a stream, and
//! signs of life.

use std::fmt;

use tenure_core::etcd::{Answer, CallId, Command, Event, LeaseId, Request};

use super::store::note::{Note, Trouble};
pub use crate::world::nodes::Place;

/// A message between a process and etcd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Packet {
    /// A request to the connected member.
    Ask { life: u64, member: usize, request: Request },
    /// An answer of etcd.
    Tell {
        life: u64,
        answer: Answer,
        /// Place of the answer in its watch stream, from one.
        nth: Option<u32>,
    },
    /// Open streams of a process, each with the number of its last answer: a stream without this
    /// sign of life is broken.
    Streams { life: u64, open: Vec<(CallId, u32)> },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Begin {
    pub life: u64,
    pub node: usize,
    /// A lease that a program outside gives to the process.
    pub lease: Option<LeaseId>,
}

/// A command to a node of these worlds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    Ours(Command),
    /// A foreign candidate begins to contend.
    Contend,
    /// A fault of etcd.
    Trouble(Trouble),
}

/// An event of a node of these worlds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Report {
    /// An event of our core.
    Ours(Event),
    /// A note of etcd, for checks only.
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
