//! The types of inputs and effects.

use core::convert::Infallible;
use core::fmt;

use super::event::Event;
use super::message::Message;
pub(super) use crate::contract::emit;

/// The only sender and the only destination: every participant receives each packet, and its
/// [`Header`](super::Header) names the sender. The kind of a packet decides its subject.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bus;

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bus")
    }
}

/// The first input of a process: random bits, drawn by each process after its last fork.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// Random bits that distinguish this run of the process from earlier ones.
    pub incarnation: u128,
    pub tie: u128,
    /// The seed of all draws, such as the draw of a rank that is not configured.
    pub seed: u64,
}

/// A request of the application. The core ignores a campaign's `priority`, because the
/// [rank](super::Config::rank) decides. The core hands nothing over on request, and an observer
/// asks once per heartbeat, whatever interval it wants.
pub type Command = crate::Command<Infallible>;

/// The types of the inputs and effects of [`Allcall`](super::Allcall). No record has to survive the
/// process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Bus;
    type Address = Bus;
    type Message = Message;
    type Record = Infallible;
    type Command = Command;
    type Event = Event;
}

/// An effect for the driver to carry out.
pub type Effect = crate::contract::Effect<Words>;
pub(super) type Out = crate::contract::Effects<Words>;
