//! A few processes, a ledger of logs, a coordinator and clocks: all of it moved by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nele::{
    Change, Command, Config, Effect, Entry, EntryNumber, Event, Extra, Ignored, Kind, Ledger,
    Membership, Message, Mode, Nele, OwnEvent, Partition, Process, Reading, Rebalance, RebalanceId,
    Record, Report, Request, Said, Start, Target, TopicId, Words,
};
use tenure_core::{ElectionName, End, Fence, Input, Protocol, Standing, Time, View};

/// The true time at which a stage begins, and what every clock shows then.
pub(crate) const BEGIN: u64 = 1_000_000_000_000;
/// The election that most stories are about.
pub(crate) const X: &str = "x/0";

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn name(name: &str) -> ElectionName {
    name.parse().unwrap()
}

/// One process.
pub(crate) struct Node {
    pub(crate) core: Nele,
    pub(crate) config: Config,
    /// How much faster its clock is than true time, in parts of a thousand.
    pub(crate) faster: i64,
    /// Nothing that it does happens: it is stopped.
    pub(crate) stopped: bool,
    /// What it publishes stays in its producer.
    pub(crate) holds_back: bool,
    held_back: Vec<(Target, Entry)>,
    /// What it publishes is not acknowledged, and not appended.
    pub(crate) cannot_write: bool,
    /// Of which partitions the ledger does not answer where they end.
    pub(crate) no_end: Vec<u32>,
    /// Nobody answers when it leaves.
    pub(crate) leaves_alone: bool,
    /// It campaigns again after each loss.
    pub(crate) again: bool,
    /// Readings that come no further.
    stuck: Vec<Reading>,
    /// Nothing of the ledger reaches it.
    cut_off: bool,
    /// When what it reads next arrives at the earliest.
    arrives: Time,
    membership: Membership,
    rebalances: u64,
    reads: BTreeMap<u32, (Reading, u64)>,
    plain: Option<(u32, Reading, u64)>,
    pub(crate) told: Vec<(Option<ElectionName>, Event)>,
    /// All that it asked of the ledger: when, what.
    pub(crate) asked: Vec<(Time, Request)>,
    /// All effects of the last input.
    pub(crate) effects: Vec<Effect>,
}

/// One partition's log.
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    pub(crate) epoch: Option<u32>,
}

enum Happens {
    Append(usize, u32, Entry),
    Report(usize, Report),
    Position(usize, u32, Reading),
    Fetch(usize),
}

/// The processes, the ledger, and what happened.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Node>,
    pub(crate) now: Time,
    pub(crate) logs: Vec<Log>,
    /// How long a record takes to be appended, and to be read.
    pub(crate) delay: Duration,
    /// How long it is on its way after it was read.
    pub(crate) lag: Duration,
    queue: BTreeMap<(Time, u64), Happens>,
    events: u64,
    /// How long two or more of one group led `x/0` so far, and since it had its first leader, how
    /// long nobody did.
    pub(crate) overlap: Duration,
    pub(crate) gap: Duration,
    had_leader: bool,
    looked: Time,
    /// The last fence of each group and role.
    fences: BTreeMap<(String, ElectionName), Fence>,
    /// What is told of the story, while it is recorded.
    pub(crate) record: Option<String>,
}

/// The settings of a process: `n0`, `n1`, … of group `g`, two partitions. T is 4 s in
/// `at_most_one`, and as short as it may be in `at_least_one`.
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

impl Stage {
    /// So many processes of one group, started.
    pub(crate) fn new(nodes: usize, mode: Mode) -> Self {
        Self::with((0..nodes).map(|node| config(node, mode)).collect())
    }

    pub(crate) fn with(configs: Vec<Config>) -> Self {
        let partitions = configs[0].partitions;
        let now = Time::from_nanos(BEGIN);
        let log = |_| Log { records: Vec::new(), epoch: Some(0) };
        let mut stage = Self {
            nodes: configs.into_iter().map(Node::new).collect(),
            now,
            logs: (0..partitions).map(log).collect(),
            delay: ms(5),
            lag: Duration::ZERO,
            queue: BTreeMap::new(),
            events: 0,
            overlap: Duration::ZERO,
            gap: Duration::ZERO,
            had_leader: false,
            looked: now,
            fences: BTreeMap::new(),
            record: None,
        };
        (0..stage.nodes.len()).for_each(|node| stage.start(node, 0));
        stage
    }

    /// So many processes that stand for `x/0`, the first of which leads it: partition 0 is its own.
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
        self.hand(node, Input::Start(start));
    }

    /// It is killed, and another one of its name begins.
    pub(crate) fn restart(&mut self, node: usize) {
        let config = self.nodes[node].config.clone();
        let faster = self.nodes[node].faster;
        self.nodes[node] = Node { faster, ..Node::new(config) };
        self.queue.retain(|_, happens| !happens.is_of(node));
        self.start(node, 1);
    }

    /// It is killed: nothing of it is left but what is on its way.
    pub(crate) fn kill(&mut self, node: usize) {
        let config = self.nodes[node].config.clone();
        self.nodes[node] = Node { stopped: true, ..Node::new(config) };
        self.queue.retain(|_, happens| !happens.is_of(node));
    }

    pub(crate) fn campaign(&mut self, node: usize, election: &str) {
        let value = format!("at {node}").parse().unwrap();
        self.command(node, election, Command::Campaign { value, priority: 0 });
    }

    pub(crate) fn observe(&mut self, node: usize, election: &str) {
        self.command(node, election, Command::Observe { every: Duration::ZERO });
    }

    pub(crate) fn leave(&mut self, node: usize, lead_on: bool, again: bool) {
        self.command(node, X, Command::Extra(Extra::Leave { lead_on, again }));
    }

    pub(crate) fn command(&mut self, node: usize, election: &str, command: Command) {
        self.hand(node, Input::Command { election: name(election), command });
    }

    /// The coordinator gives it these, beside what it has.
    pub(crate) fn assign(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Assigned, partitions);
    }

    /// It is to give these back.
    pub(crate) fn revoke(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Revoked, partitions);
    }

    /// It hears that its session is over.
    pub(crate) fn lose(&mut self, node: usize, partitions: &[u32]) {
        self.rebalance(node, Change::Lost, partitions);
    }

    fn rebalance(&mut self, node: usize, change: Change, partitions: &[u32]) {
        let of = &mut self.nodes[node];
        of.rebalances += 1;
        let (membership, id) = (of.membership, RebalanceId(of.rebalances));
        if change != Change::Assigned {
            of.reads.retain(|partition, _| !partitions.contains(partition));
        }
        let partitions = partitions.iter().copied().map(Partition).collect();
        let rebalance = Rebalance { membership, id, change, partitions };
        self.report(node, Report::Rebalance(rebalance));
    }

    /// The ledger tells it this now.
    pub(crate) fn report(&mut self, node: usize, report: Report) {
        self.hand(node, Input::Message { from: Ledger, message: Message::Report(report) });
    }

    /// What the clock of a process shows at a true time.
    fn shows(&self, node: usize, at: Time) -> Time {
        let passed = i128::from(at.as_nanos() - BEGIN);
        let local = passed * i128::from(1_000 + self.nodes[node].faster) / 1_000;
        Time::from_nanos(BEGIN + u64::try_from(local).unwrap())
    }

    /// What it shows now.
    pub(crate) fn local(&self, node: usize) -> Time {
        self.shows(node, self.now)
    }

    /// When it shows this.
    fn reaches(&self, node: usize, local: Time) -> Time {
        let passed = i128::from(local.as_nanos().saturating_sub(BEGIN)) * 1_000;
        let rate = i128::from(1_000 + self.nodes[node].faster);
        Time::from_nanos(BEGIN + u64::try_from((passed + rate - 1) / rate).unwrap())
    }

    pub(crate) fn hand(&mut self, node: usize, input: Input<Words>) {
        self.look();
        let (now, local) = (self.now, self.local(node));
        self.note_input(node, &input);
        let mut effects = Vec::new();
        let of = &mut self.nodes[node];
        of.core.handle(local, input, &mut effects);
        let due = of.core.deadline();
        assert!(due.is_none_or(|due| due.at > local), "N7: {due:?} is left at {local}");
        of.effects.clone_from(&effects);
        let mut lost = Vec::new();
        for effect in effects {
            self.check(node, &effect);
            self.note(node, &effect);
            match effect {
                Effect::Send { message: Message::Request(request), .. } => {
                    self.nodes[node].asked.push((now, request.clone()));
                    self.carry_out(node, request);
                }
                Effect::Emit { election, event } => {
                    if matches!(event, Event::Ended(End::Lost(_))) {
                        lost.extend(election.clone());
                    }
                    self.nodes[node].told.push((election, event));
                }
                Effect::Send { .. }
                | Effect::Raise { .. }
                | Effect::Lower { .. }
                | Effect::Persist(_)
                | Effect::Flush(..) => {}
            }
        }
        if self.nodes[node].again {
            lost.iter().for_each(|election| self.campaign(node, election.as_str()));
        }
    }

    /// What must hold of every effect: N1, and that fences grow.
    fn check(&mut self, node: usize, effect: &Effect) {
        let config = &self.nodes[node].config;
        let local = self.local(node);
        if let Effect::Raise { until, .. } = effect {
            assert!(*until <= local.after(config.takeover), "N1: {effect} at {local}");
        }
        let Effect::Emit { election: Some(election), event: Event::Elected { fence, .. } } = effect
        else {
            return;
        };
        assert_eq!(fence.is_some(), config.mode == Mode::AtMostOne, "{effect}");
        let key = (config.group.to_string(), election.clone());
        if let Some(fence) = *fence {
            let last = self.fences.insert(key, fence);
            assert!(last < Some(fence), "{effect} after {last:?}");
        }
    }

    fn carry_out(&mut self, node: usize, request: Request) {
        match request {
            Request::Join(membership) => {
                self.nodes[node].membership = membership;
                self.nodes[node].reads.clear();
            }
            Request::Leave(membership) => {
                self.nodes[node].reads.clear();
                if !self.nodes[node].leaves_alone {
                    self.later(self.delay, Happens::Report(node, Report::Left(membership)));
                }
            }
            Request::GiveBack(_) => {}
            Request::Read { partition: Partition(partition), reading } => {
                let of = &mut self.nodes[node];
                match reading.rebalance {
                    RebalanceId::NONE => of.plain = None,
                    _ => drop(of.reads.remove(&partition)),
                }
                if !self.nodes[node].no_end.contains(&partition) {
                    self.later(self.delay, Happens::Position(node, partition, reading));
                }
            }
            Request::Stop(_) => self.nodes[node].plain = None,
            Request::Publish { to, entry } if self.nodes[node].holds_back => {
                self.nodes[node].held_back.push((to, entry));
            }
            Request::Publish { to, entry } => self.publish(node, to, entry),
        }
    }

    fn publish(&mut self, node: usize, to: Target, entry: Entry) {
        let partitions = match to {
            Target::One(Partition(partition)) => vec![partition],
            Target::Every => (0..self.logs.len() as u32).collect(),
        };
        for partition in partitions {
            if self.nodes[node].cannot_write {
                let (number, partition) = (entry.number, Partition(partition));
                let outcome = Err("no leader".into());
                let failed = Report::Published { number, partition, outcome };
                self.later(ms(1_000), Happens::Report(node, failed));
                continue;
            }
            self.later(self.delay, Happens::Append(node, partition, entry.clone()));
        }
    }

    /// What the producer of one held back goes out after all.
    pub(crate) fn let_go(&mut self, node: usize) {
        self.nodes[node].holds_back = false;
        for (to, entry) in std::mem::take(&mut self.nodes[node].held_back) {
            self.publish(node, to, entry);
        }
    }

    fn later(&mut self, delay: Duration, happens: Happens) {
        self.events += 1;
        self.queue.insert((self.now.after(delay), self.events), happens);
    }

    /// A record is appended now, whoever wrote it. Gives its offset.
    pub(crate) fn append(&mut self, partition: u32, said: Said) -> u64 {
        let log = &mut self.logs[partition as usize];
        let offset = log.records.len() as u64;
        log.records.push(Record { offset, epoch: log.epoch, said });
        for node in 0..self.nodes.len() {
            self.later(self.delay, Happens::Fetch(node));
        }
        offset
    }

    /// The last records are lost with the broker that had them.
    pub(crate) fn truncate(&mut self, partition: u32, records: usize) {
        let log = &mut self.logs[partition as usize];
        let left = log.records.len() - records;
        log.records.truncate(left);
        log.epoch = log.epoch.map(|epoch| epoch + 1);
        for node in 0..self.nodes.len() {
            let Some((reading, next)) = self.nodes[node].reads.get(&partition).copied() else {
                continue;
            };
            if next > left as u64 {
                self.nodes[node].reads.remove(&partition);
                let (partition, why) = (Partition(partition), "truncated".into());
                let report = Report::Broken { partition, reading, why };
                match self.nodes[node].stopped || self.nodes[node].cut_off {
                    true => self.later(Duration::ZERO, Happens::Report(node, report)),
                    false => self.report(node, report),
                }
            }
        }
    }

    fn happen(&mut self, happens: Happens) {
        let cut_off = (0..self.nodes.len()).any(|of| self.nodes[of].cut_off && happens.is_of(of));
        match happens {
            _ if cut_off => {}
            Happens::Append(node, partition, entry) => {
                let number = entry.number;
                let claim = entry.kind == Kind::Claim;
                let offset = self.append(partition, Said::Entry(entry));
                if claim {
                    let partition = Partition(partition);
                    let outcome = Ok(offset);
                    let report = Report::Published { number, partition, outcome };
                    // A record is read, as a rule, before its acknowledgement is.
                    self.later(self.delay * 2, Happens::Report(node, report));
                }
            }
            Happens::Report(node, report) => self.report(node, report),
            Happens::Position(node, partition, reading) => {
                let end = self.logs[partition as usize].records.len() as u64;
                let of = &mut self.nodes[node];
                match reading.rebalance {
                    RebalanceId::NONE => of.plain = Some((partition, reading, end)),
                    _ => drop(of.reads.insert(partition, (reading, end))),
                }
                let (partition, end) = (Partition(partition), Ok(end));
                self.report(node, Report::Position { partition, reading, end });
            }
            Happens::Fetch(node) => self.fetch(node),
        }
    }

    /// All that it has not read of what it reads.
    fn fetch(&mut self, node: usize) {
        let mut batches = Vec::new();
        let of = &mut self.nodes[node];
        let reads =
            of.reads.iter_mut().map(|(partition, (reading, next))| (*partition, *reading, next));
        let plain =
            of.plain.iter_mut().map(|(partition, reading, next)| (*partition, *reading, next));
        for (partition, reading, next) in reads.chain(plain) {
            let log = &self.logs[partition as usize].records;
            let from = usize::try_from(*next).unwrap().min(log.len());
            let records = log[from..].to_vec();
            *next = log.len() as u64;
            batches.push((Partition(partition), reading, records));
        }
        for (partition, reading, records) in batches {
            if records.is_empty() || self.nodes[node].stuck.contains(&reading) {
                continue;
            }
            let report = Report::Records { partition, reading, records };
            if self.lag.is_zero() {
                self.report(node, report);
            } else {
                // In order, whatever the lag was before.
                let at = self.nodes[node].arrives.max(self.now.after(self.lag));
                self.nodes[node].arrives = at;
                self.later(at.since(self.now), Happens::Report(node, report));
            }
        }
    }

    /// A stopped process goes on; what reached it meanwhile is there.
    pub(crate) fn go_on(&mut self, node: usize) {
        self.nodes[node].stopped = false;
        let waiting: Vec<_> = {
            let due = self.queue.range(..=(self.now, u64::MAX));
            due.filter(|(_, happens)| happens.is_of(node)).map(|(key, _)| *key).collect()
        };
        for key in waiting {
            let Some(happens) = self.queue.remove(&key) else { continue };
            self.happen(happens);
        }
        self.fetch(node);
    }

    /// Time passes: what is on its way arrives, and timers go off when they are due.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.now.after(span);
        for _ in 0..2_000_000 {
            let stopped = |happens: &Happens| match happens {
                Happens::Append(..) => false,
                Happens::Report(node, _) | Happens::Position(node, ..) | Happens::Fetch(node) => {
                    self.nodes[*node].stopped
                }
            };
            let arrives = self.queue.iter().find(|(_, happens)| !stopped(happens));
            let arrives = arrives.map(|(key, _)| *key);
            let due = (0..self.nodes.len()).filter(|node| !self.nodes[*node].stopped);
            let due = due.filter_map(|node| {
                let at = self.nodes[node].core.deadline()?.at;
                Some((self.reaches(node, at).max(self.now), node))
            });
            let due = due.min();
            let next = arrives.map(|(at, _)| at).into_iter().chain(due.map(|(at, _)| at)).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.look();
                self.now = until;
                self.look();
                return;
            };
            self.look();
            self.now = self.now.max(next);
            match (due, arrives) {
                (Some((at, node)), arrives) if arrives.is_none_or(|(first, _)| at <= first) => {
                    self.hand(node, Input::Timeout);
                }
                (_, Some(key)) => {
                    if let Some(happens) = self.queue.remove(&key) {
                        self.happen(happens);
                    }
                }
                _ => {}
            }
        }
        panic!("time does not pass");
    }

    /// Time passes until this is so, at most that long.
    pub(crate) fn until(&mut self, most: Duration, like: impl Fn(&Self) -> bool) -> Duration {
        let begin = self.now;
        while !like(self) {
            assert!(self.now.since(begin) < most, "not within {most:?}");
            self.pass(ms(1));
        }
        self.now.since(begin)
    }

    /// Sums up for how long two or more of one group led `x/0`, and nobody did.
    fn look(&mut self) {
        let (span, before) = (self.now.since(self.looked), self.looked);
        self.looked = self.now;
        let mut by_group: BTreeMap<String, u32> = BTreeMap::new();
        for node in 0..self.nodes.len() {
            let local = self.shows(node, before);
            if self.nodes[node].core.standing(&name(X), local).is_leading() {
                *by_group.entry(self.nodes[node].config.group.to_string()).or_default() += 1;
            }
        }
        if by_group.values().any(|leaders| *leaders > 1) {
            self.overlap += span;
        }
        self.had_leader |= !by_group.is_empty();
        if self.had_leader && by_group.is_empty() {
            self.gap += span;
        }
    }

    pub(crate) fn standing(&self, node: usize, election: &str) -> Standing {
        self.nodes[node].core.standing(&name(election), self.local(node))
    }

    pub(crate) fn leads(&self, node: usize, election: &str) -> bool {
        self.standing(node, election).is_leading()
    }

    pub(crate) fn leaders(&self, election: &str) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.leads(*node, election)).collect()
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

    /// How often one was told so, of whatever election.
    pub(crate) fn told(&self, node: usize, like: impl Fn(&Event) -> bool) -> usize {
        self.nodes[node].told.iter().filter(|(_, event)| like(event)).count()
    }

    pub(crate) fn told_own(&self, node: usize, event: &OwnEvent) -> usize {
        self.told(node, |told| *told == Event::Own(event.clone()))
    }

    pub(crate) fn ignored(&self, node: usize, reason: Ignored) -> usize {
        self.told_own(node, &OwnEvent::Ignored(reason))
    }

    /// How the last leadership or campaign of an election ended at one.
    pub(crate) fn ended(&self, node: usize, election: &str) -> Option<&End> {
        let of_it = |about: &Option<ElectionName>| about.as_ref() == Some(&name(election));
        let told = self.nodes[node].told.iter().rev().filter(|(about, _)| of_it(about));
        told.into_iter().find_map(|(_, event)| match event {
            Event::Ended(end) => Some(end),
            _ => None,
        })
    }

    /// How often anybody was elected to anything.
    pub(crate) fn elected(&self) -> usize {
        let elected = |event: &Event| matches!(event, Event::Elected { .. });
        (0..self.nodes.len()).map(|node| self.told(node, elected)).sum()
    }

    /// What an observer was told last.
    pub(crate) fn view(&self, node: usize, election: &str) -> Option<&View> {
        let told = self.nodes[node].told.iter().rev();
        let mut told = told.filter(|(about, _)| about.as_ref() == Some(&name(election)));
        told.find_map(|(_, event)| match event {
            Event::View(view) => Some(&**view),
            _ => None,
        })
    }

    /// What one published since then.
    pub(crate) fn published(&self, node: usize, since: Time) -> Vec<(Target, Entry)> {
        let asked = self.nodes[node].asked.iter().filter(|(at, _)| *at >= since);
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

    /// How often one asked for something like this.
    pub(crate) fn asked(&self, node: usize, like: impl Fn(&Request) -> bool) -> usize {
        self.nodes[node].asked.iter().filter(|(_, request)| like(request)).count()
    }

    /// Nothing of the ledger reaches it, or everything does again.
    pub(crate) fn cut_off(&mut self, node: usize, off: bool) {
        self.nodes[node].cut_off = off;
    }

    /// It does not get what it has not read of a partition.
    pub(crate) fn skip(&mut self, node: usize, partition: u32) {
        let end = self.logs[partition as usize].records.len() as u64;
        if let Some((_, next)) = self.nodes[node].reads.get_mut(&partition) {
            *next = end;
        }
    }

    /// Something stands in the way of what it reads now: nothing more comes of that.
    pub(crate) fn stick(&mut self, node: usize) {
        let of = &mut self.nodes[node];
        of.stuck.extend(of.reads.values().map(|(reading, _)| *reading));
        of.stuck.extend(of.plain.iter().map(|(_, reading, _)| *reading));
    }

    /// The same of one partition.
    pub(crate) fn stick_at(&mut self, node: usize, partition: u32) {
        let of = &mut self.nodes[node];
        of.stuck.extend(of.reads.get(&partition).map(|(reading, _)| *reading));
    }

    /// With which reading one reads a partition.
    pub(crate) fn reading(&self, node: usize, partition: u32) -> (Reading, u64) {
        self.nodes[node].reads[&partition]
    }

    /// Which partition one reads outside the group, and with which reading.
    pub(crate) fn plain(&self, node: usize) -> Option<(Partition, Reading)> {
        self.nodes[node].plain.map(|(partition, reading, _)| (Partition(partition), reading))
    }

    /// What a process that nobody knows would say.
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

impl Happens {
    /// Whether it reaches a process, rather than the ledger.
    fn is_of(&self, of: usize) -> bool {
        match self {
            Self::Append(..) => false,
            Self::Report(node, _) | Self::Position(node, ..) | Self::Fetch(node) => *node == of,
        }
    }
}

impl Node {
    fn new(config: Config) -> Self {
        Self {
            core: Nele::new(config.clone().check().unwrap()),
            config,
            faster: 0,
            stopped: false,
            holds_back: false,
            held_back: Vec::new(),
            cannot_write: false,
            no_end: Vec::new(),
            leaves_alone: false,
            again: false,
            stuck: Vec::new(),
            cut_off: false,
            arrives: Time::ZERO,
            membership: Membership::default(),
            rebalances: 0,
            reads: BTreeMap::new(),
            plain: None,
            told: Vec::new(),
            asked: Vec::new(),
            effects: Vec::new(),
        }
    }
}
