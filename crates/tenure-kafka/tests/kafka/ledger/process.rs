//! A process without a core: a test sends its requests, and reads its reports.

use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use tenure_core::nele::{
    Change, Config, Entry, EntryNumber, Kind, Membership, Mode, Partition, Process, Reading,
    Rebalance, RebalanceId, Record, Report, Request, Said, Target,
};
use tenure_kafka::{CheckedOptions, GroupProtocol, Ledger, Options, topic};
use tenure_testkit::handles::PATIENCE;

/// Settings of a process in `election`, with this number of partitions, and with times that outlast
/// a busy machine. The session timeout is the default of groups with the newer protocol.
pub(crate) fn config(election: &str, id: &str, partitions: u32) -> Config {
    // Each election has its own group, by a hash, as a group's name is shorter than an election's.
    let mut hasher = DefaultHasher::new();
    hasher.write(election.as_bytes());
    let group = format!("g{:016x}", hasher.finish()).parse().unwrap();
    let election = election.chars().take(Config::ELECTION_MAX).collect::<String>();
    let election = election.parse().unwrap();
    let id = id.parse().unwrap();
    let mut config = Config::new(election, group, id, partitions, Mode::AtMostOne);
    config.session_timeout = Duration::from_secs(45);
    config.heartbeat_interval = Duration::from_millis(300);
    config.max_poll_interval = PATIENCE;
    config.takeover = PATIENCE * 2;
    config.delivery_timeout = PATIENCE;
    config.seek = PATIENCE;
    config
}

/// Options for the topic of `election` on these brokers; the topic is made if necessary.
pub(crate) fn options(addresses: &str, election: &str) -> Options {
    let brokers = addresses.split(',').map(|broker| broker.parse().unwrap()).collect();
    Options { create: Some(1), allow_unreplicated: true, ..Options::new(brokers, election) }
}

/// A process without a core.
pub(crate) struct Hand {
    pub(crate) ledger: Ledger,
    config: Config,
    numbers: u64,
    attempts: u64,
}

impl Hand {
    /// A process with its topic, which has joined already.
    pub(crate) async fn join(
        addresses: &str,
        config: Config,
        group_protocol: GroupProtocol,
    ) -> Self {
        let mut hand = Self::new(addresses, config, group_protocol).await;
        hand.ledger.request(&Request::Join(Membership(1)));
        hand
    }

    pub(crate) async fn new(
        addresses: &str,
        config: Config,
        group_protocol: GroupProtocol,
    ) -> Self {
        let options = options(addresses, config.group.as_str());
        let options = Options { group_protocol, ..options }.check().unwrap();
        topic::ensure(&options, &config).await.unwrap();
        Self::at(&options, config)
    }

    /// A process with an existing topic.
    pub(crate) fn at(options: &CheckedOptions, config: Config) -> Self {
        let checked = config.clone().check().unwrap();
        let ledger = Ledger::new(options, checked).unwrap();
        Self { ledger, config, numbers: 0, attempts: 0 }
    }

    /// Waits for the first report for which `find` returns a value; drops earlier reports.
    pub(crate) async fn until<T>(&self, find: impl Fn(&Report) -> Option<T>) -> T {
        let found = self.within(PATIENCE, find).await;
        found.unwrap_or_else(|seen| panic!("{}: only {seen:#?}", self.config.id))
    }

    /// As [`until`](Self::until), with a limit: returns the reports that came instead.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        find: impl Fn(&Report) -> Option<T>,
    ) -> Result<T, Vec<String>> {
        let mut seen = Vec::new();
        let search = async {
            loop {
                let report = self.ledger.next().await;
                match find(&report) {
                    Some(found) => return found,
                    None => seen.push(report.to_string()),
                }
            }
        };
        tokio::time::timeout(limit, search).await.map_err(|_| seen)
    }

    /// Waits for a rebalance of this kind with this number of partitions.
    pub(crate) async fn rebalance(&self, wanted: Change, count: usize) -> Rebalance {
        self.until(|report| rebalance(report, wanted, count)).await
    }

    /// Reads a partition that a rebalance assigned; returns the reading and its start.
    pub(crate) async fn read(&mut self, partition: Partition, by: RebalanceId) -> (Reading, u64) {
        let mut failed = Vec::new();
        let tries = async {
            loop {
                let reading = self.ask_to_read(partition, by);
                let end = self.until(|report| match report {
                    Report::Position { reading: of, end, .. } if *of == reading => {
                        Some(end.clone())
                    }
                    _ => None,
                });
                match end.await {
                    Ok(end) => return (reading, end),
                    Err(why) => failed.push(why),
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, tries).await;
        found.unwrap_or_else(|_| panic!("the end of {partition:?} is not found: {failed:#?}"))
    }

    /// Asks for the reading without a wait.
    pub(crate) fn ask_to_read(&mut self, partition: Partition, by: RebalanceId) -> Reading {
        self.attempts += 1;
        let reading = Reading { rebalance: by, attempt: self.attempts };
        self.ledger.request(&Request::Read { partition, reading });
        reading
    }

    pub(crate) fn publish(&mut self, to: Target, kind: Kind) -> EntryNumber {
        self.numbers += 1;
        let Config { election, group, id, host, partitions, .. } = &self.config;
        let number = EntryNumber(self.numbers);
        let entry = Entry {
            election: election.clone(),
            group: group.clone(),
            partitions: *partitions,
            terms: self.config.terms(),
            sender: Process { id: id.clone(), incarnation: 7 },
            host: host.clone(),
            number,
            kind,
            stands: vec![],
            leads: vec![],
        };
        self.ledger.request(&Request::Publish { to, entry });
        number
    }

    /// Publishes a record and reads it back by this reading; returns it.
    pub(crate) async fn write(&mut self, to: Target, reading: Reading) -> Record {
        let number = self.publish(to, Kind::Beat);
        self.read_back(reading, number).await
    }

    /// Waits until this reading returns the record with this number, of any process.
    pub(crate) async fn read_back(&self, reading: Reading, number: EntryNumber) -> Record {
        self.until(|report| found(report, reading, number)).await
    }
}

pub(crate) fn rebalance(report: &Report, wanted: Change, count: usize) -> Option<Rebalance> {
    match report {
        Report::Rebalance(one) if one.change == wanted && one.partitions.len() == count => {
            Some(one.clone())
        }
        _ => None,
    }
}

pub(crate) fn records(report: &Report, reading: Reading) -> Option<&[Record]> {
    match report {
        Report::Records { reading: of, records, .. } if *of == reading => Some(records),
        _ => None,
    }
}

fn found(report: &Report, reading: Reading, number: EntryNumber) -> Option<Record> {
    let is =
        |record: &&Record| matches!(&record.said, Said::Entry(entry) if entry.number == number);
    records(report, reading)?.iter().find(is).cloned()
}
