//! Elections on etcd, carried by the loop that all protocols share.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::driver::{Backend, Campaigns, LOG, Machine};
use tenure::{AtMostOne, Obstacle, Waiting, clock};
use tenure_core::etcd::{
    Checked, Command, Etcd, Extra, Ignored, Message, OwnEvent, Refusal, Store,
};
use tenure_core::{ElectionName, End, Fence, Input, Loss, Protocol, Standing, Ticket, Time, Value};
use tokio::sync::{broadcast, oneshot};

use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::notice::Notice;
use crate::options::CheckedOptions;
use crate::wire::{Incoming, Wire};

/// A closing node waits for the deletion of its keys as long as one call may take, and at least for
/// this time.
const FAREWELL: Duration = Duration::from_millis(500);
const FAREWELL_MAX: Duration = Duration::from_secs(5);

pub(crate) enum Ask {
    Proclaim { election: ElectionName, fence: Fence, value: Value },
    Counters(oneshot::Sender<Counters>),
}

/// Marks leaderships as those of one node. Each node has its own mark; two marks differ by their
/// addresses in memory.
#[derive(Default, Debug)]
pub(crate) struct Mark {
    _place: u8,
}

pub(crate) struct Driver {
    config: Checked,
    wire: Wire,
    notices: broadcast::Sender<Notice>,
    /// TTL of the most recent lease as granted, in seconds.
    granted: Arc<AtomicU32>,
    mark: Arc<Mark>,
    counters: Counters,
    /// Time since which every answer has come from another cluster and no endpoint has failed.
    other_since: Option<Time>,
    /// The obstacle at each endpoint; `None` while the node is connected.
    connecting: Option<Vec<Obstacle>>,
}

impl Driver {
    pub(crate) fn new(
        config: Checked,
        options: CheckedOptions,
        notices: broadcast::Sender<Notice>,
        granted: Arc<AtomicU32>,
        mark: Arc<Mark>,
    ) -> Self {
        // At the start the node has asked only the first endpoint, which has not answered yet.
        let silent = |first: &Endpoint| Obstacle::no_answer(first.to_string());
        let connecting = Some(options.endpoints.first().map(silent).into_iter().collect());
        Self {
            config,
            wire: Wire::new(options),
            notices,
            granted,
            mark,
            counters: Counters::default(),
            other_since: None,
            connecting,
        }
    }

    /// Records that an endpoint cannot be used, and informs the campaigns that wait.
    fn note_obstacle(&mut self, obstacle: Obstacle, campaigns: &mut Campaigns<AtMostOne>) {
        let obstacles = self.connecting.get_or_insert_default();
        obstacles.retain(|known| known.by != obstacle.by);
        obstacles.push(obstacle);
        obstacles.sort_by(|a, b| a.by.cmp(&b.by));
        let waiting = Waiting::Connecting { obstacles: obstacles.clone() };
        for election in campaigns.pending() {
            campaigns.waits(&election, waiting.clone());
        }
    }

    /// Handles a change of the endpoint in use.
    fn on_link(&mut self, link: Notice, machine: &mut Machine<Self>) {
        let mut early = None;
        match &link {
            Notice::Connected { endpoint, cluster, version, .. } => {
                self.counters.connections += 1;
                self.connecting = None;
                self.hear_of(&machine.core, *cluster);
                if !version.has_stalled_leader_fix() {
                    let endpoint = endpoint.clone();
                    let version = *version;
                    early = Some(Notice::EarlyRevocation { endpoint, version });
                }
            }
            Notice::Disconnected { endpoint, why } => {
                let obstacle = Obstacle::new(endpoint.to_string(), "unreachable", why.clone());
                self.note_obstacle(obstacle, &mut machine.campaigns);
            }
            Notice::Unreachable { endpoint, why } => {
                self.counters.unreachable += 1;
                // The reason already names the endpoint.
                let obstacle = Obstacle::sentence(endpoint.to_string(), "unreachable", why.clone());
                self.note_obstacle(obstacle, &mut machine.campaigns);
                // The endpoint that failed may belong to the right cluster, so count anew.
                self.other_since = None;
            }
            _ => {}
        }
        self.notice(link);
        early.into_iter().for_each(|early| self.notice(early));
    }

    fn hear_of(&mut self, core: &Etcd, cluster: u64) {
        if core.cluster() == Some(cluster) {
            self.other_since = None;
        }
    }

    /// Tells waiting campaigns that etcd refused a request which they need. A refusal that names no
    /// election concerns all campaigns while the node has no lease. Once the node has a lease, its
    /// candidates already stand in their queues.
    fn report_refusal(
        election: Option<&ElectionName>,
        doing: &str,
        refusal: &Refusal,
        machine: &mut Machine<Self>,
    ) {
        if election.is_none() && machine.core.lease().is_some() {
            return;
        }
        let why = format!("{doing}: {refusal}");
        let obstacles = vec![Obstacle::new("etcd", refusal.label(), why)];
        let all = || machine.campaigns.pending();
        for election in election.map_or_else(all, |election| vec![election.clone()]) {
            let obstacles = obstacles.clone();
            machine.campaigns.waits(&election, Waiting::Refused { obstacles, missing: Vec::new() });
        }
    }

    fn ignore(&mut self, reason: Ignored) {
        self.counters.ignore_for(reason.label());
        if reason == Ignored::OtherCluster {
            let now = clock::now();
            let since = *self.other_since.get_or_insert(now);
            self.notice(Notice::OtherCluster { lasting: now.since(since) });
            // The next endpoint may belong to the right cluster.
            self.wire.leave(&"the endpoint belongs to another cluster than at the start".into());
        }
    }

    fn notice(&self, notice: Notice) {
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }
}

impl Backend for Driver {
    type Core = Etcd;
    type Class = AtMostOne;
    type Extra = Extra;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Ask;

    const THREAD: &'static str = "tenure-etcd";
    const KINDS: usize = 1;
    const NO_TRANSFER: Option<&'static str> = Some("etcd");
    const AFRESH: bool = true;

    async fn next(&mut self) -> Incoming {
        self.wire.next().await
    }

    fn take(&mut self, _: usize) -> Option<Incoming> {
        self.wire.take()
    }

    fn on_incoming(&mut self, _: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::Answer(answer) => {
                self.counters.answer(&answer.reply);
                if let Some(header) = answer.header {
                    self.hear_of(&machine.core, header.cluster);
                }
                let message = Message::Answer(answer);
                machine.input(Input::Message { from: Store, message });
            }
            Incoming::Link(link) => self.on_link(link, machine),
        }
    }

    fn on_ask(&mut self, now: Time, ask: Ask, machine: &mut Machine<Self>) {
        match ask {
            Ask::Proclaim { election, fence, value } => {
                // The leadership may have ended in the meantime, and a new campaign begun.
                let standing = machine.core.standing(&election, now);
                if matches!(standing, Standing::Leading { fence: Some(own), .. } if own == fence) {
                    machine.command(election, Command::Extra(Extra::Proclaim { value }));
                }
            }
            Ask::Counters(reply) => {
                let _ = reply.send(self.counters.clone());
            }
        }
    }

    fn send(&mut self, _: Store, message: Message) {
        // The core sends only requests, and no answers.
        if let Message::Request(request) = message {
            self.counters.ask(&request.op);
            self.wire.send(request);
        }
    }

    fn persist(&mut self, record: &Infallible) -> bool {
        match *record {}
    }

    fn flush(&mut self, _: Ticket, record: Infallible) {
        match record {}
    }

    fn on_event(
        &mut self,
        election: Option<ElectionName>,
        event: OwnEvent,
        machine: &mut Machine<Self>,
    ) {
        match &event {
            OwnEvent::Ignored(reason) => return self.ignore(*reason),
            // The core reports the end of the campaign or leadership next, and so informs the
            // application.
            OwnEvent::Lost(lost) => {
                if let Some(election) = &election {
                    tracing::info!(target: LOG, %election, "{lost}");
                }
                return;
            }
            OwnEvent::Opened { granted, .. } | OwnEvent::Moving { granted, .. } => {
                self.granted.store(*granted, Ordering::Relaxed);
            }
            OwnEvent::Obstacle { doing, refusal } => {
                Self::report_refusal(election.as_ref(), doing, refusal, machine);
            }
            OwnEvent::Again(_)
            | OwnEvent::Closed { .. }
            | OwnEvent::WentBack { .. }
            | OwnEvent::Unsure { .. }
            | OwnEvent::LateKey { .. }
            | OwnEvent::Foreign(_) => {}
        }
        self.notice(Notice::Protocol { election, event });
    }

    fn elected(&mut self, _: &ElectionName) -> Arc<dyn Any + Send + Sync> {
        self.counters.elected += 1;
        self.mark.clone()
    }

    fn ended(&mut self, end: &End) {
        self.counters.expired += u64::from(*end == End::Lost(Loss::Expired));
    }

    fn not_observed(&mut self, election: &ElectionName, why: &Arc<str>) {
        self.notice(Notice::NotObserved { election: election.clone(), why: why.clone() });
    }

    fn opened(&mut self, election: &ElectionName, campaigns: &mut Campaigns<AtMostOne>) {
        if let Some(obstacles) = self.connecting.clone() {
            campaigns.waits(election, Waiting::Connecting { obstacles });
        }
    }

    fn farewell(&self) -> Duration {
        (self.config.lease / 4).clamp(FAREWELL, FAREWELL_MAX)
    }

    fn is_idle(&self, core: &Etcd) -> bool {
        core.is_idle()
    }
}
