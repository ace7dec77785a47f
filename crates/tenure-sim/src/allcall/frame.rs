//! Messages of these worlds: packets of participants, and connection messages of clients and
//! servers.

use std::fmt;
use std::sync::Arc;

use tenure_core::allcall::{Command, Event, Packet, Start};
use tenure_core::contract;

pub use crate::world::nodes::Place;

/// A message between a client and a server, or between two servers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// A client opens its connection with this number.
    Hello(u64),
    /// The server has subscribed this connection.
    Welcome(u64),
    /// A client asks whether its connection still exists.
    Ping(u64),
    /// The connection does not exist.
    Gone(u64),
    /// A client publishes.
    Publish(u64, Arc<Packet>),
    /// A server delivers a packet to a client.
    Bring(u64, Arc<Packet>),
    /// A server forwards a packet to another server.
    Route(Arc<Packet>),
}

/// Types of a node's messages, commands and events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Start;
    type Sender = Place;
    type Address = Place;
    type Message = Frame;
    type Record = std::convert::Infallible;
    type Command = Command;
    type Event = Event;
}

pub(super) type Out = contract::Effects<Words>;

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello(number) => write!(f, "connection {number}"),
            Self::Welcome(number) => write!(f, "connection {number} is there"),
            Self::Ping(number) => write!(f, "whether connection {number} is there"),
            Self::Gone(number) => write!(f, "connection {number} is gone"),
            Self::Publish(_, packet) => write!(f, "publish: {packet}"),
            Self::Bring(_, packet) | Self::Route(packet) => packet.fmt(f),
        }
    }
}
