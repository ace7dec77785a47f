//! Proofs of a process's claims: its requests to the ledger, and the log that the process has read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::Time;
use tenure_core::nele::{
    Change, Checked, Config, Entry, EntryNumber, Kind, Partition, Process, Reading, Rebalance,
    RebalanceId, Record, Report, Request, Said, Target,
};

/// Proofs of one life of a process.
#[derive(Debug, Default)]
pub struct Proofs {
    /// Send time of each of the process's records.
    sent: BTreeMap<EntryNumber, Time>,
    pub partitions: BTreeMap<Partition, PartitionState>,
    /// Time of the process's last request or report, on its clock.
    pub at: Time,
    /// Lives with other terms that the process has heard, by their incarnations.
    unlike: BTreeMap<u128, OtherTerms>,
}

/// A life with another T, as far as the process heard it.
#[derive(Clone, Copy, Debug)]
struct OtherTerms {
    /// Time of the life's first record, without a later break in which the life could not have led.
    first: Time,
    /// Latest end of the life's leadership, according to its records.
    until: Time,
    /// How long a claimant waits for this life.
    span: Duration,
}

/// The longest span on another clock: x·(1 + ρ)/(1 − ρ), rounded up.
#[must_use]
pub fn by_any_clock(span: Duration, config: &Config) -> Duration {
    let parts = u128::from(config.drift.parts_per_billion());
    let span = span.as_nanos() * (1_000_000_000 + parts);
    let span = span.div_ceil(1_000_000_000 - parts);
    Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
}

/// The state of one partition, as the process knows it.
#[derive(Debug, Default)]
pub struct PartitionState {
    pub assigned: bool,
    /// Whether a record was read since the last assignment.
    pub fresh: bool,
    /// Present reading, with the next offset once its end is known.
    reading: Option<Reading>,
    next: Option<u64>,
    /// The last claim under this reading, until its outcome is known.
    asked: Option<EntryNumber>,
    /// A claim that was read back, and is not void.
    pub claim: Option<Proof>,
    /// Time at which a claim last became void, or the assignment last changed.
    pub ended: Option<Time>,
    /// The claim that ended at that time, if any: timers due at that time ran first.
    pub was: Option<Proof>,
}

/// A standing claim, by the log that was read.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    /// Time at which the first of these claims was read back.
    pub since: Time,
    /// Time of the first of these claims in the present leader epoch.
    pub renewed: Time,
    /// Offset of the last of these claims.
    pub offset: u64,
    /// Leader epoch of its batch.
    pub epoch: Option<u32>,
    /// Send time of the process's last record that was read back after the claim.
    pub evidence: Option<Time>,
    /// Time of the first later record of another leader epoch.
    pub stale: Option<Time>,
}

impl PartitionState {
    fn void(&mut self, at: Time) {
        if let Some(claim) = self.claim.take() {
            self.ended = Some(at);
            self.was = Some(claim);
        }
    }

    /// Begins another reading, or none: earlier records and requests are ignored.
    fn read_anew(&mut self, reading: Option<Reading>) {
        self.reading = reading;
        self.next = None;
        self.asked = None;
        self.claim = None;
    }
}

impl Proofs {
    /// Lives with other terms that the process heard before this input, and that may lead.
    fn heard_before(&self) -> impl Iterator<Item = (&u128, &OtherTerms)> {
        self.unlike.iter().filter(|(_, one)| one.first < self.at && self.at < one.until)
    }

    /// How long a claimant waits for these lives.
    #[must_use]
    pub fn waits_for_others(&self) -> Duration {
        self.heard_before().map(|(_, one)| one.span).max().unwrap_or_default()
    }

    /// The incarnations of these lives.
    #[must_use]
    pub fn unlike(&self) -> BTreeSet<u128> {
        self.heard_before().map(|(life, _)| *life).collect()
    }

    /// Notes a request of the process to its ledger.
    pub fn asks(&mut self, request: &Request, at: Time) {
        self.at = at;
        match request {
            Request::Publish { to, entry } => {
                self.sent.insert(entry.number, at);
                if self.sent.len() > 4_096 {
                    self.sent.pop_first();
                }
                if let (Target::One(partition), Kind::Claim) = (to, entry.kind) {
                    self.of(*partition).asked = Some(entry.number);
                }
            }
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
    pub fn hears(&mut self, report: &Report, at: Time, me: &Process, config: &Checked) {
        self.at = at;
        match report {
            Report::Rebalance(Rebalance { change, partitions, .. }) => {
                for partition in partitions {
                    let read = self.of(*partition);
                    read.assigned = *change == Change::Assigned;
                    read.fresh = false;
                    read.ended = Some(at);
                    read.was = read.claim;
                    read.read_anew(None);
                }
            }
            Report::Position { partition, reading, end: Ok(end) } => {
                let read = self.of(*partition);
                if read.reading == Some(*reading) && read.next.is_none() {
                    read.next = Some(*end);
                }
            }
            Report::Records { partition, reading, records } => {
                let read = self.of(*partition);
                if read.reading == Some(*reading) && read.next.is_some() {
                    for record in records {
                        self.reads(*partition, record, at, me, config);
                    }
                }
            }
            Report::Broken { partition, reading, .. } => {
                let read = self.of(*partition);
                if read.reading == Some(*reading) {
                    read.void(at);
                }
            }
            Report::Published { number, partition, outcome } => {
                let read = self.of(*partition);
                let comes = |next| outcome.as_ref().is_ok_and(|offset| *offset >= next);
                if read.asked == Some(*number) && !read.next.is_some_and(comes) {
                    read.asked = None;
                }
            }
            _ => {}
        }
    }

    fn reads(
        &mut self,
        partition: Partition,
        record: &Record,
        at: Time,
        me: &Process,
        config: &Checked,
    ) {
        let sent = match &record.said {
            Said::Entry(entry) if entry.sender == *me => self.sent.get(&entry.number).copied(),
            _ => None,
        };
        let read = self.of(partition);
        let next = read.next.replace(read.next.unwrap_or(0).max(record.offset + 1));
        // Records before the found end do not prove a present process.
        if let Said::Entry(entry) = &record.said
            && next.is_some_and(|next| record.offset >= next)
            && entry.election == config.election
            && entry.group == config.group
            && entry.terms != config.terms()
        {
            let span = by_any_clock(entry.terms.takeover, config);
            let known = self.unlike.get(&entry.sender.incarnation).filter(|one| at < one.until);
            let first = known.map_or(at, |one| one.first);
            let unlike = OtherTerms { first, until: at.after(span), span };
            self.unlike.insert(entry.sender.incarnation, unlike);
        }
        let read = self.of(partition);
        if next.is_some_and(|next| record.offset >= next) && read.assigned {
            read.fresh = true;
        }
        if next != Some(record.offset) {
            read.void(at);
        }
        if let Some(claim) = &mut read.claim
            && claim.epoch != record.epoch
        {
            claim.stale.get_or_insert(at);
        }
        match &record.said {
            Said::Entry(entry) if entry.sender == *me => {
                read.reads_own(record, entry, config, sent, at);
            }
            Said::Entry(entry) => {
                let ours = entry.election == config.election && entry.group == config.group;
                if entry.kind == Kind::Claim && ours {
                    read.void(at);
                }
            }
            Said::Unreadable => read.void(at),
            Said::Nothing => {}
        }
    }

    fn of(&mut self, partition: Partition) -> &mut PartitionState {
        self.partitions.entry(partition).or_default()
    }
}

impl PartitionState {
    fn reads_own(
        &mut self,
        record: &Record,
        entry: &Entry,
        config: &Checked,
        sent: Option<Time>,
        at: Time,
    ) {
        let Record { offset, epoch, .. } = *record;
        if self.asked == Some(entry.number) {
            self.asked = None;
            // A claim without a fence is ignored.
            let fits = |epoch| u64::from(config.fence_base) + u64::from(epoch) < 1 << 24;
            if !epoch.is_some_and(fits) {
                return;
            }
            let before = self.claim;
            let since = before.map_or(at, |claim| claim.since);
            let same = before.filter(|claim| claim.epoch == epoch);
            let renewed = same.map_or(at, |claim| claim.renewed);
            let evidence = before.and_then(|claim| claim.evidence);
            self.claim = Some(Proof { since, renewed, offset, epoch, evidence, stale: None });
        } else if let Some(claim) = &mut self.claim {
            claim.evidence = claim.evidence.max(sent);
        }
    }
}
