//! The contract between a core and its driver.
//!
//! A **core** is a state machine for one protocol. A **driver** feeds it from the outside
//! system and carries out what it answers. The driver's duties, in the order of the loop:
//!
//! 1. Hand in [`Input::Start`] first, once, with what the state directory held.
//! 2. Wait for a datagram, a command or the core's [`deadline`](Protocol::deadline).
//! 3. *After* that, read the clocks once: [`Now::sample`]. Time since boot never goes back from
//!    call to call. Reading it before waiting would let a core act on a time that has passed.
//! 4. Call [`handle`](Protocol::handle) with everything that came in that datagram, with the
//!    same `now`.
//! 5. Carry out the effects strictly in their order. If a [`Persist`](Effect::Persist) fails,
//!    drop all effects after it that came out of the same call, hand in
//!    [`Input::Failed`] and go on. [`Flush`](Effect::Flush) is durable later: carry
//!    flushes out one after the other, and hand in [`Input::Flushed`] or [`Input::Failed`] of each
//!    in that order.
//! 6. [`Raise`](Effect::Raise) and [`Lower`](Effect::Lower) have happened before the effect after
//!    them is carried out: no handle says "I lead" when a release is on its way.
//!
//! The promises of a core in turn, checked for every core by one suite (`contract` of
//! `tenure-testkit`):
//!
//! - The same inputs give the same effects, byte for byte.
//! - A [`Timeout`](Input::Timeout) that comes early does nothing; one that comes late does all
//!   that was due.
//! - A duplicate of a message changes no standing.
//! - Memory is bounded by the configuration, for any input.
//! - No message that decodes can make it panic.

use alloc::vec::Vec;
use core::fmt::{self, Debug, Display};
use core::hash::Hash;

use crate::clocks::Now;
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::standing::Standing;
use crate::time::{Deadline, Time};

/// The types of the inputs and effects of a protocol. They are apart from the machine, so that each
/// part of a machine can name them without naming the whole.
pub trait Words: Clone + Eq + Hash + Debug {
    /// Everything a new process begins with: identity, what was on disk, a seed.
    type Start: Clone + Eq + Hash + Debug + Send;
    /// The sender of a message, as far as the transport and the message itself show.
    type Sender: Clone + Eq + Hash + Debug + Display + Send;
    /// Where a message goes.
    type Address: Clone + Eq + Hash + Debug + Display + Send;
    /// A message between participants, or to and from a store.
    type Message: Clone + Eq + Hash + Debug + Display + Send;
    /// A record that must survive the process.
    type Record: Clone + Eq + Hash + Debug + Display + Send;
    /// A request of an application.
    type Command: Clone + Eq + Hash + Debug + Display + Send;
    /// An event for an application or an operator.
    type Event: Clone + Eq + Hash + Debug + Display + Send;
}

/// A leader election protocol as a pure state machine.
pub trait Protocol: Clone + Eq + Hash + Debug {
    /// The types of inputs and effects.
    type Words: Words;
    /// Which clocks it is given.
    type Now: Now;

    /// The only door through which anything changes. The call cannot fail: stale, duplicate, late
    /// and hostile input is normal, and is answered by an event that the driver counts.
    fn handle(&mut self, now: Self::Now, input: Input<Self::Words>, out: &mut Effects<Self::Words>);

    /// When [`Input::Timeout`] is due next. Ask again after every `handle`.
    fn deadline(&self) -> Option<Deadline>;

    /// When that is, without what it is for: always the instant of [`deadline`](Self::deadline).
    /// Drivers ask before each thing that they handle.
    fn due(&self) -> Option<Time> {
        self.deadline().map(|deadline| deadline.at)
    }

    /// Whether [`Input::Timeout`] at `now` comes before the deadline, and so does nothing.
    fn is_early(&self, now: Time) -> bool {
        self.due().is_none_or(|due| now < due)
    }

    /// Whether this process leads `election` at `now`. Right even after a long pause, because
    /// it compares clocks at the moment of the question.
    fn standing(&self, election: &ElectionName, now: Time) -> Standing;
}

/// An input of a core.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<W: Words> {
    /// The process has started. Comes first and once.
    Start(W::Start),
    /// A message arrived.
    Message {
        /// The sender of the message.
        from: W::Sender,
        /// The message.
        message: W::Message,
    },
    /// The deadline has passed, or not: coming early does no harm.
    Timeout,
    /// The application asks for something.
    Command {
        /// The election it is about.
        election: ElectionName,
        /// The request.
        command: W::Command,
    },
    /// The record of this flush is durable; or, with [`Ticket::NONE`], what was lost according to
    /// a [`Failed`](Self::Failed) with it, and no flush since, is found again.
    Flushed(Ticket),
    /// The record of this flush, or the last persist when there is no ticket, was not written; or,
    /// with [`Ticket::NONE`], nothing that is written now would be found again.
    Failed(Option<Ticket>),
}

/// An effect that a driver carries out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<W: Words> {
    /// The claim to lead `election` holds until `until` from now on.
    Raise {
        /// The election.
        election: ElectionName,
        /// The first instant at which the claim does not hold; [`Time::MAX`] if it has no end.
        until: Time,
        /// The fence of the leadership, where the protocol can order leaders.
        fence: Option<Fence>,
    },
    /// There is no claim to lead `election` any more. Comes before anything that lets another
    /// process lead it.
    Lower {
        /// The election.
        election: ElectionName,
    },
    /// Write this so that it survives the process; nothing after it may become visible before.
    Persist(W::Record),
    /// Write this so that it survives the machine, without holding up what follows.
    Flush(Ticket, W::Record),
    /// Send a message, which may be lost, delayed, repeated and reordered.
    Send {
        /// The addressee.
        to: W::Address,
        /// The message.
        message: W::Message,
    },
    /// Tell the application, or count.
    Emit {
        /// The election it is about, when it is about one.
        election: Option<ElectionName>,
        /// The event.
        event: W::Event,
    },
}

/// Names one [`Effect::Flush`] until it is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The ticket of no flush. [`Input::Failed`] with it says that records would be lost, found
    /// while nothing was being written; [`Input::Flushed`] says that this is over.
    pub const NONE: Self = Self(0);
}

/// The effects of one call, in the order in which they are to be carried out.
pub type Effects<W> = Vec<Effect<W>>;

impl<W: Words> Display for Input<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(start) => write!(f, "start {start:?}"),
            Self::Message { from, message } => write!(f, "from {from}: {message}"),
            Self::Timeout => f.write_str("timeout"),
            Self::Command { election, command } => write!(f, "{election}: {command}"),
            Self::Flushed(Ticket(ticket)) => write!(f, "flushed {ticket}"),
            Self::Failed(Some(Ticket(ticket))) => write!(f, "not flushed {ticket}"),
            Self::Failed(None) => f.write_str("not written"),
        }
    }
}

impl<W: Words> Display for Effect<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Raise { election, until, fence: Some(fence) } => {
                write!(f, "claim {election} until {until} fence {fence}")
            }
            Self::Raise { election, until, fence: None } => {
                write!(f, "claim {election} until {until}")
            }
            Self::Lower { election } => write!(f, "no claim {election}"),
            Self::Persist(record) => write!(f, "persist {record}"),
            Self::Flush(Ticket(ticket), record) => write!(f, "flush {ticket} {record}"),
            Self::Send { to, message } => write!(f, "to {to}: {message}"),
            Self::Emit { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Emit { election: None, event } => write!(f, "{event}"),
        }
    }
}
