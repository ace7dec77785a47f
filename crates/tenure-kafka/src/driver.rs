//! Elections on Kafka, carried by the loop that all protocols share.

use std::any::Any;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, LOG, Machine};
use tenure::{SafetyClass, Time};
use tenure_core::nele::{self, Checked, Extra, Message, Nele, OwnEvent, Report, Role, Seen};
use tenure_core::{ElectionName, End, Input, Loss, Ticket};
use tokio::sync::{broadcast, oneshot};

use crate::counters::Counters;
use crate::ledger::Ledger;
use crate::notice::Notice;
use crate::others::Others;

/// How long a node that closes waits at most until its group is left.
const FAREWELL_MAX: Duration = Duration::from_secs(5);

/// What a node asks of its driver, beside what its handles ask.
#[derive(Debug)]
pub(crate) enum Ask {
    Counters(oneshot::Sender<Counters>),
    Seen(oneshot::Sender<Vec<Seen>>),
    Leave {
        lead_on: bool,
        again: bool,
    },
    /// Whether another process could lead this role next, and when anything was read last.
    Follows(Role, oneshot::Sender<(bool, Time)>),
}

/// One process's part on the ledger, and what it says of it.
pub(crate) struct Wired<C> {
    pub(crate) config: Checked,
    pub(crate) ledger: Ledger,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) counters: Counters,
    pub(crate) others: Others,
    pub(crate) class: PhantomData<fn() -> C>,
}

impl<C: SafetyClass> Backend for Wired<C> {
    type Core = Nele;
    type Class = C;
    type Extra = Extra;
    type Own = OwnEvent;
    type Incoming = Report;
    type Ask = Ask;

    const THREAD: &'static str = "tenure-kafka";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("nele");

    async fn next(&mut self) -> Report {
        self.ledger.next().await
    }

    fn take(&mut self, _: usize) -> Option<Report> {
        self.ledger.take()
    }

    fn on_incoming(&mut self, now: Time, report: Report, machine: &mut Machine<Self>) {
        self.counters.hear(&report);
        self.others.hear(now, &report, &self.config);
        let message = Message::Report(report);
        machine.input(Input::Message { from: nele::Ledger, message });
    }

    fn on_ask(&mut self, now: Time, ask: Ask, machine: &mut Machine<Self>) {
        match ask {
            Ask::Counters(reply) => drop(reply.send(self.counters.clone())),
            Ask::Seen(reply) => drop(reply.send(machine.core.seen().collect())),
            Ask::Follows(role, reply) => {
                let stands = self.others.stand_for(role, now, &self.config);
                let _ = reply.send((stands, self.others.read()));
            }
            Ask::Leave { lead_on, again } => {
                // It is about all roles, whichever is named.
                let election = self.config.election.clone();
                let command = nele::Command::Extra(Extra::Leave { lead_on, again });
                machine.command(election, command);
            }
        }
    }

    fn send(&mut self, _: nele::Ledger, message: Message) {
        // A core sends nothing else.
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
        // Nobody listening is fine.
        let _ = self.notices.send(notice);
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        Arc::new(())
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
    }

    fn farewell(&self) -> Duration {
        self.config.max_poll_interval.min(FAREWELL_MAX)
    }

    fn is_idle(&self, core: &Nele) -> bool {
        core.is_out()
    }
}
