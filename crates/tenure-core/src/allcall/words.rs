//! What a participant says to the bus and to its application, and hears, apart from the machine.

use core::convert::Infallible;
use core::fmt;

use super::event::Event;
use super::message::Message;
use crate::name::ElectionName;

/// The only addressee and the only sender there is: everybody hears everything, and who speaks is
/// in the [`Header`](super::Header). The kind of packet decides on which subject it is published.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bus;

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bus")
    }
}

/// With what a process begins: random bits, drawn anew by each process, after any fork.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// What tells this run of the process from others of the same name.
    pub incarnation: u128,
    /// The tie-break between equal ranks.
    pub tie: u128,
    /// For draws, the rank among them if none is configured.
    pub seed: u64,
}

/// What an application may ask. A campaign's `priority` is not looked at (the
/// [rank](super::Config::rank) decides), nothing is handed over on request, and how often an
/// observer wants to ask is not looked at: it asks once a heartbeat.
pub type Command = crate::Command<Infallible>;

/// The types of its inputs and effects. Nothing has to survive the process.
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

/// What a driver is asked to do.
pub type Effect = crate::contract::Effect<Words>;
/// Effects in the order in which they are to be carried out.
pub(super) type Out = crate::contract::Effects<Words>;

/// Tells the application.
pub(super) fn emit(election: Option<&ElectionName>, event: impl Into<Event>, out: &mut Out) {
    out.push(Effect::Emit { election: election.cloned(), event: event.into() });
}
