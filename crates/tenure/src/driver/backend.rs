//! The part of a driver that its loop does not know: one protocol on one outside system.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::contract::{Protocol, Words};
use tenure_core::{Command, ElectionName, End, Event, Ticket, Time, Waiting, WallTime};

use super::campaigns::Campaigns;
use super::machine::Machine;
use crate::clock;
use crate::safety::SafetyClass;

/// A protocol on an outside system, carried by [`spawn`](super::spawn). The loop calls each method
/// on its own thread, so no method may block for long.
pub trait Backend: Send + Sized + 'static {
    /// The protocol.
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
    /// Questions of the node itself, beside requests of handles.
    type Ask: Send + 'static;

    /// The thread's name.
    const THREAD: &'static str;
    /// How many kinds of input can be [taken](Self::take).
    const KINDS: usize;
    /// The protocol's name where it cannot hand a leadership over.
    const NO_TRANSFER: Option<&'static str> = None;
    /// Whether each new observer is shown only what is read after it came.
    const AFRESH: bool = false;

    /// Wall time, for a core that compares it with other machines; no other asks.
    fn wall(&self) -> WallTime {
        clock::wall()
    }

    /// Waits for incoming. Cancel safe: what is ready is returned by the poll that found it.
    fn next(&mut self) -> impl Future<Output = Self::Incoming> + Send;

    /// Takes input of this kind that is there already.
    fn take(&mut self, kind: usize) -> Option<Self::Incoming>;

    /// Handles input that arrived before `now`, and hands what concerns the core to `machine`.
    fn on_incoming(&mut self, now: Time, incoming: Self::Incoming, machine: &mut Machine<Self>);

    /// Handles a question of the node.
    fn on_ask(&mut self, now: Time, ask: Self::Ask, machine: &mut Machine<Self>);

    /// Sends a message, or keeps it until [`before_waiting`](Self::before_waiting).
    fn send(&mut self, to: Address<Self>, message: Message<Self>);

    /// Writes a record so that it survives the process; `false` if that failed.
    fn persist(&mut self, record: &Record<Self>) -> bool;

    /// Begins to write a record so that it survives the machine. The answer is incoming.
    fn flush(&mut self, ticket: Ticket, record: Record<Self>);

    /// Handles an event of this protocol alone.
    fn on_event(
        &mut self,
        election: Option<ElectionName>,
        event: Self::Own,
        machine: &mut Machine<Self>,
    );

    /// Called when a campaign was won. Returns what the protocol offers its leaders beyond the
    /// handle: [`Elected::extra`](super::Elected::extra).
    fn elected(&mut self, _election: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        Arc::new(())
    }

    /// A campaign or a leadership is over, and its handle says so already.
    fn ended(&mut self, _end: &End) {}

    /// An election cannot be observed; its observers are told that nothing follows.
    fn not_observed(&mut self, _election: &ElectionName, _why: &Arc<str>) {}

    /// Adds what only the driver knows to the reason for which a campaign waits.
    fn explain(&self, waiting: Waiting) -> Waiting {
        waiting
    }

    /// A campaign was opened, and the core does not know of it yet.
    fn opened(&mut self, _election: &ElectionName, _seats: &Campaigns<Self::Class>) {}

    /// Called after each input while more may be there.
    fn before_more(&mut self) {}

    /// Called when no more input is there.
    fn before_waiting(&mut self) {}

    /// How long a node that closes waits at most for others to know.
    fn farewell(&self) -> Duration;

    /// Whether the core holds nothing outside any more.
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
