//! The types of inputs and effects.

use core::fmt;

use super::command::Command;
use super::event::Event;
use super::key::LeaseId;
use super::message::Message;
use crate::name::ElectionName;

/// The only destination: any server of the cluster to which the driver is connected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Store;

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("etcd")
    }
}

/// The type of records, of which there are none: etcd keeps all state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NoRecord {}

impl fmt::Display for NoRecord {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
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

/// The types of the inputs and effects of [`Etcd`](super::Etcd).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Store;
    type Address = Store;
    type Message = Message;
    type Record = NoRecord;
    type Command = Command;
    type Event = Event;
}

/// An effect for the driver to carry out.
pub type Effect = crate::contract::Effect<Words>;
pub(super) type Out = crate::contract::Effects<Words>;

pub(super) fn emit(election: Option<&ElectionName>, event: impl Into<Event>, out: &mut Out) {
    out.push(Effect::Emit { election: election.cloned(), event: event.into() });
}
