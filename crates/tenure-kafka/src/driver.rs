//! Elections on Kafka, carried by the loop that all protocols share.

use std::any::Any;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, LOG, Machine};
use tenure::{Obstacle, SafetyClass, Time, Waiting};
use tenure_core::nele::{self, Checked, Extra, Message, Nele, OwnEvent, Report, Role, Seen};
use tenure_core::{ElectionName, End, Input, Loss, Ticket};
use tokio::sync::{broadcast, oneshot, watch};

use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::notice::Notice;

/// The longest time for which a closing node waits until it has left its group.
const FAREWELL_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) enum Ask {
    Counters(oneshot::Sender<Counters>),
    Seen(oneshot::Sender<Vec<Seen>>),
    Processes(oneshot::Sender<Option<usize>>),
    Leave {
        lead_on: bool,
        again: bool,
    },
    /// Asks whether another process could lead this role next, and for the time of the last record.
    Follows(Role, oneshot::Sender<(bool, Time)>),
}

pub(crate) enum Incoming {
    Report(Report),
    /// The phase of a member without an assignment has changed.
    Phase,
}

pub(crate) struct Driver<C> {
    pub(crate) config: Checked,
    pub(crate) ledger: Ledger,
    /// The reason why the member has had no assignment for a long time.
    pub(crate) joining: watch::Receiver<Option<Arc<str>>>,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) counters: Counters,
    /// Time of the last record that was read, of any process, on `CLOCK_BOOTTIME`.
    pub(crate) read: Time,
    pub(crate) class: PhantomData<fn() -> C>,
}

impl<C: SafetyClass> Driver<C> {
    fn on_report(&mut self, now: Time, report: Report, machine: &mut Machine<Self>) {
        self.counters.hear(&report);
        if matches!(report, Report::Records { .. }) {
            self.read = now;
        }
        let message = Message::Report(report);
        machine.input(Input::Message { from: nele::Ledger, message });
    }

    /// Reports each new phase to campaigns. The core itself reports only once that it is no member
    /// yet.
    fn on_phase(&self, machine: &mut Machine<Self>) {
        if machine.core.is_member() {
            return;
        }
        let waiting = self.explain(Waiting::Connecting { obstacles: Vec::new() });
        for election in machine.campaigns.pending() {
            machine.campaigns.waits(&election, waiting.clone());
        }
    }
}

impl<C: SafetyClass> Backend for Driver<C> {
    type Core = Nele;
    type Class = C;
    type Extra = Extra;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Ask;

    const THREAD: &'static str = "tenure-kafka";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("nele");

    async fn next(&mut self) -> Incoming {
        tokio::select! {
            biased;
            Ok(()) = self.joining.changed() => Incoming::Phase,
            report = self.ledger.next() => Incoming::Report(report),
        }
    }

    fn take(&mut self, _: usize) -> Option<Incoming> {
        self.ledger.take().map(Incoming::Report)
    }

    fn on_incoming(&mut self, now: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::Report(report) => self.on_report(now, report, machine),
            Incoming::Phase => self.on_phase(machine),
        }
    }

    fn on_ask(&mut self, now: Time, ask: Ask, machine: &mut Machine<Self>) {
        match ask {
            Ask::Counters(reply) => drop(reply.send(self.counters.clone())),
            Ask::Seen(reply) => drop(reply.send(machine.core.seen().collect())),
            Ask::Processes(reply) => drop(reply.send(machine.core.processes())),
            Ask::Follows(role, reply) => {
                let _ = reply.send((machine.core.has_successor(role, now), self.read));
            }
            Ask::Leave { lead_on, again } => {
                // The command concerns all roles, so the election in the command has no meaning.
                let election = self.config.election.clone();
                let command = nele::Command::Extra(Extra::Leave { lead_on, again });
                machine.command(election, command);
            }
        }
    }

    fn send(&mut self, _: nele::Ledger, message: Message) {
        // A core sends no other message.
        if let Message::Request(request) = message {
            self.counters.ask(&request, self.config.partitions);
            self.ledger.request(&request);
        }
    }

    fn persist(&mut self, record: &Infallible) -> bool {
        match *record {}
    }

    fn flush(&mut self, _: Ticket, record: Infallible) {
        match record {}
    }

    fn on_event(&mut self, election: Option<ElectionName>, event: OwnEvent, _: &mut Machine<Self>) {
        self.counters.tell(&event);
        if matches!(event, OwnEvent::Ignored(_)) {
            return;
        }
        let error = matches!(event, OwnEvent::Halted { .. } | OwnEvent::NoFence { .. });
        let notice = Notice::Protocol { election, event };
        if error {
            tracing::error!(target: LOG, "{notice}");
        } else {
            notice.log();
        }
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        Arc::new(())
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
    }

    /// Adds the phase to a wait: the core knows only that it is no member yet.
    fn explain(&self, waiting: Waiting) -> Waiting {
        match waiting {
            Waiting::Connecting { obstacles } if obstacles.is_empty() => {
                let phase = self.joining.borrow().clone();
                let why =
                    phase.unwrap_or_else(|| "the group has assigned no partitions yet".into());
                let by = format!("group {}", self.config.group_id());
                let obstacles = vec![Obstacle::new(by, "assignment", why)];
                Waiting::Connecting { obstacles }
            }
            waiting => waiting,
        }
    }

    fn farewell(&self) -> Duration {
        self.config.max_poll_interval.min(FAREWELL_MAX)
    }

    fn is_idle(&self, core: &Nele) -> bool {
        core.is_out()
    }
}
