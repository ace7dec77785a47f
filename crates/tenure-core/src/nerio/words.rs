//! What a node of a Nerio cluster says and hears, apart from the machine.

use core::fmt;
use core::net::SocketAddr;

use super::command::Command;
use super::event::Event;
use super::identity::Inc;
use super::memory::Memory;
use super::message::{Message, Sender};
use super::record::Record;
use crate::name::ElectionName;

/// With what a node begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// This incarnation of the process: random, drawn after any fork.
    pub inc: Inc,
    /// For draws: random for each incarnation.
    pub seed: u64,
    /// What the grantor of this node remembers; `None` when the node is no grantor.
    pub memory: Option<Memory>,
}

/// Where a message goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum To {
    /// To the member at this position of the list, wherever it is reached now: the driver knows.
    /// What is meant for one member must not be handled by another.
    Member(usize),
    /// To where a message came from, or to an address that somebody was told.
    Address(SocketAddr),
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(position) => write!(f, "member {position}"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl From<SocketAddr> for To {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// The types of its inputs and effects.
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

/// What a driver is asked to do.
pub type Effect = crate::contract::Effect<Words>;
/// Effects in the order in which they are to be carried out.
pub(super) type Out = crate::contract::Effects<Words>;

/// Sends a message, to a member or to an address.
pub(super) fn send(out: &mut Out, to: impl Into<To>, message: impl Into<Message>) {
    out.push(Effect::Send { to: to.into(), message: message.into() });
}

/// Tells the application, or an operator.
pub(super) fn emit(out: &mut Out, election: Option<ElectionName>, event: impl Into<Event>) {
    out.push(Effect::Emit { election, event: event.into() });
}
