//! Messages of these worlds: requests to a URL, and answers on the connection of the request.

use std::fmt;

use tenure_core::contract;
use tenure_core::voter::{Answer, Ask, Call, Caller, Event, Header, Memory, Start};

pub use crate::world::nodes::Place;

/// The destination of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum To {
    /// The URL of this node. The number is a draw, which decides between several nodes behind one
    /// route.
    Url(usize, u64),
    /// The calling node.
    Caller(usize),
}

/// A connection for one request. The connection ends with the process that opened it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line {
    pub run: u128,
    pub call: Call,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    Request(Line, Caller, Ask),
    Answer(Line, Header, Answer),
}

/// A command of an application; or a request of an operator, which the node handles at once.
pub type Command = tenure_core::Command<Ask>;

/// Types of a node's messages, commands and events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {}

impl contract::Words for Words {
    type Start = Start;
    type Sender = Place;
    type Address = To;
    type Message = Half;
    type Record = Memory;
    type Command = Command;
    type Event = Event;
}

pub(super) type Out = contract::Effects<Words>;

impl fmt::Display for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Url(node, _) | Self::Caller(node)) = self;
        Place(*node).fmt(f)
    }
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(line, caller, ask) => write!(f, "#{} {caller}: {ask}", line.call.0),
            Self::Answer(line, header, answer) => {
                write!(f, "#{} {}: {answer}", line.call.0, header.sender.id)
            }
        }
    }
}
