//! Elections over HTTP, carried by the loop that all protocols share.

use std::any::Any;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, LOG, Machine};
use tenure::{SafetyClass, Time};
use tenure_core::voter::{
    Answer, Call, Caller, Checked, Header, Memory, Message, OwnEvent, Peer, Voter,
};
use tenure_core::{ElectionName, End, Input, Loss, Obstacle, Ticket, Waiting};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::client::{Client, Question};
use crate::counters::{Counters, Tally, count};
use crate::incoming::{Incoming, IncomingRequest, RequestResult};
use crate::notice::Notice;
use crate::state::State;
use crate::troubles::Troubles;
use crate::wire::Head;

/// The longest time for which a closing node waits until others have received its release.
const FAREWELL_MAX: Duration = Duration::from_secs(2);

/// The maximum number of requests of others that wait for an answer of the core.
const EXCHANGES_MAX: usize = 4_096;

const RELEASE: &str = "election/release";

#[derive(Debug)]
pub(crate) enum Ask {
    Counters(oneshot::Sender<Counters>),
}

pub(crate) struct Driver<C> {
    pub(crate) config: Checked,
    pub(crate) client: Client,
    /// The tasks that listen and resolve; they end with the driver.
    pub(crate) _tasks: JoinSet<()>,
    pub(crate) requests: mpsc::Receiver<IncomingRequest>,
    pub(crate) from_tasks: mpsc::UnboundedReceiver<Incoming>,
    /// Requests without an answer of the core, by their numbers.
    pub(crate) exchanges: BTreeMap<u64, oneshot::Sender<(Header, Answer)>>,
    pub(crate) last: u64,
    pub(crate) state: Option<State>,
    pub(crate) failing: Option<Arc<str>>,
    /// Whether the loop leaves trials of a write to the lookout. Otherwise a disk that hangs would
    /// keep the loop from sending heartbeats.
    pub(crate) waits: bool,
    pub(crate) troubles: Troubles,
    pub(crate) releasing: u32,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) counters: Counters,
    pub(crate) refused: Arc<Tally>,
    pub(crate) class: PhantomData<fn() -> C>,
}

impl<C: SafetyClass> Driver<C> {
    fn on_asked(&mut self, asked: IncomingRequest, machine: &mut Machine<Self>) {
        let IncomingRequest { caller, ask, reply } = asked;
        count(&mut self.counters.heard, ask.label());
        if self.exchanges.len() >= EXCHANGES_MAX {
            // Forget exchanges whose callers have gone.
            self.exchanges.retain(|_, reply| !reply.is_closed());
            if self.exchanges.len() >= EXCHANGES_MAX {
                return;
            }
        }
        self.last += 1;
        self.exchanges.insert(self.last, reply);
        let from = Peer::Caller(self.last);
        let call = Call(self.last);
        // An incoming request has no time limit of its own.
        let message = Message::Request { call, caller, within: Duration::ZERO, ask };
        machine.input(Input::Message { from, message });
    }

    fn on_answered(&mut self, answered: RequestResult, machine: &mut Machine<Self>) {
        let RequestResult { to, call, label, result } = answered;
        if label == RELEASE {
            self.releasing = self.releasing.saturating_sub(1);
        }
        if let Err(failure) = &result {
            count(&mut self.counters.failed, failure.label);
        }
        let message = self.troubles.read(&to, call, result);
        machine.input(Input::Message { from: Peer::At(to), message });
    }

    /// Reports a reason only if it differs from the last one, although the node tries again every
    /// second.
    fn not_written(&mut self, why: Arc<str>) {
        self.waits = self.state.as_ref().is_some_and(State::try_out);
        if self.failing.as_ref() != Some(&why) {
            tracing::error!(target: LOG, "{why}");
            self.failing = Some(why.clone());
            self.notice(Notice::NotWritten { why });
        }
    }

    fn notice(&self, notice: Notice) {
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }
}

impl<C: SafetyClass> Backend for Driver<C> {
    type Core = Voter;
    type Class = C;
    type Extra = Infallible;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Ask;

    const THREAD: &'static str = "tenure-voter";
    const KINDS: usize = 2;
    const NO_TRANSFER: Option<&'static str> = Some("voter");

    async fn next(&mut self) -> Incoming {
        // Requests of other voters go first, because a leader may need their answers to go on
        // leading.
        let next = tokio::select! {
            biased;
            next = self.from_tasks.recv() => next,
            asked = self.requests.recv() => asked.map(Incoming::IncomingRequest),
        };
        match next {
            Some(next) => next,
            // Tasks of this voter hold the senders as long as the voter lives.
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, kind: usize) -> Option<Incoming> {
        match kind {
            0 => self.from_tasks.try_recv().ok(),
            _ => self.requests.try_recv().ok().map(Incoming::IncomingRequest),
        }
    }

    fn on_incoming(&mut self, _: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::IncomingRequest(asked) => self.on_asked(asked, machine),
            Incoming::RequestResult(answered) => self.on_answered(*answered, machine),
            Incoming::Seeds(urls) => {
                let from = Peer::At(self.config.url.clone());
                machine.input(Input::Message { from, message: Message::Seeds(urls) });
            }
            Incoming::Directory(Ok(())) => {
                self.waits = false;
                machine.input(Input::Flushed(Ticket::NONE));
            }
            Incoming::Directory(Err(why)) => {
                self.not_written(why);
                machine.input(Input::Failed(Some(Ticket::NONE)));
            }
            Incoming::Notice(notice) => {
                tracing::warn!(target: LOG, "{notice}");
                self.notice(notice);
            }
        }
    }

    fn on_ask(&mut self, _: Time, ask: Ask, _: &mut Machine<Self>) {
        let Ask::Counters(reply) = ask;
        let refused = self.refused.totals();
        let _ = reply.send(Counters { refused, ..self.counters.clone() });
    }

    fn send(&mut self, to: Peer, message: Message) {
        match (to, message) {
            (
                Peer::At(to),
                Message::Request { call, caller: Caller::Voter(header), within, ask },
            ) => {
                count(&mut self.counters.sent, ask.label());
                self.releasing += u32::from(ask.label() == RELEASE);
                self.client.ask(Question { to, call, within, head: Head::Voter(header), ask });
            }
            (Peer::Caller(number), Message::Answer { header, answer, .. }) => {
                if let Some(reply) = self.exchanges.remove(&number) {
                    // The send fails if the caller has gone; ignore it.
                    let _ = reply.send((header, answer));
                }
            }
            // A core sends no other message.
            _ => {}
        }
    }

    fn persist(&mut self, memory: &Memory) -> bool {
        let Some(state) = self.state.as_ref().filter(|_| !self.waits) else { return false };
        match state.write(memory) {
            Ok(()) => {
                if self.failing.take().is_some() {
                    tracing::info!(target: LOG, "{}", Notice::Written);
                    self.notice(Notice::Written);
                }
                true
            }
            Err(error) => {
                self.counters.write_failures += 1;
                self.not_written(error.to_string().into());
                false
            }
        }
    }

    /// This core has no deferred writes.
    fn flush(&mut self, _: Ticket, _: Memory) {}

    fn on_event(&mut self, election: Option<ElectionName>, event: OwnEvent, _: &mut Machine<Self>) {
        if let OwnEvent::Ignored(reason) = event {
            return count(&mut self.counters.ignored, reason.label());
        }
        match &event {
            OwnEvent::Breach(_) => tracing::error!(target: LOG, "{}", event.sentence()),
            _ => tracing::info!(target: LOG, "{}", event.sentence()),
        }
        self.notice(Notice::Protocol { election, event });
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        Arc::new(())
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
    }

    /// Adds the reason why the state cannot be written, which the core does not know.
    fn explain(&self, mut waiting: Waiting) -> Waiting {
        if let (Waiting::Refused { obstacles, .. }, Some(why)) = (&mut waiting, &self.failing) {
            let is_ours =
                |it: &&mut Obstacle| it.label == "failing" && *it.by == *self.config.id.as_str();
            for obstacle in obstacles.iter_mut().filter(is_ours) {
                obstacle.why = format!("{}: {why}", obstacle.why).into();
            }
        }
        waiting
    }

    fn farewell(&self) -> Duration {
        (2 * self.config.request_timeout).min(FAREWELL_MAX)
    }

    fn is_idle(&self, _: &Voter) -> bool {
        self.releasing == 0
    }
}
