//! What a process has asked of its ledger and heard from it, kept by a second, simpler hand.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::Time;
use tenure_core::nele::{
    Change, Checked, Config, Entry, EntryNumber, Kind, Partition, Process, Reading, Rebalance,
    RebalanceId, Record, Report, Request, Said, Target,
};

/// One life of one process.
#[derive(Debug, Default)]
pub struct Account {
    /// When each of its records was sent.
    sent: BTreeMap<EntryNumber, Time>,
    /// What it knows of each partition.
    pub partitions: BTreeMap<Partition, Read>,
    /// What it has done last, on its clock.
    pub at: Time,
    /// When it was found that it had done nothing for long, though it writes each interval.
    pub woke: Option<Time>,
    /// The lives with other terms that it has heard, by their incarnations.
    unlike: BTreeMap<u128, Unlike>,
}

/// One with another T, as far as it was heard.
#[derive(Clone, Copy, Debug)]
struct Unlike {
    /// When it was heard first, without a break in which it could not have led.
    first: Time,
    /// Until when it may lead by what was heard.
    until: Time,
    /// How long a claimant waits for it.
    span: Duration,
}

/// The longest that a span of one clock can be by another: x·(1 + ρ)/(1 − ρ), rounded up.
#[must_use]
pub fn by_any_clock(span: Duration, config: &Config) -> Duration {
    let parts = u128::from(config.drift.parts_per_billion());
    let span = span.as_nanos() * (1_000_000_000 + parts);
    let span = span.div_ceil(1_000_000_000 - parts);
    Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
}

/// What it knows of one partition.
#[derive(Debug, Default)]
pub struct Read {
    /// Whether it belongs to the process.
    pub assigned: bool,
    /// When that was heard.
    pub changed: Option<Time>,
    /// Under which reading it is read, and which offset comes next, once its end is known.
    reading: Option<Reading>,
    next: Option<u64>,
    /// The last claim that was made under this reading, until its outcome is known.
    asked: Option<EntryNumber>,
    /// When the last own record was sent that was read back.
    pub own: Option<Time>,
    /// A claim that was read back, and that nothing has voided.
    pub claim: Option<Proof>,
    /// When the last claim was voided, until another one is read back.
    pub voided: Option<Time>,
    /// When anything has made a claim void last.
    pub ended: Option<Time>,
    /// Which that was: what was due then came first.
    pub was: Option<Proof>,
    /// What stood when it was assigned or taken away last, and when that was: the same.
    pub left: Option<(Time, Proof)>,
    /// When something was read of it last.
    pub news: Option<Time>,
    /// Whether that was since it was assigned last.
    pub fresh: bool,
}

/// A claim that stands, by what was read of the log.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    /// When the first of these claims was read back.
    pub since: Time,
    /// When the first of those of the present leader epoch was.
    pub renewed: Time,
    /// Of the last one.
    pub offset: u64,
    /// Of its batch.
    pub epoch: Option<u32>,
    /// When the last own record was sent that was read back after it.
    pub evidence: Option<Time>,
    /// When something of another leader epoch was read after it.
    pub stale: Option<Time>,
}

impl Read {
    /// Whether its end is known.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.next.is_some()
    }

    /// Whether what is read in this way counts.
    #[must_use]
    pub fn reads(&self, reading: Reading) -> bool {
        self.reading == Some(reading) && self.is_open()
    }

    fn void(&mut self, at: Time) {
        if let Some(claim) = self.claim.take() {
            (self.voided, self.ended, self.was) = (Some(at), Some(at), Some(claim));
        }
    }

    fn close(&mut self) {
        (self.reading, self.next, self.claim) = (None, None, None);
        (self.asked, self.voided) = (None, None);
    }
}

impl Account {
    fn acts(&mut self, at: Time, config: &Checked) {
        let beats = config.publish_interval;
        if at.since(self.at) > (config.session_timeout / 2).max(beats * 2) + beats {
            self.woke = Some(at);
        }
        self.at = at;
    }

    /// Those with other terms that were heard before this input, and may lead.
    fn heard_before(&self) -> impl Iterator<Item = (&u128, &Unlike)> {
        self.unlike.iter().filter(|(_, one)| one.first < self.at && self.at < one.until)
    }

    /// For how long a claimant waits for them.
    #[must_use]
    pub fn waits_for_others(&self) -> Duration {
        self.heard_before().map(|(_, one)| one.span).max().unwrap_or_default()
    }

    /// Their lives.
    #[must_use]
    pub fn unlike(&self) -> BTreeSet<u128> {
        self.heard_before().map(|(life, _)| *life).collect()
    }

    /// It asks for something.
    pub fn asks(&mut self, request: &Request, at: Time, config: &Checked) {
        self.acts(at, config);
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
                let read = self.of(*partition);
                (read.reading, read.next, read.claim) = (Some(*reading), None, None);
                (read.asked, read.voided) = (None, None);
            }
            Request::Leave(_) => self.partitions.values_mut().for_each(|read| {
                read.assigned = false;
                read.close();
            }),
            _ => {}
        }
    }

    /// It hears something.
    pub fn hears(&mut self, report: &Report, at: Time, me: &Process, config: &Checked) {
        self.acts(at, config);
        match report {
            Report::Rebalance(Rebalance { change, partitions, .. }) => {
                for partition in partitions {
                    let read = self.of(*partition);
                    (read.assigned, read.fresh) = (*change == Change::Assigned, false);
                    read.changed = Some(at);
                    read.left = read.claim.map(|claim| (at, claim));
                    read.close();
                }
            }
            Report::Position { partition, reading, end: Ok(end) } => {
                let read = self.of(*partition);
                if read.reading == Some(*reading) && read.next.is_none() {
                    read.next = Some(*end);
                }
            }
            Report::Records { partition, reading, records } => {
                let current = self.of(*partition).reading == Some(*reading);
                if current && self.of(*partition).is_open() {
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
        // What was written before its end was found says nothing of who is there.
        if let Said::Entry(entry) = &record.said
            && next.is_some_and(|next| record.offset >= next)
            && entry.election == config.election
            && entry.group == config.group
            && entry.terms != config.terms()
        {
            let span = by_any_clock(entry.terms.takeover, config);
            let known = self.unlike.get(&entry.sender.incarnation).filter(|one| at < one.until);
            let first = known.map_or(at, |one| one.first);
            let unlike = Unlike { first, until: at.after(span), span };
            self.unlike.insert(entry.sender.incarnation, unlike);
        }
        let read = self.of(partition);
        if next.is_some_and(|next| record.offset >= next) && read.assigned {
            (read.news, read.fresh) = (Some(at), true);
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
                read.reads_own(record, entry, config, (sent, at));
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

    fn of(&mut self, partition: Partition) -> &mut Read {
        self.partitions.entry(partition).or_default()
    }
}

impl Read {
    fn reads_own(
        &mut self,
        record: &Record,
        entry: &Entry,
        config: &Checked,
        (sent, at): (Option<Time>, Time),
    ) {
        let Record { offset, epoch, .. } = *record;
        self.own = self.own.max(sent);
        if self.asked == Some(entry.number) {
            self.asked = None;
            // Without a fence it is none.
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
            self.voided = None;
        } else if let Some(claim) = &mut self.claim {
            claim.evidence = claim.evidence.max(sent);
        }
    }
}
