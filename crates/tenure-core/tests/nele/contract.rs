//! Leaders from partition ownership under the suite: three processes, and a ledger of two
//! partitions with random answers.

use std::time::Duration;

use tenure_core::nele::{
    Change, Command, Config, Entry, EntryNumber, Extra, Kind, Lead, Ledger, Limits, Membership,
    Message, Mode, Nele, Partition, Process, Reading, Rebalance, RebalanceId, Record, Report,
    Request, Role, RoleRange, Said, Start, Target, Terms, TopicId,
};
use tenure_core::{Drift, ElectionName, Fence};
use tenure_testkit::Rng;
use tenure_testkit::contract::{Received, Subject};

const NODES: usize = 3;
const PARTITIONS: u32 = 2;

mod at_least_one {
    tenure_testkit::contract!(nele, crate::contract::Processes<false>);
}

mod at_most_one {
    tenure_testkit::contract!(nele, crate::contract::Processes<true>);
}

struct Processes<const AT_MOST_ONE: bool>;

fn config(node: usize, mode: Mode) -> Config {
    let ms = Duration::from_millis;
    let [election, group] = ["x", "g"];
    let (election, group) = (election.parse().unwrap(), group.parse().unwrap());
    let id = format!("n{node}").parse().unwrap();
    let mut config = Config {
        publish_interval: ms(10),
        session_timeout: ms(30),
        heartbeat_interval: ms(10),
        max_poll_interval: ms(30),
        delivery_timeout: ms(10),
        fetch_wait: ms(5),
        seek: ms(20),
        failover: false,
        grace: ms(5),
        kill_margin: ms(1),
        limits: Limits { roles: 4, processes: 8 },
        ..Config::new(election, group, id, PARTITIONS, mode)
    };
    config.takeover = match mode {
        Mode::AtLeastOne => config.handover() + ms(1),
        Mode::AtMostOne => ms(50),
    };
    config
}

fn process(node: u64) -> Process {
    let id = format!("n{node}").parse().unwrap();
    Process { id, incarnation: u128::from(node + 1) << 96 }
}

fn topic() -> TopicId {
    TopicId { cluster: "c".into(), topic: 1 }
}

/// Two logs, and the part of each that a process has read.
#[derive(Default)]
struct Logs {
    records: [Vec<Record>; PARTITIONS as usize],
    readers: [Reader; NODES],
}

#[derive(Default)]
struct Reader {
    membership: Membership,
    rebalances: u64,
    /// The readings of the process, each with its next offset.
    reads: [Option<(Reading, u64)>; PARTITIONS as usize],
    plain: Option<(Reading, u32, u64)>,
}

impl Reader {
    fn rebalance(&mut self, change: Change, partitions: Vec<Partition>) -> Report {
        self.rebalances += 1;
        let (membership, id) = (self.membership, RebalanceId(self.rebalances));
        Report::Rebalance(Rebalance { membership, id, change, partitions })
    }
}

impl Logs {
    /// The reports that follow a request of a process.
    fn ask(&mut self, node: usize, request: &Request, rng: &mut Rng) -> Vec<(usize, Report)> {
        let mut reports = Vec::new();
        match request {
            Request::Join(membership) => {
                let of = &mut self.readers[node];
                (of.membership, of.reads) = (*membership, Default::default());
                // The coordinator may give one partition to two processes.
                let own = (0..PARTITIONS).filter(|own| *own as usize == node || rng.once_in(4));
                let own: Vec<_> = own.map(Partition).collect();
                reports.push((node, of.rebalance(Change::Assigned, own)));
            }
            Request::Leave(membership) => reports.push((node, Report::Left(*membership))),
            Request::GiveBack(_) | Request::Stop(_) => {}
            Request::Read { partition, reading } => {
                let end = self.records[partition.0 as usize].len() as u64;
                let of = &mut self.readers[node];
                match reading.rebalance {
                    RebalanceId::NONE => of.plain = Some((*reading, partition.0, end)),
                    _ => of.reads[partition.0 as usize] = Some((*reading, end)),
                }
                let (partition, reading) = (*partition, *reading);
                let end = if rng.once_in(30) { Err("slow".into()) } else { Ok(end) };
                reports.push((node, Report::Position { partition, reading, end }));
            }
            Request::Publish { to, entry } => self.publish(node, *to, entry, rng, &mut reports),
        }
        reports
    }

    fn publish(
        &mut self,
        node: usize,
        to: Target,
        entry: &Entry,
        rng: &mut Rng,
        reports: &mut Vec<(usize, Report)>,
    ) {
        for partition in 0..PARTITIONS {
            let number = entry.number;
            let log = &mut self.records[partition as usize];
            let offset = log.len() as u64;
            match to {
                Target::One(one) if one.0 != partition => continue,
                Target::One(one) => {
                    let outcome = if rng.once_in(20) { Err("late".into()) } else { Ok(offset) };
                    reports.push((node, Report::Published { number, partition: one, outcome }));
                }
                Target::Every => {}
            }
            log.push(Record { offset, epoch: Some(3), said: Said::Entry(entry.clone()) });
        }
        self.fetch(node, reports);
        if rng.once_in(60) {
            let own = rng.within(0..u64::from(PARTITIONS)) as u32;
            let change = [Change::Revoked, Change::Lost, Change::Assigned][rng.index(3)];
            let report = self.readers[node].rebalance(change, vec![Partition(own)]);
            reports.push((node, report));
        }
    }

    /// A process gets all unread records at once, so that few come out of order.
    fn fetch(&mut self, node: usize, reports: &mut Vec<(usize, Report)>) {
        let of = &mut self.readers[node];
        let reads = of.reads.iter_mut().enumerate().filter_map(|(partition, reads)| {
            let (reading, next) = reads.as_mut()?;
            Some((u32::try_from(partition).unwrap(), *reading, next))
        });
        let plain =
            of.plain.iter_mut().map(|(reading, partition, next)| (*partition, *reading, next));
        for (partition, reading, next) in reads.chain(plain) {
            let log = &self.records[partition as usize];
            let records = log[*next as usize..].to_vec();
            *next = log.len() as u64;
            if !records.is_empty() {
                let partition = Partition(partition);
                reports.push((node, Report::Records { partition, reading, records }));
            }
        }
    }
}

fn number(rng: &mut Rng) -> u64 {
    match rng.within(0..8) {
        0 => rng.number(),
        1 => u64::MAX,
        _ => rng.within(0..300),
    }
}

fn partition(rng: &mut Rng) -> Partition {
    Partition(if rng.once_in(20) { rng.number() as u32 } else { rng.within(0..2) as u32 })
}

fn role(rng: &mut Rng) -> Role {
    Role(if rng.once_in(10) { rng.number() as u32 } else { rng.within(0..6) as u32 })
}

fn entry(rng: &mut Rng) -> Entry {
    let range = |rng: &mut Rng| RoleRange { first: role(rng), last: role(rng) };
    let lead = |rng: &mut Rng| Lead {
        role: role(rng),
        fence: rng.once_in(2).then(|| Fence::new(rng.number())),
        value: "there".parse().unwrap(),
    };
    let sender = match rng.within(0..4) {
        0 => Process { incarnation: u128::from(rng.number()), ..process(rng.within(0..3)) },
        _ => process(rng.within(0..12)),
    };
    Entry {
        election: if rng.once_in(8) { "y" } else { "x" }.parse().unwrap(),
        group: if rng.once_in(4) { "h" } else { "g" }.parse().unwrap(),
        partitions: PARTITIONS,
        terms: Terms {
            mode: if rng.once_in(2) { Mode::AtLeastOne } else { Mode::AtMostOne },
            takeover: Duration::from_nanos(rng.number()),
            drift: Drift::from_parts_per_billion(number(rng) as u32 % 1_000_000_000).unwrap(),
            fence_base: number(rng) as u32,
        },
        sender,
        host: "metal".parse().unwrap(),
        number: EntryNumber(number(rng)),
        kind: if rng.once_in(8) { Kind::Claim } else { Kind::Beat },
        stands: (0..rng.within(0..4)).map(|_| range(rng)).collect(),
        leads: (0..rng.within(0..4)).map(|_| lead(rng)).collect(),
    }
}

fn record(rng: &mut Rng) -> Record {
    let said = match rng.within(0..8) {
        0 => Said::Nothing,
        1 => Said::Unreadable,
        _ => Said::Entry(entry(rng)),
    };
    let epoch = (!rng.once_in(8)).then(|| number(rng) as u32);
    Record { offset: number(rng), epoch, said }
}

fn hostile(rng: &mut Rng) -> Message {
    let reading = Reading { rebalance: RebalanceId(rng.within(0..6)), attempt: number(rng) };
    let partition = partition(rng);
    Message::Report(match rng.within(0..24) {
        0 => Report::Topic { id: topic(), partitions: PARTITIONS },
        1..=5 => {
            let change = [Change::Assigned, Change::Revoked, Change::Lost][rng.index(3)];
            let (membership, id) = (Membership(rng.within(0..6)), RebalanceId(rng.within(0..400)));
            let partitions = (0..rng.within(0..6)).map(|_| self::partition(rng)).collect();
            Report::Rebalance(Rebalance { membership, id, change, partitions })
        }
        6 => Report::Left(Membership(rng.within(0..6))),
        7..=9 => {
            let end = if rng.once_in(4) { Err("no".into()) } else { Ok(number(rng)) };
            Report::Position { partition, reading, end }
        }
        10 => Report::Broken { partition, reading, why: "gone".into() },
        11..=12 => {
            let outcome = if rng.once_in(2) { Err("no".into()) } else { Ok(number(rng)) };
            Report::Published { number: EntryNumber(number(rng)), partition, outcome }
        }
        13 => return Message::Request(Request::Join(Membership(number(rng)))),
        _ => {
            let records = (0..rng.within(1..5)).map(|_| record(rng)).collect();
            Report::Records { partition, reading, records }
        }
    })
}

impl<const AT_MOST_ONE: bool> Subject for Processes<AT_MOST_ONE> {
    type Core = Nele;
    type Store = Logs;

    const NODES: usize = NODES;
    // A bound on the debug output: this flood left fewer bytes.
    const DEBUG_BYTES_MAX: usize = 60_000;

    fn core(node: usize) -> Nele {
        let mode = if AT_MOST_ONE { Mode::AtMostOne } else { Mode::AtLeastOne };
        Nele::new(config(node, mode).check().unwrap())
    }

    fn start(node: usize) -> Start {
        let incarnation = process(node as u64).incarnation;
        Start { incarnation, seed: node as u64, topic: topic() }
    }

    fn send(
        logs: &mut Logs,
        node: usize,
        _: &Ledger,
        message: &Message,
        rng: &mut Rng,
    ) -> Vec<(usize, Received<Self>)> {
        let Message::Request(request) = message else { return Vec::new() };
        let reports = logs.ask(node, request, rng);
        let sent = |(node, report)| (node, (Ledger, Message::Report(report)));
        reports.into_iter().map(sent).collect()
    }

    fn elections() -> Vec<ElectionName> {
        ["x/0", "x/1", "x/2", "y"].map(|name| name.parse().unwrap()).to_vec()
    }

    fn command(rng: &mut Rng) -> Command {
        match rng.within(0..24) {
            0 => Command::Resign,
            1 | 2 => Command::Observe { every: Duration::ZERO },
            3 => Command::Unobserve,
            4 => Command::Transfer { to: "n1".parse().unwrap(), probe: false },
            5 => Command::Extra(Extra::Leave { lead_on: rng.once_in(2), again: true }),
            6 if rng.once_in(2) => {
                Command::Extra(Extra::Leave { lead_on: rng.once_in(2), again: false })
            }
            _ => Command::Campaign { value: "here".parse().unwrap(), priority: 0 },
        }
    }

    fn hostile(rng: &mut Rng) -> (Ledger, Message) {
        (Ledger, hostile(rng))
    }
}
