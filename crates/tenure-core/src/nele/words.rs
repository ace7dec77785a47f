//! The types of inputs and effects.

use core::convert::Infallible;
use core::fmt;

use super::command::Command;
use super::event::Event;
use super::message::{Message, TopicId};
pub(super) use crate::contract::emit;

/// The only sender and the only destination: the ledger with its coordinator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ledger;

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ledger")
    }
}

/// The first input of a process, once its topic has been created or checked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// 128 random bits, drawn by each process after its last fork.
    pub incarnation: u128,
    pub seed: u64,
    /// The topic that the driver has found, which must stay the same (ruling 10).
    pub topic: TopicId,
}

/// The types of the inputs and effects of [`Nele`](super::Nele). No record has to survive the
/// process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Ledger;
    type Address = Ledger;
    type Message = Message;
    type Record = Infallible;
    type Command = Command;
    type Event = Event;
}

/// An effect for the driver to carry out.
pub type Effect = crate::contract::Effect<Words>;
pub(super) type Out = crate::contract::Effects<Words>;
