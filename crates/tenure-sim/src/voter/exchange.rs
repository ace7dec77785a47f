//! Messages of these worlds: requests to a URL, and answers on the connection of the request.

use std::fmt;

use tenure_core::contract;
use tenure_core::voter::{Answer, Ask, Call, Caller, Event, Header, Memory, Start};

pub use crate::world::nodes::Place;

/// Where something goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum To {
    /// To who is called at the URL of this node. A route that reaches several goes by the draw.
    Url(usize, u64),
    /// Back to this node.
    Caller(usize),
}

/// A connection for one request: it does not outlive the process that opened it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line {
    /// The run of the process.
    pub run: u128,
    pub call: Call,
}

/// Half of an exchange.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    /// A request.
    Request(Line, Caller, Ask),
    /// Its answer.
    Answer(Line, Header, Answer),
}

/// Command of an application, or request of an operator, which the node serves on the spot.
pub type Command = tenure_core::Command<Ask>;

/// Types of the messages, commands and events of a node.
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

/// Effects of a node.
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
