//! Messages of these worlds: packets of participants, and what clients and servers say of their
//! connections.

use std::fmt;
use std::sync::Arc;

use tenure_core::allcall::{Command, Event, Packet, Start};
use tenure_core::contract;

pub use crate::world::nodes::Place;

/// Message between a client and a server, or between two servers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Frame {
    /// A client opens its connection with this number.
    Hello(u64),
    /// Its server has the subscriptions of this connection.
    Welcome(u64),
    /// A client asks whether its connection is still there.
    Ping(u64),
    /// There is no such connection.
    Gone(u64),
    /// A client publishes.
    Publish(u64, Arc<Packet>),
    /// A server brings what was published to a client.
    Bring(u64, Arc<Packet>),
    /// A server brings it to another server.
    Route(Arc<Packet>),
}

/// Types of the messages, commands and events of a node.
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

/// Effects of a node.
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
