//! What the nodes of these worlds say and hear.

use tenure_core::contract;
use tenure_core::etcd::NoRecord;

use super::packet::{Begin, Order, Packet, Place, Report};

/// What nodes say and hear.
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
