//! Types of the messages, commands and events of these worlds.

use tenure_core::contract;
use tenure_core::etcd::NoRecord;

use super::packet::{Begin, Order, Packet, Place, Report};

/// Types of the messages, commands and events of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Begin;
    type Sender = Place;
    type Address = Place;
    type Message = Packet;
    type Record = NoRecord;
    type Command = Order;
    type Event = Report;
}

/// Effects of a node.
pub(super) type Out = contract::Effects<Words>;
