//! The logs as far as a process has read them, and the other lives that it has heard there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::Time;
use tenure_core::nele::{
    Change, Checked, Config, Partition, Reading, Rebalance, RebalanceId, Record, Report, Request,
    Said,
};

/// Readings of one life of a process.
#[derive(Debug, Default)]
pub(super) struct Readings {
    partitions: BTreeMap<Partition, PartitionReading>,
    /// Time of the process's last request or report, on its clock.
    at: Time,
    /// Lives with other terms that the process has heard, by their incarnations.
    unlike: BTreeMap<u128, OtherTerms>,
}

/// A life with another T, as far as the process heard it.
#[derive(Clone, Copy, Debug)]
struct OtherTerms {
    /// Time at which the process first heard the life: after a gap in which the life certainly
    /// ended its leadership, the time begins anew.
    first: Time,
    /// Latest end of the life's leadership, according to its records.
    until: Time,
}

/// The longest span on another clock: x·(1 + ρ)/(1 − ρ), rounded up.
fn by_any_clock(span: Duration, config: &Config) -> Duration {
    let parts = u128::from(config.drift.parts_per_billion());
    let span = span.as_nanos() * (1_000_000_000 + parts);
    let span = span.div_ceil(1_000_000_000 - parts);
    Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
}

/// The state of one partition, as the process knows it.
#[derive(Debug, Default)]
struct PartitionReading {
    assigned: bool,
    /// Whether a record was read since the last assignment.
    fresh: bool,
    /// Present reading, with the next offset once its end is known.
    reading: Option<Reading>,
    next: Option<u64>,
}

impl PartitionReading {
    /// Begins another reading, or none: earlier records no longer count.
    fn read_anew(&mut self, reading: Option<Reading>) {
        self.reading = reading;
        self.next = None;
    }
}

impl Readings {
    /// Whether the process has read a record of this partition since it was last assigned.
    pub(super) fn is_fresh(&self, partition: Partition) -> bool {
        self.partitions.get(&partition).is_some_and(|read| read.fresh)
    }

    /// The incarnations of the lives with other terms that the process heard before this input, and
    /// that may lead.
    pub(super) fn unlike(&self) -> BTreeSet<u128> {
        let heard = self.unlike.iter();
        let may_lead = heard.filter(|(_, one)| one.first < self.at && self.at < one.until);
        may_lead.map(|(life, _)| *life).collect()
    }

    /// Notes a request of the process to its ledger.
    pub(super) fn asks(&mut self, request: &Request, at: Time) {
        self.at = at;
        match request {
            Request::Read { partition, reading } if reading.rebalance != RebalanceId::NONE => {
                self.of(*partition).read_anew(Some(*reading));
            }
            Request::Leave(_) => self.partitions.values_mut().for_each(|read| {
                read.assigned = false;
                read.read_anew(None);
            }),
            _ => {}
        }
    }

    /// Notes a report of the ledger to the process.
    pub(super) fn hears(&mut self, report: &Report, at: Time, config: &Checked) {
        self.at = at;
        match report {
            Report::Rebalance(Rebalance { change, partitions, .. }) => {
                for partition in partitions {
                    let read = self.of(*partition);
                    read.assigned = *change == Change::Assigned;
                    read.fresh = false;
                    read.read_anew(None);
                }
            }
            Report::Position { partition, reading, end: Ok(end) } => {
                let read = self.of(*partition);
                if read.reading == Some(*reading) && read.next.is_none() {
                    read.next = Some(*end);
                }
            }
            Report::Records { partition, reading, records }
                if self.of(*partition).reading == Some(*reading) =>
            {
                for record in records {
                    self.reads(*partition, record, at, config);
                }
            }
            _ => {}
        }
    }

    fn reads(&mut self, partition: Partition, record: &Record, at: Time, config: &Checked) {
        let read = self.of(partition);
        let Some(next) = read.next else { return };
        read.next = Some(next.max(record.offset + 1));
        // Records before the end that the process found do not prove that their writers still run.
        if record.offset < next {
            return;
        }
        read.fresh |= read.assigned;
        if let Said::Entry(entry) = &record.said
            && entry.election == config.election
            && entry.group == config.group
            && entry.terms != config.terms()
        {
            let life = entry.sender.incarnation;
            let known = self.unlike.get(&life).filter(|one| at < one.until);
            let first = known.map_or(at, |one| one.first);
            let until = at.after(by_any_clock(entry.terms.takeover, config));
            self.unlike.insert(life, OtherTerms { first, until });
        }
    }

    fn of(&mut self, partition: Partition) -> &mut PartitionReading {
        self.partitions.entry(partition).or_default()
    }
}
