//! Inputs and effects of a node of a Nerio cluster, apart from the machine.

use core::fmt;
use core::net::SocketAddr;

use super::command::Command;
use super::event::Event;
use super::identity::Inc;
use super::memory::Memory;
use super::message::{Message, Sender};
use super::record::Record;
use crate::name::{ElectionName, NodeName};

/// The begin of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// Random incarnation of the process, drawn after any fork.
    pub inc: Inc,
    /// Seed of draws, random for each incarnation.
    pub seed: u64,
    pub memory: Option<Memory>,
}

/// The destination of a message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum To {
    /// The member with this name, wherever the driver reaches it now. No other member may handle
    /// the message.
    Member(NodeName),
    /// The source of a message, or an address from a report.
    Address(SocketAddr),
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, "member {name}"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl From<SocketAddr> for To {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// The types of Nerio's inputs and effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Sender;
    type Address = To;
    type Message = Message;
    type Record = Record;
    type Command = Command;
    type Event = Event;
}

/// An effect of a node.
pub type Effect = crate::contract::Effect<Words>;
/// Effects in the order in which the driver carries them out.
pub(super) type Out = crate::contract::Effects<Words>;

pub(super) fn send(out: &mut Out, to: impl Into<To>, message: impl Into<Message>) {
    out.push(Effect::Send { to: to.into(), message: message.into() });
}

pub(super) fn emit(out: &mut Out, election: Option<ElectionName>, event: impl Into<Event>) {
    out.push(Effect::Emit { election, event: event.into() });
}
