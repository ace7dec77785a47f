//! A few processes, a ledger of logs, and a coordinator.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use tenure_core::nele::{
    Change, Config, Effect, Entry, EntryNumber, Event, Extra, Ignored, Kind, Ledger, Membership,
    Message, Mode, Nele, OwnEvent, Partition, Process, Reading, Rebalance, RebalanceId, Record,
    Report, Request, Said, Start, Target, TopicId, Words,
};
use tenure_core::{Command, ElectionName, Fence, Input, Standing, Time};
use tenure_testkit::stage::{self as common, Node, Scene};

pub(crate) use tenure_testkit::stage::{ms, name};

tenure_testkit::stage!(Processes);

/// Election of most stories.
pub(crate) const X: &str = "x/0";

/// The clients of one process.
#[derive(Default)]
pub(crate) struct Clients {
    pub(crate) holds_back: bool,
    held_back: Vec<(Target, Entry)>,
    /// Whether the ledger refuses the producer's entries.
    pub(crate) cannot_write: bool,
    /// Partitions whose end the ledger does not report.
    pub(crate) no_end: Vec<u32>,
    /// Whether the coordinator leaves a departure without an answer.
    pub(crate) leaves_alone: bool,
    /// Readings that will bring no more records.
    stuck: Vec<Reading>,
    /// Whether the process is cut off from the ledger.
    cut_off: bool,
    /// Earliest true time at which the next records arrive.
    arrives: Time,
    membership: Membership,
    rebalances: u64,
    reads: BTreeMap<u32, (Reading, u64)>,
    plain: Option<(u32, Reading, u64)>,
    /// All requests to the ledger, with their true times.
    pub(crate) asked: Vec<(Time, Request)>,
    pub(crate) effects: Vec<Effect>,
}

/// The log of one partition.
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    pub(crate) epoch: Option<u32>,
}

/// A request, a report or a record under way.
pub(crate) enum Transit {
    Append(usize, u32, Entry),
    Report(usize, Report),
    Position(usize, u32, Reading),
    Fetch(usize),
}

/// The ledger of the processes. An entry takes the stage's delay to the ledger, and a record takes
/// the same time back.
pub(crate) struct Processes {
    pub(crate) logs: Vec<Log>,
    /// Additional time that a record takes to its reader.
    pub(crate) lag: Duration,
    /// Last fence of each group and role.
    fences: BTreeMap<(String, ElectionName), Fence>,
}

/// Settings of a process: `n0`, `n1`, … of group `g`, two partitions. T is 4 s in `at_most_one`,
/// and the shortest allowed in `at_least_one`.
pub(crate) fn config(node: usize, mode: Mode) -> Config {
    let id = format!("n{node}").parse().unwrap();
    let mut config = Config::new("x".parse().unwrap(), "g".parse().unwrap(), id, 2, mode);
    config.takeover = match mode {
        Mode::AtLeastOne => config.handover() + ms(1),
        Mode::AtMostOne => ms(4_000),
    };
    config
}

pub(crate) fn topic() -> TopicId {
    TopicId { cluster: "c".into(), topic: 7 << 96 }
}

impl Scene for Processes {
    type Core = Nele;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = ();
    type Config = Config;
    type Node = Clients;
    type Letter = Transit;

    fn core(config: &Config) -> Nele {
        Nele::new(config.clone().check().unwrap())
    }

    fn write((): &mut (), record: Infallible) {
        match record {}
    }

    fn send(stage: &mut common::Stage<Self>, node: usize, _: Ledger, message: Message) {
        if let Message::Request(request) = message {
            stage.nodes[node].own.asked.push((stage.now, request.clone()));
            carry_out(stage, node, request);
        }
    }

    fn to(transit: &Transit) -> Option<usize> {
        match transit {
            Transit::Append(..) => None,
            Transit::Report(node, _) | Transit::Position(node, ..) | Transit::Fetch(node) => {
                Some(*node)
            }
        }
    }

    fn arrive(stage: &mut common::Stage<Self>, transit: Transit) {
        if Self::to(&transit).is_some_and(|node| stage.nodes[node].own.cut_off) {
            return;
        }
        match transit {
            Transit::Append(node, partition, entry) => {
                let number = entry.number;
                let claim = entry.kind == Kind::Claim;
                let offset = append(stage, partition, Said::Entry(entry));
                if claim {
                    let partition = Partition(partition);
                    let outcome = Ok(offset);
                    let written = Report::Published { number, partition, outcome };
                    // A record is read, as a rule, before its acknowledgement is.
                    stage.later(stage.delay * 2, Transit::Report(node, written));
                }
            }
            Transit::Report(node, said) => report(stage, node, said),
            Transit::Position(node, partition, reading) => {
                let end = stage.own.logs[partition as usize].records.len() as u64;
                let of = &mut stage.nodes[node].own;
                match reading.rebalance {
                    RebalanceId::NONE => of.plain = Some((partition, reading, end)),
                    _ => drop(of.reads.insert(partition, (reading, end))),
                }
                let (partition, end) = (Partition(partition), Ok(end));
                report(stage, node, Report::Position { partition, reading, end });
            }
            Transit::Fetch(node) => fetch(stage, node),
        }
    }

    /// Checks that a claim ends within T (N1), and that fences grow.
    fn see(stage: &mut common::Stage<Self>, node: usize, effect: &Effect) {
        let config = &stage.nodes[node].config;
        if let Effect::Raise { until, .. } = effect {
            let local = stage.clock(node);
            assert!(*until <= local.after(config.takeover), "N1: {effect} at {local}");
        }
        let Effect::Emit { election: Some(election), event: Event::Elected { fence, .. } } = effect
        else {
            return;
        };
        assert_eq!(fence.is_some(), config.mode == Mode::AtMostOne, "{effect}");
        let key = (config.group.to_string(), election.clone());
        if let Some(fence) = *fence {
            let last = stage.own.fences.insert(key, fence);
            assert!(last < Some(fence), "{effect} after {last:?}");
        }
    }

    fn judge(stage: &mut common::Stage<Self>, node: usize, effects: &[Effect]) {
        stage.nodes[node].own.effects = effects.to_vec();
    }

    fn heard(input: &Input<Words>) -> Option<String> {
        match input {
            Input::Message { message: Message::Report(report), .. } => Some(format!("<- {report}")),
            Input::Command { election, command } => Some(format!("{election}: {command}")),
            _ => None,
        }
    }

    fn is_worth_a_line(event: &Event) -> bool {
        !matches!(event, Event::Own(OwnEvent::Ignored(_)))
    }
}

/// Hands a process a report of the ledger now.
fn report(stage: &mut common::Stage<Processes>, node: usize, report: Report) {
    stage.hand(node, Input::Message { from: Ledger, message: Message::Report(report) });
}

fn carry_out(stage: &mut common::Stage<Processes>, node: usize, request: Request) {
    match request {
        Request::Join(membership) => {
            stage.nodes[node].own.membership = membership;
            stage.nodes[node].own.reads.clear();
        }
        Request::Leave(membership) => {
            stage.nodes[node].own.reads.clear();
            if !stage.nodes[node].own.leaves_alone {
                stage.later(stage.delay, Transit::Report(node, Report::Left(membership)));
            }
        }
        Request::GiveBack(_) => {}
        Request::Read { partition: Partition(partition), reading } => {
            let of = &mut stage.nodes[node].own;
            match reading.rebalance {
                RebalanceId::NONE => of.plain = None,
                _ => drop(of.reads.remove(&partition)),
            }
            if !stage.nodes[node].own.no_end.contains(&partition) {
                stage.later(stage.delay, Transit::Position(node, partition, reading));
            }
        }
        Request::Stop(_) => stage.nodes[node].own.plain = None,
        Request::Publish { to, entry } if stage.nodes[node].own.holds_back => {
            stage.nodes[node].own.held_back.push((to, entry));
        }
        Request::Publish { to, entry } => publish(stage, node, to, entry),
    }
}

fn publish(stage: &mut common::Stage<Processes>, node: usize, to: Target, entry: Entry) {
    let partitions = match to {
        Target::One(Partition(partition)) => vec![partition],
        Target::Every => (0..stage.own.logs.len() as u32).collect(),
    };
    for partition in partitions {
        if stage.nodes[node].own.cannot_write {
            let (number, partition) = (entry.number, Partition(partition));
            let outcome = Err("no leader".into());
            let failed = Report::Published { number, partition, outcome };
            stage.later(ms(1_000), Transit::Report(node, failed));
            continue;
        }
        stage.later(stage.delay, Transit::Append(node, partition, entry.clone()));
    }
}

/// Appends a record now, and returns its offset.
fn append(stage: &mut common::Stage<Processes>, partition: u32, said: Said) -> u64 {
    let log = &mut stage.own.logs[partition as usize];
    let offset = log.records.len() as u64;
    log.records.push(Record { offset, epoch: log.epoch, said });
    for node in 0..stage.nodes.len() {
        stage.later(stage.delay, Transit::Fetch(node));
    }
    offset
}

/// Brings a process the records that its readings have not had.
fn fetch(stage: &mut common::Stage<Processes>, node: usize) {
    let mut batches = Vec::new();
    let of = &mut stage.nodes[node].own;
    let reads =
        of.reads.iter_mut().map(|(partition, (reading, next))| (*partition, *reading, next));
    let plain = of.plain.iter_mut().map(|(partition, reading, next)| (*partition, *reading, next));
    for (partition, reading, next) in reads.chain(plain) {
        let log = &stage.own.logs[partition as usize].records;
        let from = usize::try_from(*next).unwrap().min(log.len());
        let records = log[from..].to_vec();
        *next = log.len() as u64;
        batches.push((Partition(partition), reading, records));
    }
    for (partition, reading, records) in batches {
        if records.is_empty() || stage.nodes[node].own.stuck.contains(&reading) {
            continue;
        }
        let batch = Report::Records { partition, reading, records };
        if stage.own.lag.is_zero() {
            report(stage, node, batch);
        } else {
            // Records arrive in order, even if the lag was longer before.
            let at = stage.nodes[node].own.arrives.max(stage.now.after(stage.own.lag));
            stage.nodes[node].own.arrives = at;
            stage.later(at.since(stage.now), Transit::Report(node, batch));
        }
    }
}

impl Stage {
    /// A stage with processes of one group that have started.
    pub(crate) fn new(nodes: usize, mode: Mode) -> Self {
        Self::with((0..nodes).map(|node| config(node, mode)).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let log = |_| Log { records: Vec::new(), epoch: Some(0) };
        let logs = (0..configs[0].partitions).map(log).collect();
        let own = Processes { logs, lag: Duration::ZERO, fences: BTreeMap::new() };
        let node = |(node, config): (usize, Config)| -> Node<Processes> {
            let (group, value) = (config.group.to_string(), format!("at {node}"));
            Node { group, value, ..Node::new(config, ()) }
        };
        let nodes = configs.into_iter().enumerate().map(node).collect();
        let mut stage = Self(common::Stage::new(own, X, nodes));
        (stage.delay, stage.step) = (ms(5), ms(1));
        (0..stage.nodes.len()).for_each(|node| stage.start(node, 0));
        stage
    }

    /// A stage with processes that campaign for `x/0`; process 0 owns partition 0 and leads.
    pub(crate) fn led(nodes: usize, mode: Mode) -> Self {
        Self::led_with((0..nodes).map(|node| config(node, mode)).collect())
    }

    pub(crate) fn led_with(configs: Vec<Config>) -> Self {
        let mut stage = Self::with(configs);
        let nodes = stage.nodes.len();
        (0..nodes).for_each(|node| stage.campaign(node, X));
        stage.pass(ms(100));
        stage.assign(0, &[0]);
        (1..nodes).for_each(|node| stage.assign(node, &[]));
        stage.pass(ms(7_000));
        assert_eq!(stage.leaders(X), [0]);
        stage
    }

    fn start(&mut self, node: usize, life: u128) {
        let incarnation = (node as u128 + 1 + 100 * life) << 96;
        let start = Start { incarnation, seed: node as u64, topic: topic() };
        self.begin(node, start);
    }

    /// Kills a process, and starts another process of the same name.
    pub(crate) fn restart(&mut self, node: usize) {
        self.kill(node);
        self.start(node, 1);
    }

    /// Kills a process; only its entries under way to the ledger stay.
    pub(crate) fn kill(&mut self, node: usize) {
        self.0.kill(node);
        self.lose_letters(node);
        let one = &mut self.nodes[node];
        (one.own, one.again) = (Clients::default(), false);
        one.told.clear();
    }

    /// Continues a stopped process, which reads the records that waited.
    pub(crate) fn go_on(&mut self, node: usize) {
        self.0.go_on(node);
        fetch(&mut self.0, node);
    }

    pub(crate) fn leave(&mut self, node: usize, lead_on: bool, again: bool) {
        self.command(node, X, Command::Extra(Extra::Leave { lead_on, again }));
    }

    /// A process campaigns, and then owns these partitions.
    pub(crate) fn stand(&mut self, node: usize, election: &str, partitions: &[u32]) {
        self.campaign(node, election);
        self.assign(node, partitions);
    }

    /// Assigns more partitions to a process.
    pub(crate) fn assign(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Assigned, partitions);
    }

    /// Revokes partitions of a process.
    pub(crate) fn revoke(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Revoked, partitions);
    }

    /// Tells a process that its session is over, and these partitions are lost.
    pub(crate) fn lose(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Lost, partitions);
    }

    fn rebalance(&mut self, node: usize, change: Change, partitions: &[u32]) {
        let of = &mut self.nodes[node].own;
        of.rebalances += 1;
        let (membership, id) = (of.membership, RebalanceId(of.rebalances));
        if change != Change::Assigned {
            of.reads.retain(|partition, _| !partitions.contains(partition));
        }
        let partitions = partitions.iter().copied().map(Partition).collect();
        let rebalance = Rebalance { membership, id, change, partitions };
        self.report(node, Report::Rebalance(rebalance));
    }

    /// Hands a process a report of the ledger now.
    pub(crate) fn report(&mut self, node: usize, said: Report) {
        report(&mut self.0, node, said);
    }

    /// Publishes the entries that a producer held back.
    pub(crate) fn let_go(&mut self, node: usize) {
        self.nodes[node].own.holds_back = false;
        for (to, entry) in std::mem::take(&mut self.nodes[node].own.held_back) {
            publish(&mut self.0, node, to, entry);
        }
    }

    /// Appends a record now, and returns its offset.
    pub(crate) fn append(&mut self, partition: u32, said: Said) -> u64 {
        append(&mut self.0, partition, said)
    }

    /// Loses the last records of a log with their broker.
    pub(crate) fn truncate(&mut self, partition: u32, records: usize) {
        let log = &mut self.own.logs[partition as usize];
        let left = log.records.len() - records;
        log.records.truncate(left);
        log.epoch = log.epoch.map(|epoch| epoch + 1);
        for node in 0..self.nodes.len() {
            let Some((reading, next)) = self.nodes[node].own.reads.get(&partition).copied() else {
                continue;
            };
            if next > left as u64 {
                self.nodes[node].own.reads.remove(&partition);
                let (partition, why) = (Partition(partition), "truncated".into());
                let report = Report::Broken { partition, reading, why };
                match self.nodes[node].stopped || self.nodes[node].own.cut_off {
                    true => self.later(Duration::ZERO, Transit::Report(node, report)),
                    false => self.report(node, report),
                }
            }
        }
    }

    pub(crate) fn leads(&self, node: usize, election: &str) -> bool {
        self.standing(node, election).is_leading()
    }

    pub(crate) fn fence(&self, node: usize, election: &str) -> Option<u64> {
        match self.standing(node, election) {
            Standing::Leading { fence, .. } => fence.map(Fence::number),
            Standing::NotLeading => None,
        }
    }

    pub(crate) fn who(&self, node: usize) -> Process {
        self.nodes[node].core.who().clone()
    }

    pub(crate) fn told_own(&self, node: usize, event: &OwnEvent) -> usize {
        self.told(node, |told| *told == Event::Own(event.clone()))
    }

    pub(crate) fn ignored(&self, node: usize, reason: Ignored) -> usize {
        self.told_own(node, &OwnEvent::Ignored(reason))
    }

    /// Number of leaderships so far.
    pub(crate) fn elected(&self) -> usize {
        let elected = |event: &Event| matches!(event, Event::Elected { .. });
        (0..self.nodes.len()).map(|node| self.told(node, elected)).sum()
    }

    /// Entries that a process has published since that time.
    pub(crate) fn published(&self, node: usize, since: Time) -> Vec<(Target, Entry)> {
        let asked = self.nodes[node].own.asked.iter().filter(|(at, _)| *at >= since);
        let entries = asked.filter_map(|(_, request)| match request {
            Request::Publish { to, entry } => Some((*to, entry.clone())),
            _ => None,
        });
        entries.collect()
    }

    pub(crate) fn claims(&self, node: usize, since: Time) -> usize {
        let published = self.published(node, since);
        published.iter().filter(|(_, entry)| entry.kind == Kind::Claim).count()
    }

    /// Number of a process's requests that match.
    pub(crate) fn asked(&self, node: usize, like: impl Fn(&Request) -> bool) -> usize {
        self.nodes[node].own.asked.iter().filter(|(_, request)| like(request)).count()
    }

    /// Cuts a process off from the ledger, or connects it again.
    pub(crate) fn cut_off(&mut self, node: usize, off: bool) {
        self.nodes[node].own.cut_off = off;
    }

    /// Skips the records of a partition that a process has not read.
    pub(crate) fn skip(&mut self, node: usize, partition: u32) {
        let end = self.own.logs[partition as usize].records.len() as u64;
        if let Some((_, next)) = self.nodes[node].own.reads.get_mut(&partition) {
            *next = end;
        }
    }

    /// Stops all present readings of a process: they bring no more records.
    pub(crate) fn stick(&mut self, node: usize) {
        let of = &mut self.nodes[node].own;
        of.stuck.extend(of.reads.values().map(|(reading, _)| *reading));
        of.stuck.extend(of.plain.iter().map(|(_, reading, _)| *reading));
    }

    /// Stops the present reading of one partition.
    pub(crate) fn stick_at(&mut self, node: usize, partition: u32) {
        let of = &mut self.nodes[node].own;
        of.stuck.extend(of.reads.get(&partition).map(|(reading, _)| *reading));
    }

    /// Reading of a partition, and its next offset.
    pub(crate) fn reading(&self, node: usize, partition: u32) -> (Reading, u64) {
        self.nodes[node].own.reads[&partition]
    }

    /// Partition that a process reads outside the group, and the reading.
    pub(crate) fn plain(&self, node: usize) -> Option<(Partition, Reading)> {
        self.nodes[node].own.plain.map(|(partition, reading, _)| (Partition(partition), reading))
    }

    /// An entry of an unknown process.
    pub(crate) fn stranger(&self, kind: Kind) -> Entry {
        let config = &self.nodes[0].config;
        Entry {
            election: config.election.clone(),
            group: config.group.clone(),
            partitions: config.partitions,
            terms: config.terms(),
            sender: Process { id: "stranger".parse().unwrap(), incarnation: 0xbad << 96 },
            host: "elsewhere".parse().unwrap(),
            number: EntryNumber(self.now.as_nanos()),
            kind,
            stands: Vec::new(),
            leads: Vec::new(),
        }
    }
}
