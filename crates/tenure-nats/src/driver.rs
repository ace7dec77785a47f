//! Elections on NATS, carried by the loop that all protocols share.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tenure::driver::{Backend, Campaigns, LOG, Machine};
use tenure::{MayOverlap, Obstacle, Time, Waiting};
use tenure_core::allcall::{
    self, Allcall, Body, Checked, Link, Message, OwnEvent, Packet, Participant,
};
use tenure_core::{ElectionName, End, Input, Loss, Ticket, WallTime};
use tokio::sync::{broadcast, oneshot};

use crate::bus::{Bus, Delivery, Incoming, News, Published};
use crate::counters::Counters;
use crate::notice::Notice;
use crate::subject::{Kind, Subjects};
use crate::wire::{self, Unread};

/// The longest time for which a closing node waits until its resignations have come back.
const FAREWELL_MAX: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) enum Ask {
    Counters(oneshot::Sender<Counters>),
}

pub(crate) type WallClock = Box<dyn Fn() -> WallTime + Send>;

pub(crate) struct Driver {
    pub(crate) config: Checked,
    pub(crate) bus: Bus,
    pub(crate) subjects: Subjects,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) wall: WallClock,
    /// The identity of this run of the process, as in its packets.
    pub(crate) me: Participant,
    pub(crate) counters: Counters,
    /// An obstacle for each server: the server does not answer.
    pub(crate) silent: Vec<Obstacle>,
    /// The obstacle at each server; `None` while the node is connected.
    pub(crate) connecting: Option<Vec<Obstacle>>,
    /// The number of published resignations that have not come back.
    pub(crate) resigning: u32,
}

impl Driver {
    /// Records that this server cannot be used, and informs the campaigns that wait.
    fn note_obstacle(
        &mut self,
        server: &str,
        why: &Arc<str>,
        campaigns: &mut Campaigns<MayOverlap>,
    ) {
        let by: Arc<str> = server.into();
        let obstacles = self.connecting.get_or_insert_with(|| self.silent.clone());
        obstacles.retain(|obstacle| obstacle.by != by);
        obstacles.push(Obstacle::new(by, "unreachable", why.clone()));
        obstacles.sort_by(|a, b| a.by.cmp(&b.by));
        let waiting = Waiting::Connecting { obstacles: obstacles.clone() };
        for election in campaigns.pending() {
            campaigns.waits(&election, waiting.clone());
        }
    }

    fn on_news(&mut self, news: News, machine: &mut Machine<Self>) {
        let link = match news {
            News::Up(up) => {
                self.connecting = None;
                self.counters.connections += 1;
                Link::Up { max_payload: self.bus.use_connection(up) }
            }
            News::Down => {
                self.bus.forget_connection();
                self.resigning = 0;
                Link::Down
            }
            News::Notice(notice) => {
                match &notice {
                    Notice::Disconnected { server, why } => {
                        self.note_obstacle(server.as_str(), why, &mut machine.campaigns);
                    }
                    Notice::Unreachable { server, error } => {
                        self.counters.unreachable += 1;
                        let why = error.to_string().into();
                        self.note_obstacle(server.as_str(), &why, &mut machine.campaigns);
                    }
                    _ => {}
                }
                return self.notice(notice);
            }
        };
        let message = Message::Link(link);
        machine.input(Input::Message { from: allcall::Bus, message });
    }

    fn on_heard(&mut self, heard: &Delivery, machine: &mut Machine<Self>) {
        self.counters.heard_bytes += heard.payload.len() as u64;
        // A message of an earlier connection may be arbitrarily old: ignore it.
        if !self.bus.is_current(heard) {
            return self.counters.ignore_for("earlier_connection");
        }
        let kind = self.subjects.kind(&heard.subject).ok_or(Unread::Subject);
        let read = kind.and_then(|kind| wire::read(kind, &heard.payload));
        match read {
            Ok(packet) => {
                self.counters.hear(Kind::of(&packet.body));
                if matches!(packet.body, Body::Resign(_)) && packet.header.sender == self.me {
                    self.resigning = self.resigning.saturating_sub(1);
                }
                let message = Message::Packet(packet);
                machine.input(Input::Message { from: allcall::Bus, message });
            }
            Err(reason) => self.counters.ignore_for(reason.label()),
        }
    }

    fn publish(&mut self, packet: &Packet) {
        let kind = Kind::of(&packet.body);
        let payload = wire::write(packet);
        let bytes = payload.len();
        let published = self.bus.publish(self.subjects.of(kind), payload);
        self.counters.publish(kind, bytes, published);
        // A resignation that the bus dropped never comes back.
        let comes_back = kind == Kind::Resign && published == Published::Handed;
        self.resigning += u32::from(comes_back);
    }

    fn notice(&self, notice: Notice) {
        // The send fails without listeners; ignore it.
        let _ = self.notices.send(notice);
    }
}

impl Backend for Driver {
    type Core = Allcall;
    type Class = MayOverlap;
    type Extra = Infallible;
    type Own = OwnEvent;
    type Incoming = Incoming;
    type Ask = Ask;

    const THREAD: &'static str = "tenure-nats";
    const KINDS: usize = 2;
    const NO_TRANSFER: Option<&'static str> = Some("allcall");

    fn wall(&self) -> WallTime {
        (self.wall)()
    }

    async fn next(&mut self) -> Incoming {
        self.bus.next().await
    }

    fn take(&mut self, kind: usize) -> Option<Incoming> {
        match kind {
            0 => self.bus.take_news().map(Incoming::News),
            _ => self.bus.take_heard().map(Incoming::Delivery),
        }
    }

    fn on_incoming(&mut self, _: Time, incoming: Incoming, machine: &mut Machine<Self>) {
        match incoming {
            Incoming::News(news) => self.on_news(news, machine),
            Incoming::Delivery(heard) => self.on_heard(&heard, machine),
        }
    }

    fn on_ask(&mut self, _: Time, ask: Ask, _: &mut Machine<Self>) {
        let Ask::Counters(reply) = ask;
        let lost = self.bus.lost();
        let _ = reply.send(Counters { lost, ..self.counters.clone() });
    }

    fn send(&mut self, _: allcall::Bus, message: Message) {
        // A core sends no other message.
        if let Message::Packet(packet) = message {
            self.publish(&packet);
        }
    }

    fn persist(&mut self, record: &Infallible) -> bool {
        match *record {}
    }

    fn flush(&mut self, _: Ticket, record: Infallible) {
        match record {}
    }

    fn on_event(&mut self, election: Option<ElectionName>, event: OwnEvent, _: &mut Machine<Self>) {
        if let OwnEvent::Ignored(reason) = event {
            return self.counters.ignore_for(reason.label());
        }
        match &election {
            Some(election) => tracing::info!(target: LOG, %election, "{event}"),
            None => tracing::info!(target: LOG, "{event}"),
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

    /// Adds the servers to a wait: the core knows only that there is no connection.
    fn explain(&self, waiting: Waiting) -> Waiting {
        match (waiting, &self.connecting) {
            (Waiting::Connecting { .. }, Some(obstacles)) => {
                Waiting::Connecting { obstacles: obstacles.clone() }
            }
            (waiting, _) => waiting,
        }
    }

    fn farewell(&self) -> Duration {
        self.config.heartbeat.min(FAREWELL_MAX)
    }

    /// Whether all resignations have come back, so that the server has them. A resignation that is
    /// still in this process would be lost when the process ends.
    fn is_idle(&self, _: &Allcall) -> bool {
        self.resigning == 0
    }
}
