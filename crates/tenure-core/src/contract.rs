//! The contract between a core and its driver.
//!
//! A **core** is a state machine for one protocol. A **driver** feeds it from the outside system
//! and carries out its effects. The driver's duties, in the order of the loop:
//!
//! 1. Hand in [`Input::Start`] first, once, with the contents of the state directory.
//! 2. Wait for a datagram, a command or the core's [`deadline`](Protocol::deadline).
//! 3. *After* the wait, read the clocks once: [`Now::sample`]. A time read before the wait is too
//!    early. Time since boot never goes back from call to call.
//! 4. Call [`handle`](Protocol::handle) with each input that the wait has brought, always with this
//!    `now`.
//! 5. Carry out the effects strictly in their order. If a [`Persist`](Effect::Persist) fails, drop
//!    the later effects of the same call and hand in [`Input::Failed`]. A
//!    [`Flush`](Effect::Flush) becomes durable later: carry out flushes one after the other, and
//!    hand in [`Input::Flushed`] or [`Input::Failed`] for each, in that order.
//! 6. Complete [`Bound`](Effect::Bound), [`Raise`](Effect::Raise) and [`Lower`](Effect::Lower)
//!    before the next effect: no handle says "I lead" once a release is on its way.
//!
//! The promises of a core, checked for every core by one suite (`contract` of `tenure-testkit`):
//!
//! - The same inputs give the same effects, byte for byte.
//! - A [`Timeout`](Input::Timeout) before the deadline does nothing; a late timeout does all that
//!   was due.
//! - A duplicate of a message changes no standing.
//! - Memory is bounded by the configuration, for any input.
//! - No message that decodes can make a core panic.

use alloc::vec::Vec;
use core::fmt::{self, Debug, Display};
use core::hash::Hash;

use crate::clocks::Now;
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::standing::Standing;
use crate::time::{Deadline, Time, WallTime};

/// The types of the inputs and effects of a protocol. They form a trait of their own, so that each
/// part of a state machine can name them without naming the state machine.
pub trait Words: Clone + Eq + Hash + Debug {
    /// The first input of a process: identity, contents of its disk, a seed.
    type Start: Clone + Eq + Hash + Debug + Send;
    /// The sender of a message, as the transport and the message show.
    type Sender: Clone + Eq + Hash + Debug + Display + Send;
    /// The destination of a message.
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
    /// The clock samples that the core takes.
    type Now: Now;

    /// Handles an input, the only way in which state changes. The call cannot fail: stale,
    /// duplicate, late and hostile inputs are normal, and each causes an event that the driver
    /// counts.
    fn handle(&mut self, now: Self::Now, input: Input<Self::Words>, out: &mut Effects<Self::Words>);

    /// The next deadline of [`Input::Timeout`]. Drivers ask again after every `handle`.
    fn deadline(&self) -> Option<Deadline>;

    /// The instant of [`deadline`](Self::deadline), without its purpose. Drivers ask before each
    /// input.
    fn due(&self) -> Option<Time> {
        self.deadline().map(|deadline| deadline.at)
    }

    /// Whether [`Input::Timeout`] at `now` comes before the deadline and has no effect.
    fn is_early(&self, now: Time) -> bool {
        self.due().is_none_or(|due| now < due)
    }

    /// Whether this process leads `election` at `now`. The answer is right even after a long pause,
    /// because the core compares clocks at the moment of the question.
    fn standing(&self, election: &ElectionName, now: Time) -> Standing;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<W: Words> {
    /// The process has started: the first input, handed in once.
    Start(W::Start),
    Message {
        from: W::Sender,
        message: W::Message,
    },
    /// The deadline has passed. An early timeout does no harm.
    Timeout,
    Command {
        election: ElectionName,
        command: W::Command,
    },
    /// The record of this flush is durable. [`Ticket::NONE`] reports that the state directory keeps
    /// records again, after a [`Failed`](Self::Failed) with that ticket.
    Flushed(Ticket),
    /// The record of this flush was not written; without a ticket, the record of the last persist.
    /// [`Ticket::NONE`] reports that the state directory would lose the next record.
    Failed(Option<Ticket>),
}

/// An effect that a driver carries out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Effect<W: Words> {
    /// From now on the claim to lead `election` holds until `until`.
    Raise {
        election: ElectionName,
        /// The first instant at which the claim does not hold; [`Time::MAX`] for a claim without an
        /// end.
        until: Time,
        /// Fence of the leadership, where the protocol orders leaders.
        fence: Option<Fence>,
    },
    /// The claim to lead `election` also ends at this wall time: the claim holds only while neither
    /// clock has reached its end. Handles read both clocks. A later bound moves this end later.
    /// Only a core that compares wall clocks emits this effect, before each [`Raise`](Self::Raise)
    /// of a claim that it bounds.
    Bound { election: ElectionName, wall: WallTime },
    /// The claim to lead `election` is over. This effect comes before every effect that lets
    /// another process lead.
    Lower { election: ElectionName },
    /// Write this record so that it survives the process, before any later effect becomes visible.
    Persist(W::Record),
    /// Write this record so that it survives the machine, without delaying later effects.
    Flush(Ticket, W::Record),
    /// Send a message, which the network may lose, delay, repeat and reorder.
    Send { to: W::Address, message: W::Message },
    /// Report an event to the application, or count it.
    Emit {
        /// `None` for an event of the whole node.
        election: Option<ElectionName>,
        event: W::Event,
    },
}

/// Identifies an [`Effect::Flush`] until its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

impl Ticket {
    /// The ticket of no flush. While no write is under way, [`Input::Failed`] with this ticket
    /// reports that records would be lost, and [`Input::Flushed`] with this ticket reports that
    /// records are kept again.
    pub const NONE: Self = Self(0);
}

/// The effects of one call, in the order in which the driver carries them out.
pub type Effects<W> = Vec<Effect<W>>;

pub(crate) fn emit<W: Words>(
    election: Option<&ElectionName>,
    event: impl Into<W::Event>,
    out: &mut Effects<W>,
) {
    out.push(Effect::Emit { election: election.cloned(), event: event.into() });
}

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
            Self::Bound { election, wall } => write!(f, "claim {election} bound {wall}"),
            Self::Lower { election } => write!(f, "no claim {election}"),
            Self::Persist(record) => write!(f, "persist {record}"),
            Self::Flush(Ticket(ticket), record) => write!(f, "flush {ticket} {record}"),
            Self::Send { to, message } => write!(f, "to {to}: {message}"),
            Self::Emit { election: Some(election), event } => write!(f, "{election}: {event}"),
            Self::Emit { election: None, event } => write!(f, "{event}"),
        }
    }
}
