//! What a voter says and hears, apart from the machine.

use core::convert::Infallible;
use core::fmt;

use super::event::Event;
use super::identity::VoterUrl;
use super::memory::Memory;
use super::message::Message;
use crate::name::ElectionName;

/// The other end of an HTTP exchange.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Peer {
    /// The voter that is called at this URL: requests go there, and their answers come from there.
    At(VoterUrl),
    /// Whoever made the request with this number of the driver's: answers go there.
    Caller(u64),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(url) => url.fmt(f),
            Self::Caller(number) => write!(f, "caller {number}"),
        }
    }
}

/// With what a process begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// 128 random bits, drawn by each process, after any fork.
    pub incarnation: u128,
    /// For draws, votes among them: random for each process.
    pub seed: u64,
    /// What the state directory holds, or [`Memory::begin`].
    pub memory: Memory,
}

/// What an application may ask. Nothing is handed over on request, and a campaign's `priority` is
/// not looked at: a draw decides.
pub type Command = crate::Command<Infallible>;

/// The types of its inputs and effects.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl crate::contract::Words for Words {
    type Start = Start;
    type Sender = Peer;
    type Address = Peer;
    type Message = Message;
    type Record = Memory;
    type Command = Command;
    type Event = Event;
}

/// What a driver is asked to do.
pub type Effect = crate::contract::Effect<Words>;
/// Effects in the order in which they are to be carried out.
pub(super) type Out = crate::contract::Effects<Words>;

/// Tells the application, or an operator.
pub(super) fn emit(election: Option<&ElectionName>, event: impl Into<Event>, out: &mut Out) {
    out.push(Effect::Emit { election: election.cloned(), event: event.into() });
}
