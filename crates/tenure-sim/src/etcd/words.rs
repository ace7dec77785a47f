//! Types of the messages, commands and events of these worlds.

use std::convert::Infallible;

use tenure_core::contract;

use super::packet::{Begin, Order, Packet, Place, Report};

/// Types of a node's messages, commands and events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Begin;
    type Sender = Place;
    type Address = Place;
    type Message = Packet;
    type Record = Infallible;
    type Command = Order;
    type Event = Report;
}

pub(super) type Out = contract::Effects<Words>;
