//! The types of inputs and effects.

use core::convert::Infallible;
use core::fmt;

use super::command::Command;
use super::event::Event;
use super::key::LeaseId;
use super::message::Message;
pub(super) use crate::contract::emit;

/// The only destination: any server of the cluster to which the driver is connected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Store;

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("etcd")
    }
}

/// The first input of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// The seed of draws and of lease ids: random for each incarnation of a process.
    pub seed: u64,
    /// An existing lease, to be used first. The process takes it over: renews it, and revokes it in
    /// the end.
    pub lease: Option<LeaseId>,
}

/// The types of the inputs and effects of [`Etcd`](super::Etcd). There are no records: etcd
/// remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Store;
    type Address = Store;
    type Message = Message;
    type Record = Infallible;
    type Command = Command;
    type Event = Event;
}

/// An effect for the driver to carry out.
pub type Effect = crate::contract::Effect<Words>;
pub(super) type Out = crate::contract::Effects<Words>;
