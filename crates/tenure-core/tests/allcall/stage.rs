//! A few participants, a bus, and clocks: all of it moved by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::allcall::{
    Allcall, Body, Call, Command, Config, Digest, Effect, Entry, Event, Header, Ignored,
    LeaderClaim, Link, Message, OwnEvent, Packet, Part, Participant, Round, Start, Words,
};
use tenure_core::{BothClocks, ElectionName, End, Input, Protocol, Time, Value, View, WallTime};

/// The true time at which a stage begins.
const BEGIN: u64 = 1_000_000_000_000;
const EPOCH: u64 = 1_800_000_000_000_000_000;
/// The election that stories are about.
pub(crate) const X: &str = "x";

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn name(name: &str) -> ElectionName {
    name.parse().unwrap()
}

/// Instants as seconds since the story began, and words as they are.
fn since_begin(word: &str) -> String {
    let (word, end) = match word.strip_suffix(';') {
        Some(word) => (word, ";"),
        None => (word, ""),
    };
    let begin = BEGIN as f64 / 1e9;
    let instant = word.split_once('.').and_then(|_| word.parse::<f64>().ok());
    match instant {
        Some(at) if at > 1e9 => format!("{:.3}s{end}", at - EPOCH as f64 / 1e9 - begin),
        Some(at) => format!("{:.3}s{end}", at - begin),
        None => format!("{word}{end}"),
    }
}

/// One participant and its clocks.
pub(crate) struct Node {
    pub(crate) core: Allcall,
    pub(crate) up: bool,
    /// How far its wall clock is ahead of true time, in milliseconds.
    pub(crate) ahead: i64,
    /// Its client holds back what it publishes.
    pub(crate) holds_back: bool,
    held_back: Vec<Packet>,
    /// Nothing that it does happens: it is stopped.
    pub(crate) stopped: bool,
    /// What reached it while it was stopped.
    waiting: Vec<Packet>,
    /// It campaigns again after each loss.
    pub(crate) again: bool,
    pub(crate) told: Vec<(Option<ElectionName>, Event)>,
}

/// The participants, the bus, and what happened on it.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Node>,
    pub(crate) now: Time,
    /// The most bytes that the server takes.
    pub(crate) payload: usize,
    /// How long a message takes.
    pub(crate) delay: Duration,
    /// How much longer it takes to the others: each is at a server of its own, which brings what
    /// its client publishes back to it before the route has brought it to the other servers.
    pub(crate) route: Duration,
    /// Which way is cut: from, to.
    pub(crate) cut: Vec<(usize, usize)>,
    /// What is published and heard by nobody else, by its sender and kind.
    pub(crate) loses: fn(usize, usize, &Packet) -> bool,
    queue: BTreeMap<(Time, u64), (usize, Packet)>,
    sent: u64,
    /// All that was published: when, by whom.
    pub(crate) log: Vec<(Time, usize, Packet)>,
    /// What is told of the story, while it is recorded.
    record: Option<String>,
    /// How long two or more led each election so far, and since when they do.
    overlap: BTreeMap<ElectionName, Duration>,
    looked: Time,
}

/// The settings of a participant: rank = its number.
pub(crate) fn config(node: usize) -> Config {
    let id = format!("n{node}").parse().unwrap();
    Config { rank: Some(node as u64), ..Config::new("c".parse().unwrap(), id) }
}

impl Stage {
    /// So many participants, none of which has started.
    pub(crate) fn new(nodes: usize) -> Self {
        Self::with((0..nodes).map(config).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let nodes = configs.into_iter().map(|config| Node {
            core: Allcall::new(config.check().unwrap()),
            up: false,
            ahead: 0,
            holds_back: false,
            held_back: Vec::new(),
            stopped: false,
            waiting: Vec::new(),
            again: false,
            told: Vec::new(),
        });
        let now = Time::from_nanos(BEGIN);
        Self {
            nodes: nodes.collect(),
            now,
            payload: 1 << 20,
            delay: ms(1),
            route: Duration::ZERO,
            cut: Vec::new(),
            loses: |_, _, _| false,
            queue: BTreeMap::new(),
            sent: 0,
            log: Vec::new(),
            record: None,
            overlap: BTreeMap::new(),
            looked: now,
        }
    }

    /// So many participants that campaign for `x`, the first of which leads.
    pub(crate) fn led(nodes: usize) -> Self {
        let mut stage = Self::new(nodes);
        (0..nodes).for_each(|node| stage.join(node));
        (0..nodes).for_each(|node| stage.campaign(node, X));
        stage.pass(ms(15_000));
        assert_eq!(stage.leaders(X), [0]);
        stage
    }

    /// A participant starts, and is connected.
    pub(crate) fn join(&mut self, node: usize) {
        let number = node as u128 + 1;
        self.start(node, Start { incarnation: number << 96, tie: number, seed: node as u64 });
    }

    pub(crate) fn start(&mut self, node: usize, start: Start) {
        self.hand(node, Input::Start(start));
        self.link_up(node);
    }

    pub(crate) fn link_up(&mut self, node: usize) {
        self.nodes[node].up = true;
        self.hear_link(node, Link::Up { max_payload: self.payload });
    }

    pub(crate) fn link_down(&mut self, node: usize) {
        self.nodes[node].up = false;
        self.hear_link(node, Link::Down);
    }

    fn hear_link(&mut self, node: usize, link: Link) {
        let message = Message::Link(link);
        self.hand(node, Input::Message { from: tenure_core::allcall::Bus, message });
    }

    /// Another process of this name takes the place of one that was killed.
    pub(crate) fn restart(&mut self, node: usize, config: Config, incarnation: u128) {
        self.nodes[node].core = Allcall::new(config.check().unwrap());
        self.start(node, Start { incarnation, tie: incarnation, seed: 1 });
    }

    /// It is killed: nothing of it is left.
    pub(crate) fn kill(&mut self, node: usize) {
        let config = config(node).check().unwrap();
        (self.nodes[node].core, self.nodes[node].up) = (Allcall::new(config), false);
    }

    pub(crate) fn campaign(&mut self, node: usize, election: &str) {
        let value: Value = "v".parse().unwrap();
        self.command(node, election, Command::Campaign { value, priority: 0 });
    }

    pub(crate) fn observe(&mut self, node: usize, election: &str) {
        self.command(node, election, Command::Observe { every: Duration::ZERO });
    }

    pub(crate) fn command(&mut self, node: usize, election: &str, command: Command) {
        self.hand(node, Input::Command { election: name(election), command });
    }

    /// The bus brings this to one participant now, whoever sent it.
    pub(crate) fn deliver(&mut self, to: usize, packet: Packet) {
        let message = Message::Packet(packet);
        self.hand(to, Input::Message { from: tenure_core::allcall::Bus, message });
    }

    /// Messages of these to the others and back are lost.
    pub(crate) fn partition(&mut self, part: &[usize]) {
        let all = 0..self.nodes.len();
        self.cut = all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).collect();
        self.cut.retain(|(from, to)| part.contains(from) != part.contains(to));
    }

    /// Everybody hears only itself.
    pub(crate) fn isolate_all(&mut self) {
        let all = 0..self.nodes.len();
        self.cut = all.clone().flat_map(|from| all.clone().map(move |to| (from, to))).collect();
        self.cut.retain(|(from, to)| from != to);
    }

    /// One does not hear itself, nor does anybody else.
    pub(crate) fn cut_off(&mut self, node: usize) {
        for other in 0..self.nodes.len() {
            self.cut.extend([(node, other), (other, node)]);
        }
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    fn clocks(&self, node: usize) -> BothClocks {
        let wall =
            (EPOCH + self.now.as_nanos()).saturating_add_signed(self.nodes[node].ahead * 1_000_000);
        BothClocks { boot: self.now, wall: WallTime::from_nanos(wall), apart: Duration::ZERO }
    }

    /// What a participant's wall clock shows now.
    pub(crate) fn wall(&self, node: usize) -> WallTime {
        self.clocks(node).wall
    }

    fn hand(&mut self, node: usize, input: Input<Words>) {
        self.look();
        let (mut effects, now) = (Vec::new(), self.clocks(node));
        self.nodes[node].core.handle(now, input, &mut effects);
        let due = self.nodes[node].core.deadline();
        assert!(due.is_none_or(|due| due.at > self.now), "A7: {due:?} is left at {}", self.now);
        let mut lost = Vec::new();
        self.check_handles(node, &effects);
        for effect in effects {
            self.note(node, &effect);
            match effect {
                Effect::Send { message: Message::Packet(packet), .. } => {
                    self.publish(node, packet);
                }
                Effect::Emit { election, event } => {
                    if matches!(event, Event::Ended(End::Lost(_))) {
                        lost.extend(election.clone());
                    }
                    self.nodes[node].told.push((election, event));
                }
                _ => {}
            }
        }
        if self.nodes[node].again {
            lost.iter().for_each(|election| self.campaign(node, election.as_str()));
        }
    }

    /// From now on what happens is told.
    pub(crate) fn tell(&mut self) {
        self.record.get_or_insert_default();
    }

    /// What has happened, in words, and time passes until this is over.
    pub(crate) fn quietly(&mut self, span: Duration) {
        let told = self.record.take();
        self.pass(span);
        self.record = told.map(|told| told + "     ...\n");
    }

    /// The whole story.
    pub(crate) fn told_so_far(&mut self) -> String {
        self.record.take().unwrap_or_default()
    }

    /// What is published is told once, whoever hears it; what is counted is not told.
    fn note(&mut self, node: usize, effect: &Effect) {
        let ignored =
            matches!(effect, Effect::Emit { event: Event::Own(OwnEvent::Ignored(_)), .. });
        let at = self.now.since(Time::from_nanos(BEGIN)).as_millis();
        let Some(record) = self.record.as_mut().filter(|_| !ignored) else { return };
        let said = match effect {
            Effect::Send { message, .. } => format!("-> {message}"),
            effect => effect.to_string(),
        };
        let words: Vec<_> = said.split(' ').map(since_begin).collect();
        *record += &format!("{at:>8}  n{node}  {}\n", words.join(" "));
    }

    /// A claim is raised before it is told, and lowered before a tombstone is published (A3).
    fn check_handles(&self, node: usize, effects: &[Effect]) {
        let at = |like: fn(&Effect) -> bool| effects.iter().position(like);
        let resigns = |effect: &Effect| match effect {
            Effect::Send { message: Message::Packet(packet), .. } => {
                matches!(packet.body, Body::Resign(_))
            }
            _ => false,
        };
        let lowered = at(|effect| matches!(effect, Effect::Lower { .. }));
        if let (Some(lowered), Some(resigned)) = (lowered, effects.iter().position(resigns)) {
            assert!(lowered < resigned, "{node}: {effects:?}");
        }
    }

    fn publish(&mut self, from: usize, packet: Packet) {
        self.log.push((self.now, from, packet.clone()));
        if self.nodes[from].holds_back {
            self.nodes[from].held_back.push(packet);
            return;
        }
        for to in 0..self.nodes.len() {
            if !self.cut.contains(&(from, to)) && !(self.loses)(from, to, &packet) {
                self.sent += 1;
                let route = if from == to { Duration::ZERO } else { self.route };
                let at = self.now.after(self.delay).after(route);
                self.queue.insert((at, self.sent), (to, packet.clone()));
            }
        }
    }

    /// What the client of one held back is published after all.
    pub(crate) fn let_go(&mut self, node: usize) -> usize {
        self.nodes[node].holds_back = false;
        let held = std::mem::take(&mut self.nodes[node].held_back);
        let count = held.len();
        held.into_iter().for_each(|packet| self.publish(node, packet));
        count
    }

    /// A stopped process goes on; what reached it meanwhile is there.
    pub(crate) fn go_on(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        for packet in std::mem::take(&mut self.nodes[node].waiting) {
            self.deliver(node, packet);
        }
    }

    /// Time passes: messages arrive, and timers go off when they are due.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..5_000_000 {
            let arrives = self.queue.first_key_value().map(|((at, _), _)| *at);
            let due = self.nodes.iter().enumerate().filter(|(_, node)| !node.stopped);
            let due = due.filter_map(|(n, node)| Some((node.core.deadline()?.at, n))).min();
            let next = arrives.into_iter().chain(due.map(|(at, _)| at)).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.look();
                self.now = until;
                self.look();
                return;
            };
            self.look();
            self.now = self.now.max(next);
            match due.filter(|(at, _)| arrives.is_none_or(|arrives| *at <= arrives)) {
                Some((_, node)) => self.hand(node, Input::Timeout),
                None => self.arrive(),
            }
        }
        panic!("time does not pass");
    }

    fn arrive(&mut self) {
        let Some((_, (to, packet))) = self.queue.pop_first() else { return };
        match &mut self.nodes[to] {
            node if node.stopped => node.waiting.push(packet),
            node if node.up => self.deliver(to, packet),
            _ => {}
        }
    }

    /// Sums up for how long two or more have led.
    fn look(&mut self) {
        let span = self.now.since(self.looked);
        let before = self.looked;
        self.looked = self.now;
        for election in [X, "y"] {
            let leading = |node: &&Node| node.core.standing(&name(election), before).is_leading();
            if span > Duration::ZERO && self.nodes.iter().filter(leading).count() > 1 {
                *self.overlap.entry(name(election)).or_default() += span;
            }
        }
    }

    /// How long two or more have led at the same time so far.
    pub(crate) fn overlap(&mut self) -> Duration {
        self.look();
        self.overlap.get(&name(X)).copied().unwrap_or_default()
    }

    /// Who leads now.
    pub(crate) fn leaders(&self, election: &str) -> Vec<usize> {
        let leads =
            |node: &usize| self.nodes[*node].core.standing(&name(election), self.now).is_leading();
        (0..self.nodes.len()).filter(leads).collect()
    }

    /// Time passes until this is so, at most so long; says how long it took.
    pub(crate) fn until(&mut self, most: Duration, is: impl Fn(&Self) -> bool) -> Duration {
        let begin = self.now;
        while !is(self) {
            let spent = self.now.since(begin);
            assert!(spent < most, "not within {most:?}; leaders {:?}", self.leaders(X));
            self.pass(ms(5));
        }
        self.now.since(begin)
    }

    pub(crate) fn who(&self, node: usize) -> Participant {
        self.nodes[node].core.who().clone()
    }

    /// What was published since the log was cleared, by one of them.
    pub(crate) fn said(&self, node: usize) -> Vec<&Packet> {
        self.log.iter().filter(|(_, from, _)| *from == node).map(|(_, _, packet)| packet).collect()
    }

    /// The calls of one of them since the log was cleared.
    pub(crate) fn calls(&self, node: usize) -> usize {
        self.said(node).iter().filter(|packet| matches!(packet.body, Body::Call(_))).count()
    }

    pub(crate) fn replies(&self, node: usize) -> usize {
        self.said(node).iter().filter(|packet| matches!(packet.body, Body::Reply(_))).count()
    }

    /// The last packet of one of them that is like this.
    pub(crate) fn last(&self, node: usize, like: impl Fn(&Body) -> bool) -> Packet {
        let said = self.said(node);
        said.into_iter().rfind(|packet| like(&packet.body)).unwrap().clone()
    }

    /// How often one of them was told so.
    pub(crate) fn told(&self, node: usize, like: impl Fn(&Event) -> bool) -> usize {
        self.nodes[node].told.iter().filter(|(_, event)| like(event)).count()
    }

    pub(crate) fn ignored(&self, node: usize, reason: Ignored) -> usize {
        self.told(node, |event| *event == Event::Own(OwnEvent::Ignored(reason)))
    }

    /// How the last leadership or campaign of one of them ended.
    pub(crate) fn ended(&self, node: usize) -> Option<&End> {
        self.nodes[node].told.iter().rev().find_map(|(_, event)| match event {
            Event::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// What an observer was told last.
    pub(crate) fn view(&self, node: usize) -> Option<&View> {
        self.nodes[node].told.iter().rev().find_map(|(_, event)| match event {
            Event::View(view) => Some(&**view),
            _ => None,
        })
    }

    /// A header of a stranger that goes by the same times.
    pub(crate) fn stranger(&self, id: &str, rank: u64) -> Header {
        let mut header = self.log[0].2.header.clone();
        header.sender = Participant { id: id.parse().unwrap(), incarnation: 0xbad << 96 };
        (header.rank.number, header.rank.tie, header.established) = (rank, 7, true);
        header.sent = self.wall(0);
        header
    }
}

/// What stories ask of a packet.
pub(crate) trait Says {
    /// The claim of its first entry.
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

/// A call of somebody with a claim of its own for `x`, in a round that nobody has heard of.
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

/// A call of somebody that says this of `x`.
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
