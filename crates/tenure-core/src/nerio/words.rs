//! Inputs and effects of a node of a Nerio cluster, apart from its state machine.

use core::fmt;
use core::net::SocketAddr;

use super::command::Command;
use super::epoch::EpochId;
use super::event::Event;
use super::identity::Inc;
use super::memory::Memory;
use super::message::{Message, Sender};
use super::record::Record;
use crate::name::{ElectionName, NodeName};

/// The start of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// Random incarnation of the process, drawn after any fork.
    pub inc: Inc,
    /// Seed of pseudo-random draws, drawn anew for each incarnation.
    pub seed: u64,
    pub memory: Option<Memory>,
}

/// The destination of a message. Messages to one destination may share a datagram.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct To {
    /// Epoch for which the message is meant, named in its envelope. A node's grantor and its
    /// candidates may be in different epochs.
    pub epoch: EpochId,
    /// [Number](super::Membership::number) of the only node that may handle the message; 0 is any.
    pub number: u8,
    pub recipient: Recipient,
}

/// The place to which the driver sends a message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Recipient {
    /// The member with this name, wherever the driver reaches it now.
    Member(NodeName),
    /// The source of a message, or an address from a report.
    Address(SocketAddr),
}

impl To {
    /// The node with this name, whatever its place in the epoch is.
    pub(super) fn free(epoch: EpochId, name: NodeName) -> Self {
        Self { epoch, number: 0, recipient: Recipient::Member(name) }
    }

    /// Any node at `address`.
    #[must_use]
    pub fn at(epoch: EpochId, address: SocketAddr) -> Self {
        Self { epoch, number: 0, recipient: address.into() }
    }
}

/// An answer carries the epoch of its question.
impl From<&Sender> for To {
    fn from(sender: &Sender) -> Self {
        Self::at(sender.epoch, sender.address)
    }
}

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.recipient.fmt(f)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, "member {name}"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl From<SocketAddr> for Recipient {
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
