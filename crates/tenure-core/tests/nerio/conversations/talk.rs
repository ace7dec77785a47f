//! A stage whose stories write down what they do: members `a`, `b` and `c` with directories, and
//! candidates beside them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    self, Checked, Config, Effect, Event, Extra, Inc, Instance, Kept, Member, Message, Nerio,
    OwnEvent, Query, Quorums, Remembered, Sender, Start, To, ToAsker, Who, Words,
};
use tenure_core::{Command, Fence, Input, NodeName, Protocol, Standing};
use tenure_testkit::Clock;
use tenure_testkit::conversations::interleaved;
use tenure_testkit::stage::{BEGIN, Node, Scene, Stage, ms, name};

use super::FOLDER;
use super::record::{Detail, Record};
use crate::story::members;

/// Election of all stories.
const DB: &str = "db";

const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// State of a story beside its nodes.
pub(super) struct Talks {
    /// Number of processes that each name has had.
    lives: BTreeMap<NodeName, u32>,
    /// Slow links, both ways: two ends, time that a message takes.
    slow: Vec<(usize, usize, Duration)>,
    traps: Vec<Trap>,
    held: Vec<Letter>,
    last_fence: Fence,
    record: Record,
}

/// Identity of a node in its story.
#[derive(Default)]
pub(super) struct Known {
    /// Name in the story; two nodes can have one name in their settings.
    label: String,
    /// Number of directories that the node has had.
    directories: u32,
}

/// A message under way.
#[derive(Clone)]
pub(super) struct Letter {
    sender: Sender,
    to: usize,
    message: Message,
}

/// Fate of the next message of a kind from one node to another.
struct Trap {
    fate: &'static str,
    kind: String,
    from: usize,
    to: usize,
}

impl Scene for Talks {
    type Core = Nerio;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = Option<Remembered>;
    type Config = (Checked, NodeName);
    type Node = Known;
    type Letter = Letter;

    fn core((cluster, name): &(Checked, NodeName)) -> Nerio {
        Nerio::new(cluster.clone(), name.clone())
    }

    fn write(disk: &mut Option<Remembered>, record: nerio::Record) {
        disk.as_mut().unwrap().write(record);
    }

    fn send(stage: &mut Stage<Self>, from: usize, to: To, message: Message) {
        let sender = Sender { epoch: to.epoch, ..sender(stage, from) };
        let to = place(stage, from, to);
        let said = message.to_string();
        let letter = Letter { sender, to, message };
        let fate = post(stage, from, letter);
        let to = &stage.nodes[to];
        let fate = fate.or((!to.up).then_some("down"));
        stage.own.record.sent(said, &to.own.label, fate);
    }

    fn to(letter: &Letter) -> Option<usize> {
        Some(letter.to)
    }

    fn arrive(stage: &mut Stage<Self>, Letter { sender: from, to, message }: Letter) {
        stage.hand(to, Input::Message { from, message });
    }

    fn hear(stage: &mut Stage<Self>, node: usize, input: &Input<Words>) {
        let one = &stage.nodes[node];
        let said = match input {
            Input::Start(start) => begins(&one.config.1, start),
            Input::Message { from, message } => arrives(from, &message.to_string()),
            Input::Timeout => {
                let why = one.core.deadline().map_or("", |deadline| deadline.why);
                format!("timer: {why}")
            }
            input => input.to_string(),
        };
        note(stage, node, &said);
    }

    /// Records an effect, and checks that fences grow.
    fn see(stage: &mut Stage<Self>, node: usize, effect: &Effect) {
        let one = &stage.nodes[node];
        let record = &mut stage.own.record;
        match effect {
            // `send` above records messages, because it knows their fate.
            Effect::Send { .. } => {}
            Effect::Persist(_) if one.full => record.effect(&format!("{effect} (fails)")),
            Effect::Emit { event, .. } => {
                let (now, clock) = (stage.now.as_nanos(), one.clock.shows(stage.now.as_nanos()));
                let worth = Self::is_worth_a_line(event);
                let said = effect.to_string();
                record.event(now - BEGIN, &one.own.label, clock, &said, worth);
                if let Event::Elected { fence: Some(fence), .. } = event {
                    assert!(*fence > stage.own.last_fence, "{fence} is not above its predecessor");
                    stage.own.last_fence = *fence;
                }
            }
            effect => record.effect(&effect.to_string()),
        }
    }

    /// Checks that at most one node leads at any instant of true time.
    fn judge(stage: &mut Stage<Self>, _: usize, _: &[Effect]) {
        let leaders = stage.leaders(DB);
        assert!(leaders.len() < 2, "Leader Uniqueness: {leaders:?} lead at {}", stage.now);
    }

    fn is_worth_a_line(event: &Event) -> bool {
        !matches!(event, Event::Own(OwnEvent::Ignored(_)))
    }
}

/// Address of the node at a place.
fn socket(place: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_101 + u16::try_from(place).unwrap()))
}

/// Place of the node that receives what another sends to `to`.
fn place(stage: &Stage<Talks>, from: usize, to: To) -> usize {
    let at = members::place(&stage.nodes[from].core, to.recipient);
    let place = (0..stage.nodes.len()).find(|place| socket(*place) == at);
    place.unwrap_or_else(|| panic!("nobody is at {at}"))
}

/// The sender that others see on the messages of a node.
fn sender(stage: &Stage<Talks>, node: usize) -> Sender {
    let core = &stage.nodes[node].core;
    members::sender(core.config(), core.who().clone(), socket(node))
}

/// Puts a letter under way, and returns the letter's fate, if that is unusual.
fn post(stage: &mut Stage<Talks>, from: usize, letter: Letter) -> Option<&'static str> {
    let (to, kind) = (letter.to, kind(&letter.message.to_string()));
    let is_meant = |trap: &Trap| trap.kind == kind && (trap.from, trap.to) == (from, to);
    let trap = stage.own.traps.iter().position(is_meant);
    let fate = trap.map(|at| stage.own.traps.remove(at).fate);
    if stage.is_cut(from, to) {
        return Some("cut");
    }
    let ways = [(from, to), (to, from)];
    let slow = stage.own.slow.iter().find(|(a, b, _)| ways.contains(&(*a, *b)));
    let takes = slow.map_or(stage.delay, |(_, _, takes)| *takes);
    match fate {
        None => stage.later(takes, letter),
        Some("held") => stage.own.held.push(letter),
        Some("twice") => {
            stage.later(takes, letter.clone());
            stage.later(takes, letter);
        }
        Some(_) => {}
    }
    fate
}

/// Kind of a message: the first word of its text; for a read of fences or documents, the second
/// word, too.
fn kind(said: &str) -> String {
    let words: Vec<&str> = said.split(' ').collect();
    match words[0] {
        first @ ("fence" | "document") => format!("{first}-{}", words[1]),
        first => first.to_owned(),
    }
}

/// The line for the start of a process: its identity, and what its directory holds.
fn begins(name: &NodeName, start: &Start) -> String {
    let finds = match start.memory.as_ref().map(|memory| &memory.kept) {
        None => "".into(),
        Some(Kept::New) => ", new directory".into(),
        Some(Kept::Grants(grants)) => format!(", grants written: {}", grants.len()),
        Some(Kept::Reserve) => ", grants of another boot".into(),
        Some(Kept::Nothing) => ", directory lost".into(),
    };
    format!("{} begins{finds}", Who { name: name.clone(), inc: start.inc })
}

/// The line for the arrival of a message: its content is in the line where it was sent.
fn arrives(from: &Sender, said: &str) -> String {
    let start = said.find(" start ").map_or("", |at| &said[at..]);
    let start: Vec<&str> = start.split_whitespace().take(2).collect();
    format!("<- {}  {} {}", from.address, kind(said), start.join(" ")).trim_end().to_owned()
}

/// Records an input of a node.
fn note(stage: &mut Stage<Talks>, node: usize, said: &str) {
    let clock = stage.clock(node);
    let now = stage.now.as_nanos() - BEGIN;
    stage.own.record.input(now, &stage.nodes[node].own.label, clock, said);
}

/// Present claim of a node, and its answer to the question who leads. A copy of the node answers,
/// so that the question changes nothing.
fn standing(stage: &Stage<Talks>, node: usize) -> Vec<String> {
    let one = &stage.nodes[node];
    if !one.up {
        return vec!["does not run".into()];
    }
    let mut lines: Vec<String> = Vec::new();
    match stage.standing(node, DB) {
        Standing::Leading { until, fence } => {
            let fence = fence.map_or_else(String::new, |fence| format!(" fence {fence}"));
            lines.push(format!("leads until {until}{fence}"));
        }
        Standing::NotLeading if one.disk.is_none() => lines.push("does not lead".into()),
        Standing::NotLeading => {}
    }
    if one.disk.is_some() {
        let now = stage.clock(node);
        let message = Message::from(Query { election: name(DB), start: now });
        let mut effects = Vec::new();
        let mut core = one.core.clone();
        core.handle(
            now.into(),
            Input::Message { from: sender(stage, node), message },
            &mut effects,
        );
        lines.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Send { message: message @ Message::Asker(ToAsker::State(_)), .. } => {
                Some(message.to_string())
            }
            _ => None,
        }));
    }
    lines
}

/// A story that records itself: each call begins a part of its text, with the call as the title.
pub(super) struct Talk {
    stage: Stage<Talks>,
    quiet: bool,
}

impl Talk {
    /// A cluster whose members have not started. Products of its settings are round numbers.
    pub(super) fn new() -> Self {
        Self::with("cluster members=a,b,c", ms(2_400))
    }

    /// A cluster as in [`new`](Self::new), with a shorter bound on promises.
    pub(super) fn promising(promise: u64) -> Self {
        Self::with(&format!("cluster members=a,b,c promise={promise}ms"), ms(promise))
    }

    /// A cluster with these nodes: `d` campaigns, and so many milliseconds pass.
    pub(super) fn led(nodes: &str, span: u64) -> Self {
        let mut talk = Self::new();
        talk.quietly().start(nodes);
        talk.quietly().campaign("d");
        talk.quietly().run(span);
        talk
    }

    fn with(title: &str, verify_max: Duration) -> Self {
        let member = |place: usize| Member::at(MEMBERS[place].parse().unwrap(), socket(place));
        let members = (0..MEMBERS.len()).map(member).collect();
        let mut config = Config::new("talks".parse().unwrap(), members).with_lease(ms(2_400));
        config.drift = "0.1".parse().unwrap();
        config.refresh = ms(100);
        config.verify_max = verify_max;
        config.round_trip = ms(10);
        config.grace = ms(100);
        config.kill_margin = ms(10);
        let config = config.check().unwrap();
        let own = Talks {
            lives: BTreeMap::new(),
            slow: Vec::new(),
            traps: Vec::new(),
            held: Vec::new(),
            last_fence: Fence::NONE,
            record: Record::default(),
        };
        let mut talk = Self { stage: Stage::new(own, DB, Vec::new()), quiet: false };
        talk.begin(title);
        for label in MEMBERS {
            talk.add(label, (config.clone(), label.parse().unwrap()));
        }
        talk
    }

    /// Records only events in the next part, and counts messages and writes. Starts are not
    /// recorded.
    pub(super) fn quietly(&mut self) -> &mut Self {
        self.quiet = true;
        self
    }

    /// Starts nodes for the first time.
    pub(super) fn start(&mut self, nodes: &str) {
        self.begin(&format!("start {nodes}"));
        nodes.split(' ').for_each(|node| self.enter(node, node, 100));
    }

    /// Starts nodes whose clocks run at this percentage of true time.
    pub(super) fn start_at_rate(&mut self, nodes: &str, percent: u32) {
        self.begin(&format!("start {nodes} rate={}", f64::from(percent) / 100.0));
        nodes.split(' ').for_each(|node| self.enter(node, node, percent));
    }

    /// Starts a node under the name of another node.
    pub(super) fn start_as(&mut self, node: &str, name: &str) {
        self.begin(&format!("start {node} name={name}"));
        self.enter(node, name, 100);
    }

    /// Starts a node whose members list has these names alone.
    pub(super) fn start_listing(&mut self, node: &str, names: &str) {
        self.begin(&format!("start {node} members={names}"));
        let mut config = Config::clone(&self.stage.nodes[0].config.0);
        config.members.retain(|member| names.split(',').any(|name| name == member.name.as_str()));
        config.quorums = Quorums::majority(config.members.len()).unwrap();
        self.add(node, (config.check().unwrap(), node.parse().unwrap()));
        self.enter(node, node, 100);
    }

    pub(super) fn campaign(&mut self, node: &str) {
        self.begin(&format!("campaign {node}"));
        let value = node.parse().unwrap();
        self.command(node, Command::Campaign { value, priority: 0 });
    }

    pub(super) fn campaign_with(&mut self, node: &str, priority: u8) {
        self.begin(&format!("campaign {node} priority={priority}"));
        let value = node.parse().unwrap();
        self.command(node, Command::Campaign { value, priority });
    }

    pub(super) fn resign(&mut self, node: &str) {
        self.begin(&format!("resign {node}"));
        self.command(node, Command::Resign);
    }

    pub(super) fn transfer(&mut self, node: &str, to: &str) {
        self.begin(&format!("transfer {node} to={to}"));
        self.command(node, Command::Transfer { to: to.parse().unwrap(), probe: false });
    }

    /// A node asks another whether it leads.
    pub(super) fn verify(&mut self, node: &str, leader: &str) {
        self.begin(&format!("verify {node} leader={leader}"));
        let leader = socket(self.node(leader));
        self.command(node, Command::Extra(Extra::Verify { leader }));
    }

    pub(super) fn observe(&mut self, node: &str, every: u64) {
        self.begin(&format!("observe {node} every={every}ms"));
        self.command(node, Command::Observe { every: ms(every) });
    }

    /// Lets so many milliseconds pass.
    pub(super) fn run(&mut self, span: u64) {
        self.begin(&format!("run {span}ms"));
        self.stage.own.record.time_passes();
        self.stage.pass(ms(span));
    }

    /// Lets time pass until the letters that are under way now have arrived.
    pub(super) fn deliver(&mut self) {
        self.begin("deliver");
        self.stage.own.record.time_passes();
        self.stage.deliver();
    }

    /// Slows a link down, both ways.
    pub(super) fn delay(&mut self, from: &str, to: &str, takes: u64) {
        self.begin(&format!("delay {from}-{to} {takes}ms"));
        let slow = (self.node(from), self.node(to), ms(takes));
        self.stage.own.slow.push(slow);
    }

    /// Cuts a link, both ways.
    pub(super) fn cut(&mut self, from: &str, to: &str) {
        self.begin(&format!("cut {from}-{to}"));
        let (from, to) = (self.node(from), self.node(to));
        self.stage.cut.extend([(from, to), (to, from)]);
    }

    /// Cuts all links of a node.
    pub(super) fn cut_off(&mut self, node: &str) {
        self.begin(&format!("cut {node}"));
        let node = self.node(node);
        self.stage.partition(&[node]);
    }

    pub(super) fn heal(&mut self) {
        self.begin("heal");
        self.stage.heal();
    }

    /// Loses the next message of a kind.
    pub(super) fn lose(&mut self, kind: &str, from: &str, to: &str) {
        self.begin(&format!("lose {kind} {from}>{to}"));
        self.trap("lost", kind, from, to);
    }

    /// Holds the next message of a kind back, until [`arrive`](Self::arrive).
    pub(super) fn hold(&mut self, kind: &str, from: &str, to: &str) {
        self.begin(&format!("hold {kind} {from}>{to}"));
        self.trap("held", kind, from, to);
    }

    /// Delivers the next message of a kind twice.
    pub(super) fn repeat(&mut self, kind: &str, from: &str, to: &str) {
        self.begin(&format!("repeat {kind} {from}>{to}"));
        self.trap("twice", kind, from, to);
    }

    /// Delivers the letters that were held back.
    pub(super) fn arrive(&mut self) {
        self.begin("arrive");
        self.stage.own.record.time_passes();
        let held = std::mem::take(&mut self.stage.own.held);
        held.into_iter().for_each(|letter| self.stage.later(Duration::ZERO, letter));
        self.stage.pass(Duration::ZERO);
    }

    pub(super) fn crash(&mut self, node: &str) {
        self.begin(&format!("crash {node}"));
        let node = self.node(node);
        self.end(node);
    }

    /// Starts a node again, with its directory and its clock.
    pub(super) fn restart(&mut self, node: &str) {
        self.begin(&format!("restart {node}"));
        let node = self.node(node);
        self.end(node);
        self.live(node);
    }

    /// Starts the machine of a node again: its clock begins anew.
    pub(super) fn reboot(&mut self, node: &str) {
        self.begin(&format!("restart {node} other-boot"));
        let node = self.node(node);
        self.end(node);
        let since = self.stage.now.as_nanos();
        let one = &mut self.stage.nodes[node];
        one.clock = Clock { origin: 1_000_000_000, since, rate: one.clock.rate };
        one.disk.as_mut().unwrap().forget_grants();
        self.live(node);
    }

    /// Starts a node again, on an empty directory.
    pub(super) fn lose_disk(&mut self, node: &str) {
        self.begin(&format!("restart {node} lost-disk"));
        let node = self.node(node);
        self.end(node);
        let disk = self.directory(node, false);
        self.stage.nodes[node].disk = Some(disk);
        self.live(node);
    }

    pub(super) fn disk_fails(&mut self, node: &str) {
        self.begin(&format!("disk {node} fails"));
        let node = self.node(node);
        self.stage.nodes[node].full = true;
    }

    pub(super) fn disk_works(&mut self, node: &str) {
        self.begin(&format!("disk {node} works"));
        let node = self.node(node);
        self.stage.nodes[node].full = false;
    }

    /// Records the present answers of all nodes.
    pub(super) fn standing(&mut self) {
        self.begin("standing");
        for node in 0..self.stage.nodes.len() {
            let lines = standing(&self.stage, node);
            lines.iter().for_each(|said| note(&mut self.stage, node, said));
        }
    }

    /// Ends the story, and compares its text with the golden one.
    pub(super) fn golden(mut self, name: &str) {
        let Talks { traps, held, record, .. } = &mut self.stage.own;
        let trap = traps.first().map(|trap| &trap.kind);
        assert_eq!(trap, None, "no such message was sent");
        assert!(held.is_empty(), "a message is held for ever");
        interleaved(FOLDER, name, &std::mem::take(record).finish());
    }
}

/// Parts and nodes.
impl Talk {
    fn begin(&mut self, title: &str) {
        let quiet = std::mem::take(&mut self.quiet);
        let detail = match quiet {
            false => Detail::All,
            true if title.starts_with("start ") => Detail::Nothing,
            true => Detail::Events,
        };
        let title = if quiet { format!("{title} quietly") } else { title.to_owned() };
        self.stage.own.record.begin(&title, detail);
    }

    fn node(&self, label: &str) -> usize {
        let node = self.stage.nodes.iter().position(|node| node.own.label == label);
        node.unwrap_or_else(|| panic!("nobody is called {label}"))
    }

    fn add(&mut self, label: &str, config: (Checked, NodeName)) -> usize {
        let place = self.stage.nodes.len();
        self.stage.own.record.short.add(socket(place).to_string(), label.to_owned());
        let mut node = Node::<Talks>::new(config, None);
        node.own.label = label.to_owned();
        self.stage.nodes.push(node);
        place
    }

    /// Starts a node for the first time: a member on a new directory.
    fn enter(&mut self, label: &str, name: &str, percent: u32) {
        let node = match self.stage.nodes.iter().position(|node| node.own.label == label) {
            Some(known) => known,
            None => {
                let cluster = self.stage.nodes[0].config.0.clone();
                self.add(label, (cluster, name.parse().unwrap()))
            }
        };
        let (origin, rate) = ((node as u64 + 1) * 10_000_000_000, u64::from(percent) * 10_000_000);
        let since = self.stage.now.as_nanos();
        self.stage.nodes[node].clock = Clock { origin, since, rate };
        if node < MEMBERS.len() {
            let disk = self.directory(node, true);
            self.stage.nodes[node].disk = Some(disk);
        }
        self.live(node);
    }

    /// A directory for a node, and a short name for it; `fresh` if the cluster starts for the first
    /// time.
    fn directory(&mut self, node: usize, fresh: bool) -> Remembered {
        let of = &mut self.stage.nodes[node].own;
        of.directories += 1;
        let count = of.directories;
        let number = ((node as u128 + 1) << 28) + (u128::from(count) << 24);
        let instance = Instance::new(u64::from(count), number);
        let short = format!("{}/{count}", of.label);
        self.stage.own.record.short.add(instance.to_string(), short);
        Remembered::new(instance, fresh)
    }

    /// Begins the next process of a node.
    fn live(&mut self, node: usize) {
        let (cluster, name) = self.stage.nodes[node].config.clone();
        let life = self.stage.own.lives.entry(name.clone()).or_default();
        *life += 1;
        let spelled = name.as_str().bytes().fold(0, |sum, byte| (sum << 8) | u128::from(byte));
        let inc = Inc((u128::from(*life) << 120) | ((spelled & 0xff_ffff) << 96));
        let short = format!("{name}.{life}");
        self.stage.own.record.short.add(Who { name, inc }.to_string(), short);
        let disk = self.stage.nodes[node].disk.as_ref();
        let memory = disk.map(|disk| disk.memory(&cluster).unwrap());
        self.stage.begin(node, Start { inc, seed: 1, memory });
    }

    /// Ends the process of a node, if it runs.
    fn end(&mut self, node: usize) {
        if self.stage.nodes[node].up {
            note(&mut self.stage, node, "ends");
            self.stage.kill(node);
        }
    }

    fn command(&mut self, node: &str, command: nerio::Command) {
        let node = self.node(node);
        self.stage.command(node, DB, command);
    }

    fn trap(&mut self, fate: &'static str, kind: &str, from: &str, to: &str) {
        let (from, to) = (self.node(from), self.node(to));
        self.stage.own.traps.push(Trap { fate, kind: kind.to_owned(), from, to });
    }
}
