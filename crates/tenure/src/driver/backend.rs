//! The part of a driver that depends on the protocol and its outside system.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{Protocol, Words};
use tenure_core::{Command, ElectionName, End, Event, Ticket, Time, Waiting, WallTime};

use super::campaigns::Campaigns;
use super::machine::Machine;
use crate::clock;
use crate::safety::SafetyClass;

/// A protocol on an outside system, driven by [`spawn`](super::spawn). The loop calls all methods
/// on its thread, so no method may block for long.
pub trait Backend: Send + Sized + 'static {
    type Core: Protocol<Words: Words<Command = Command<Self::Extra>, Event = Event<Self::Own>>>
        + Send;
    /// The class of safety that the protocol promises.
    type Class: SafetyClass;
    /// Commands of this protocol alone.
    type Extra: Send;
    /// Events of this protocol alone.
    type Own: Send;
    /// Input from the outside system.
    type Incoming: Send;
    /// Requests of the node itself, beside requests of handles.
    type Ask: Send + 'static;

    /// The thread's name.
    const THREAD: &'static str;
    /// Number of kinds of input that can be [taken](Self::take).
    const KINDS: usize;
    /// The protocol's name if it cannot hand a leadership over; `None` if it can.
    const NO_TRANSFER: Option<&'static str> = None;
    /// Whether the first view of each new observer must be read after the observer came.
    const AFRESH: bool = false;
    /// Whether a second [`Command::Observe`] of an election makes the core query anew, and then
    /// report a view.
    const LOOKS_ANEW: bool = Self::AFRESH;

    /// Wall time, for cores that compare it with other machines. The loop calls this for no other
    /// core.
    fn wall(&self) -> WallTime {
        clock::wall()
    }

    /// Whether the core compares wall time, where its settings decide that.
    fn compares_wall(&self) -> bool {
        false
    }

    /// The command for a leadership whose claim lapsed before the loop could raise it. A protocol
    /// has a command of its own for this if the work under that claim may still use its grace.
    fn lapsed() -> Command<Self::Extra> {
        Command::Resign
    }

    /// Waits for input from outside. Cancel safe: if a poll finds an input, that poll returns it.
    fn next(&mut self) -> impl Future<Output = Self::Incoming> + Send;

    /// Takes an input of this kind, if one is available.
    fn take(&mut self, kind: usize) -> Option<Self::Incoming>;

    /// Handles input that arrived before `now`, and hands inputs for the core to `machine`.
    fn on_incoming(&mut self, now: Time, incoming: Self::Incoming, machine: &mut Machine<Self>);

    /// Handles a request of the node.
    fn on_ask(&mut self, now: Time, ask: Self::Ask, machine: &mut Machine<Self>);

    /// Sends a message, now or in [`before_waiting`](Self::before_waiting).
    fn send(&mut self, to: Address<Self>, message: Message<Self>);

    /// Writes a record so that it survives the process; `false` if that failed.
    fn persist(&mut self, record: &Record<Self>) -> bool;

    /// Begins to write a record so that it survives the machine. The result comes as input from
    /// outside.
    fn flush(&mut self, ticket: Ticket, record: Record<Self>);

    /// Handles an event of this protocol alone.
    fn on_event(
        &mut self,
        election: Option<ElectionName>,
        event: Self::Own,
        machine: &mut Machine<Self>,
    );

    /// Handles the victory of a campaign. Returns [`Elected::extra`](super::Elected::extra), a
    /// protocol's own object for its leaders.
    fn elected(&mut self, _election: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }

    /// Handles the end of a campaign or leadership; its handle shows the end already.
    fn ended(&mut self, _end: &End) {}

    /// Handles an election that cannot be observed; its observers learn that no view follows.
    fn not_observed(&mut self, _election: &ElectionName, _why: &Arc<str>) {}

    /// Adds the driver's knowledge to the reason why a campaign waits.
    fn explain(&self, waiting: Waiting) -> Waiting {
        waiting
    }

    /// Handles a new campaign, before the core hears of it.
    fn opened(&mut self, _election: &ElectionName, _seats: &mut Campaigns<Self::Class>) {}

    /// Called after each input while further inputs may be available.
    fn before_more(&mut self) {}

    /// Called when no more input is available.
    fn before_waiting(&mut self) {}

    /// The longest time for which a closing node waits until others know of its end.
    fn farewell(&self) -> Duration;

    /// Whether other nodes and the store have nothing left of this core's campaigns.
    fn is_idle(&self, _core: &Self::Core) -> bool {
        true
    }
}

/// Addresses of the protocol.
pub type Address<B> = <WordsOf<B> as Words>::Address;
/// Messages of the protocol.
pub type Message<B> = <WordsOf<B> as Words>::Message;
/// Records of the protocol.
pub type Record<B> = <WordsOf<B> as Words>::Record;
/// The clock samples that the core takes.
pub(super) type NowOf<B> = <<B as Backend>::Core as Protocol>::Now;
/// Inputs and effects of the core.
pub(super) type WordsOf<B> = <<B as Backend>::Core as Protocol>::Words;
