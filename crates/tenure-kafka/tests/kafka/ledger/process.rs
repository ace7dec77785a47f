//! A process without a core: it asks its ledger by hand, and sees what is reported.

use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

use tenure_core::nele::{
    Change, Config, Entry, EntryNumber, Kind, Membership, Mode, Partition, Process, Reading,
    Rebalance, RebalanceId, Record, Report, Request, Said, Target,
};
use tenure_kafka::{CheckedOptions, GroupProtocol, Ledger, Options, topic};

/// Long enough for anything that comes at all.
pub(crate) const SOON: Duration = Duration::from_secs(40);

/// Settings of a process that takes part in `election`, on as many partitions, with short times.
pub(crate) fn config(election: &str, id: &str, partitions: u32) -> Config {
    // A group of its own for each: a group's name is shorter than an election's.
    let mut hasher = DefaultHasher::new();
    hasher.write(election.as_bytes());
    let group = format!("g{:016x}", hasher.finish()).parse().unwrap();
    let election = election.chars().take(Config::ELECTION_MAX).collect::<String>();
    let (election, id) = (election.parse().unwrap(), id.parse().unwrap());
    let mut config = Config::new(election, group, id, partitions, Mode::AtMostOne);
    config.session_timeout = Duration::from_secs(2);
    config.heartbeat_interval = Duration::from_millis(300);
    config.max_poll_interval = Duration::from_secs(6);
    // A busy disk keeps a record for seconds.
    (config.takeover, config.delivery_timeout) = (Duration::from_secs(7), Duration::from_secs(3));
    config
}

/// The topic of `election` on these brokers, made if need be.
pub(crate) fn options(addresses: &str, election: &str) -> Options {
    let brokers = addresses.split(',').map(|broker| broker.parse().unwrap()).collect();
    Options { create: Some(1), allow_unreplicated: true, ..Options::new(brokers, election) }
}

/// One process.
pub(crate) struct Hand {
    pub(crate) ledger: Ledger,
    config: Config,
    numbers: u64,
    attempts: u64,
}

impl Hand {
    /// With the topic, and joined already.
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

    /// With a topic that is there.
    pub(crate) fn at(options: &CheckedOptions, config: Config) -> Self {
        let checked = config.clone().check().unwrap();
        let ledger = Ledger::new(options, checked).unwrap();
        Self { ledger, config, numbers: 0, attempts: 0 }
    }

    /// The first report of which `find` makes something; those before are dropped.
    pub(crate) async fn until<T>(&self, find: impl Fn(&Report) -> Option<T>) -> T {
        let found = self.within(SOON, find).await;
        found.unwrap_or_else(|seen| panic!("{}: only {seen:#?}", self.config.id))
    }

    /// The same, or what was reported instead.
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

    /// Waits for a rebalance of this kind with so many partitions.
    pub(crate) async fn rebalance(&self, wanted: Change, count: usize) -> Rebalance {
        self.until(|report| rebalance(report, wanted, count)).await
    }

    /// Reads a partition that a rebalance assigned; says where it begins.
    pub(crate) async fn read(&mut self, partition: Partition, by: RebalanceId) -> (Reading, u64) {
        self.tries(async |hand| {
            let reading = hand.ask_to_read(partition, by);
            let end = hand.until(|report| match report {
                Report::Position { reading: of, end, .. } if *of == reading => Some(end.clone()),
                _ => None,
            });
            end.await.map(|end| (reading, end)).map_err(|why| why.to_string())
        })
        .await
    }

    /// What comes of one of some tries: a broker on a busy machine is asked again.
    async fn tries<T>(&mut self, mut once: impl AsyncFnMut(&mut Self) -> Result<T, String>) -> T {
        let mut failed = Vec::new();
        while failed.len() < 5 {
            match once(self).await {
                Ok(done) => return done,
                Err(why) => failed.push(why),
            }
        }
        panic!("{}: {failed:#?}", self.config.id)
    }

    /// The same in one try, unless it has no end that is known.
    pub(crate) async fn try_read(
        &mut self,
        partition: Partition,
        by: RebalanceId,
    ) -> Option<Reading> {
        let reading = self.ask_to_read(partition, by);
        let end = self.within(SOON / 4, |report| match report {
            Report::Position { reading: of, end, .. } if *of == reading => Some(end.is_ok()),
            _ => None,
        });
        end.await.unwrap_or(false).then_some(reading)
    }

    /// Asks for it, and waits for nothing.
    pub(crate) fn ask_to_read(&mut self, partition: Partition, by: RebalanceId) -> Reading {
        self.attempts += 1;
        let reading = Reading { rebalance: by, attempt: self.attempts };
        self.ledger.request(&Request::Read { partition, reading });
        reading
    }

    /// Publishes; says which number the entry has.
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

    /// Publishes a report and reads it back by this reading; says what was read. One that does not
    /// reach a busy broker in time is followed by another.
    pub(crate) async fn write(&mut self, to: Target, reading: Reading) -> Record {
        self.tries(async |hand| {
            let number = hand.publish(to, Kind::Beat);
            let back = hand.until(|report| match report {
                Report::Published { number: of, outcome: Err(why), .. } if *of == number => {
                    Some(Err(why.to_string()))
                }
                report => found(report, reading, number).map(Ok),
            });
            back.await
        })
        .await
    }

    /// The record of an entry of any process, when it is read by this reading.
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

/// What was read by this reading.
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
