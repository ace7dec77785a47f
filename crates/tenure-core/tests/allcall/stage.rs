//! A few participants and a bus.

use std::convert::Infallible;
use std::time::Duration;

use tenure_core::allcall::{
    Allcall, Body, Bus, Call, Config, Digest, Effect, Entry, Event, Header, Ignored, LeaderClaim,
    Link, Message, OwnEvent, Packet, Part, Participant, Round, Start,
};
use tenure_core::{Input, Time, Value};
use tenure_testkit::stage::{self as common, Node, Scene};

pub(crate) use tenure_testkit::stage::{ms, name};

tenure_testkit::stage!(Participants);

/// Election of the stories.
pub(crate) const X: &str = "x";

/// The bus of the participants.
pub(crate) struct Participants {
    /// Largest packet that the server takes, in bytes.
    pub(crate) payload: usize,
    /// Additional time that a packet takes to other participants. Each participant has its own
    /// server, which returns a packet to its publisher before the route brings it to the others.
    pub(crate) route: Duration,
    /// Whether the bus loses a packet, by sender and receiver.
    pub(crate) loses: fn(usize, usize, &Packet) -> bool,
    /// All published packets: true time, publisher, packet.
    pub(crate) log: Vec<(Time, usize, Packet)>,
}

/// The client of one participant.
#[derive(Default)]
pub(crate) struct Client {
    connected: bool,
    pub(crate) holds_back: bool,
    held_back: Vec<Packet>,
}

/// Settings of a participant, whose number is its rank.
pub(crate) fn config(node: usize) -> Config {
    let id = format!("n{node}").parse().unwrap();
    Config { rank: Some(node as u64), ..Config::new("c".parse().unwrap(), id) }
}

impl Scene for Participants {
    type Core = Allcall;
    type Extra = Infallible;
    type Own = OwnEvent;
    type Disk = ();
    type Config = Config;
    type Node = Client;
    /// A receiver and a packet.
    type Letter = (usize, Packet);

    fn core(config: &Config) -> Allcall {
        Allcall::new(config.clone().check().unwrap())
    }

    fn write((): &mut (), record: Infallible) {
        match record {}
    }

    fn send(stage: &mut common::Stage<Self>, from: usize, _: Bus, message: Message) {
        if let Message::Packet(packet) = message {
            publish(stage, from, packet);
        }
    }

    fn to((to, _): &(usize, Packet)) -> Option<usize> {
        Some(*to)
    }

    fn arrive(stage: &mut common::Stage<Self>, (to, packet): (usize, Packet)) {
        if stage.nodes[to].own.connected {
            let message = Message::Packet(packet);
            stage.hand(to, Input::Message { from: Bus, message });
        }
    }

    /// Checks that a participant lowers its claim before it publishes a tombstone (A3).
    fn judge(_: &mut common::Stage<Self>, node: usize, effects: &[Effect]) {
        let resigns = |effect: &Effect| match effect {
            Effect::Send { message: Message::Packet(packet), .. } => {
                matches!(packet.body, Body::Resign(_))
            }
            _ => false,
        };
        let lowered = effects.iter().position(|effect| matches!(effect, Effect::Lower { .. }));
        if let (Some(lowered), Some(resigned)) = (lowered, effects.iter().position(resigns)) {
            assert!(lowered < resigned, "{node}: {effects:?}");
        }
    }

    fn is_worth_a_line(event: &Event) -> bool {
        !matches!(event, Event::Own(OwnEvent::Ignored(_)))
    }
}

fn publish(stage: &mut common::Stage<Participants>, from: usize, packet: Packet) {
    stage.own.log.push((stage.now, from, packet.clone()));
    if stage.nodes[from].own.holds_back {
        stage.nodes[from].own.held_back.push(packet);
        return;
    }
    for to in 0..stage.nodes.len() {
        if !stage.is_cut(from, to) && !(stage.own.loses)(from, to, &packet) {
            let route = if from == to { Duration::ZERO } else { stage.own.route };
            stage.later(stage.delay + route, (to, packet.clone()));
        }
    }
}

impl Stage {
    /// A stage with participants that have not started.
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with((0..nodes).map(config).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let node = |config| Node::<Participants>::new(config, ());
        let nodes = configs.into_iter().map(node).collect();
        let own = Participants {
            payload: 1 << 20,
            route: Duration::ZERO,
            loses: |_, _, _| false,
            log: Vec::new(),
        };
        Self(common::Stage::new(own, X, nodes))
    }

    /// A stage with participants that campaign for `x`; participant 0 leads.
    pub(crate) fn led(nodes: usize) -> Self {
        let mut stage = Self::new(nodes);
        stage.contend_together(nodes);
        stage.pass(ms(15_000));
        assert_eq!(stage.leaders(X), [0]);
        stage
    }

    /// Starts a participant and connects it.
    pub(crate) fn join(&mut self, node: usize) {
        let number = node as u128 + 1;
        self.start(node, Start { incarnation: number << 96, tie: number, seed: node as u64 });
    }

    /// Starts a participant, which campaigns for `x`.
    pub(crate) fn contend(&mut self, node: usize) {
        self.join(node);
        self.campaign(node, X);
    }

    /// Starts this number of participants, which then all campaign for `x`.
    pub(crate) fn contend_together(&mut self, nodes: usize) {
        (0..nodes).for_each(|node| self.join(node));
        (0..nodes).for_each(|node| self.campaign(node, X));
    }

    fn start(&mut self, node: usize, start: Start) {
        self.begin(node, start);
        self.link_up(node);
    }

    /// Starts another process of this participant, with other settings.
    pub(crate) fn restart(&mut self, node: usize, config: Config, incarnation: u128) {
        self.nodes[node].config = config;
        self.start(node, Start { incarnation, tie: incarnation, seed: 1 });
    }

    pub(crate) fn link_up(&mut self, node: usize) {
        self.nodes[node].own.connected = true;
        self.hear_link(node, Link::Up { max_payload: self.own.payload });
    }

    pub(crate) fn link_down(&mut self, node: usize) {
        self.nodes[node].own.connected = false;
        self.hear_link(node, Link::Down);
    }

    fn hear_link(&mut self, node: usize, link: Link) {
        self.hand(node, Input::Message { from: Bus, message: Message::Link(link) });
    }

    /// Delivers a packet to one participant now.
    pub(crate) fn deliver(&mut self, to: usize, packet: Packet) {
        self.hand(to, Input::Message { from: Bus, message: Message::Packet(packet) });
    }

    /// Cuts all links of a participant, to itself too.
    pub(crate) fn cut_off(&mut self, node: usize) {
        for other in 0..self.nodes.len() {
            self.cut.extend([(node, other), (other, node)]);
        }
    }

    /// Publishes the packets that a client held back, and counts them.
    pub(crate) fn let_go(&mut self, node: usize) -> usize {
        let client = &mut self.nodes[node].own;
        client.holds_back = false;
        let held = std::mem::take(&mut client.held_back);
        let count = held.len();
        held.into_iter().for_each(|packet| publish(&mut self.0, node, packet));
        count
    }

    pub(crate) fn who(&self, node: usize) -> Participant {
        self.nodes[node].core.who().clone()
    }

    /// Packets in the log that a participant published.
    pub(crate) fn said(&self, node: usize) -> Vec<&Packet> {
        let said = self.own.log.iter().filter(|(_, from, _)| *from == node);
        said.map(|(_, _, packet)| packet).collect()
    }

    /// Number of calls in the log that a participant published.
    pub(crate) fn calls(&self, node: usize) -> usize {
        self.said(node).iter().filter(|packet| matches!(packet.body, Body::Call(_))).count()
    }

    pub(crate) fn replies(&self, node: usize) -> usize {
        self.said(node).iter().filter(|packet| matches!(packet.body, Body::Reply(_))).count()
    }

    /// The last packet of a participant whose body matches.
    pub(crate) fn last(&self, node: usize, like: impl Fn(&Body) -> bool) -> Packet {
        let said = self.said(node);
        said.into_iter().rfind(|packet| like(&packet.body)).unwrap().clone()
    }

    pub(crate) fn ignored(&self, node: usize, reason: Ignored) -> usize {
        self.told(node, |event| *event == Event::Own(OwnEvent::Ignored(reason)))
    }

    /// A stranger's header with the same times as the headers of participants.
    pub(crate) fn stranger(&self, id: &str, rank: u64) -> Header {
        let mut header = self.own.log[0].2.header.clone();
        header.sender = Participant { id: id.parse().unwrap(), incarnation: 0xbad << 96 };
        (header.rank.number, header.rank.tie, header.established) = (rank, 7, true);
        header.sent = self.wall(0);
        header
    }
}

/// Stories read packets through these methods.
pub(crate) trait Says {
    /// Claim in the first entry.
    fn claim(&self) -> Option<&LeaderClaim>;
}

impl Says for Body {
    fn claim(&self) -> Option<&LeaderClaim> {
        let entries = match self {
            Self::Call(call) => &call.entries,
            Self::Reply(reply) => &reply.entries,
            Self::Ask(_) | Self::Resign(_) => return None,
        };
        entries.first()?.claim.as_ref()
    }
}

/// A stranger's call with its own claim to `x`, in a new round.
pub(crate) fn rival(stage: &Stage, header: &Header, ahead: Duration) -> Packet {
    let claim = LeaderClaim {
        leader: header.sender.clone(),
        rank: header.rank,
        term: 1,
        until: stage.wall(0).after(ahead),
        value: Value::default(),
    };
    call(stage, header, true, Some(claim))
}

/// A stranger's call about `x`.
pub(crate) fn call(
    stage: &Stage,
    header: &Header,
    eligible: bool,
    claim: Option<LeaderClaim>,
) -> Packet {
    let entry =
        Entry { election: name(X), eligible, digest: Digest(1), claim, tombstones: Vec::new() };
    let (round, part) = (Round(stage.now.as_nanos()), Part { number: 0, of: 1 });
    let body = Body::Call(Call { round, part, entries: vec![entry] });
    Packet { header: Header { sent: stage.wall(0), ..header.clone() }, body }
}
