//! The types of inputs and effects.

use core::convert::Infallible;
use core::fmt;

use super::event::Event;
use super::message::Message;
use crate::name::ElectionName;

/// The only addressee and the only sender: all hear everything, and the [`Header`](super::Header)
/// names the participant that speaks. The kind of packet decides on which subject it is published.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bus;

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bus")
    }
}

/// The first input of a process: random bits, drawn anew by each process, after any fork.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// Tells this run of the process from others of the same name.
    pub incarnation: u128,
    pub tie: u128,
    /// For draws, the rank among them if none is configured.
    pub seed: u64,
}

/// A request of the application. A campaign's `priority` is not looked at (the
/// [rank](super::Config::rank) decides), nothing is handed over on request, and how often an
/// observer wants to ask is not looked at: it asks once a heartbeat.
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
/// Effects in the order in which they are to be carried out.
pub(super) type Out = crate::contract::Effects<Words>;

/// Reports an event to the application.
pub(super) fn emit(election: Option<&ElectionName>, event: impl Into<Event>, out: &mut Out) {
    out.push(Effect::Emit { election: election.cloned(), event: event.into() });
}
