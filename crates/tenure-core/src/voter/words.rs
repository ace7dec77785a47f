//! The types of inputs and effects.

use core::convert::Infallible;
use core::fmt;

use super::event::Event;
use super::identity::VoterUrl;
use super::memory::Memory;
use super::message::Message;
pub(super) use crate::contract::emit;

/// The other end of an HTTP exchange.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Peer {
    /// The voter at this URL: requests go to it, answers come from it.
    At(VoterUrl),
    /// The caller of a request, by the driver's number: answers go to it.
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

/// The first input of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// 128 random bits, drawn by each process after its last fork.
    pub incarnation: u128,
    /// The seed of draws and votes, random for each process.
    pub seed: u64,
    /// The content of the state directory, or [`Memory::begin`] for a new one.
    pub memory: Memory,
}

/// A request of the application. The core hands nothing over on request, and ignores a campaign's
/// `priority`: a draw decides.
pub type Command = crate::Command<Infallible>;

/// The types of the inputs and effects of [`Voter`](super::Voter).
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

/// An effect for the driver to carry out.
pub type Effect = crate::contract::Effect<Words>;
pub(super) type Out = crate::contract::Effects<Words>;
