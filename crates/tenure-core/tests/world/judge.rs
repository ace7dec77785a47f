//! What must hold, judged in true time.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use tenure_core::nerio::{Incomparable, QuorumTimestamp, Who};
use tenure_core::{ElectionName, Fence, Time};

#[derive(Default, Clone, Debug)]
pub struct Counts {
    pub worlds: u64,
    pub events: u64,
    pub completions: u64,
    pub elected: u64,
    pub expired: u64,
    pub crashes: u64,
    pub verified: u64,
    pub transfers: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.worlds += 1;
        self.events += other.events;
        self.completions += other.completions;
        self.elected += other.elected;
        self.expired += other.expired;
        self.crashes += other.crashes;
        self.verified += other.verified;
        self.transfers += other.transfers;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} events, {} completions, {} elected, {} expired, {} crashes, {} verified, {} \
             handed over",
            self.events,
            self.completions,
            self.elected,
            self.expired,
            self.crashes,
            self.verified,
            self.transfers
        )
    }
}

/// One leadership: in office from `from` to `until`, in true time.
struct Leadership {
    who: Who,
    /// The first Start of its attempt, on its own clock.
    first: Time,
    fence: Fence,
    from: u64,
    until: u64,
    /// Until when its grants last as long as it releases nothing.
    backed: u64,
    released: Option<u64>,
    /// Until when a verification said that it would last.
    promised: u64,
}

#[derive(Default)]
struct Record {
    leaderships: Vec<Leadership>,
    timestamps: Vec<QuorumTimestamp>,
}

#[derive(Default)]
pub struct Judge {
    records: BTreeMap<ElectionName, Record>,
    pub counts: Counts,
}

type Verdict = Result<(), String>;

impl Judge {
    /// A claim was raised at the true time `at`, and holds until `until`.
    pub fn claim(
        &mut self,
        election: &ElectionName,
        who: &Who,
        (first, fence): (Time, Fence),
        at: u64,
        until: u64,
    ) -> Verdict {
        self.counts.completions += 1;
        if until <= at {
            return Ok(());
        }
        let record = self.records.entry(election.clone()).or_default();
        // Section 1, Leader Uniqueness: at any time, at most one process is leader.
        let other = record
            .leaderships
            .iter()
            .find(|other| other.ends() > at && !(other.who == *who && other.fence == fence));
        if let Some(other) = other {
            return Err(format!(
                "Leader Uniqueness: at {at} {who} (fence {fence}) leads {election} until {until} \
                 while {} (fence {}) leads from {} until {}",
                other.who, other.fence, other.from, other.until
            ));
        }
        let last = record.leaderships.last_mut();
        match last.filter(|last| last.who == *who && last.fence == fence) {
            // The scalar fence, rule 2: a lapse ends the leadership and its fence.
            Some(last) if last.until <= at => {
                Err(format!("fence {fence} of {who} outlived a lapse from {} to {at}", last.until))
            }
            Some(last) => {
                last.until = last.until.max(until);
                last.backed = last.until;
                Ok(())
            }
            None => {
                if let Some(last) = last_fence(record)
                    && fence <= last
                {
                    return Err(format!("fences strictly grow: {who} got {fence} after {last}"));
                }
                let who = who.clone();
                let (backed, released, promised) = (until, None, 0);
                let from = at;
                let leadership =
                    Leadership { who, first, fence, from, until, backed, released, promised };
                record.leaderships.push(leadership);
                Ok(())
            }
        }
    }

    /// A claim was lowered at the true time `at`.
    pub fn lower(&mut self, election: &ElectionName, who: &Who, at: u64) -> Verdict {
        let record = self.records.entry(election.clone()).or_default();
        for leadership in record.leaderships.iter_mut().filter(|l| l.who == *who) {
            leadership.until = leadership.until.min(at);
        }
        Ok(())
    }

    /// A release of everything up to `start` left at the true time `at`.
    pub fn released(
        &mut self,
        election: &ElectionName,
        who: &Who,
        start: Time,
        at: u64,
    ) -> Verdict {
        let record = self.records.entry(election.clone()).or_default();
        let ended = |l: &&mut Leadership| l.who == *who && l.first <= start;
        for leadership in record.leaderships.iter_mut().filter(ended) {
            // Section 6: E is lowered before the release is sent.
            if leadership.until > at {
                let until = leadership.until;
                return Err(format!("{who} released {election} at {at}, leading until {until}"));
            }
            // Erratum 2: a release waits for what a verification promised.
            if leadership.promised > at {
                let promised = leadership.promised;
                return Err(format!("{who} released {election} at {at}, promised {promised}"));
            }
            leadership.released.get_or_insert(at);
        }
        Ok(())
    }

    /// Lemma 7.1: the order of completion is the order of quorum timestamps. Where a state
    /// directory was lost, two may have no grantor in common.
    pub fn elected(
        &mut self,
        election: &ElectionName,
        who: &Who,
        timestamp: &QuorumTimestamp,
        at: u64,
        lost_disk: bool,
    ) -> Verdict {
        self.counts.elected += 1;
        let record = self.records.entry(election.clone()).or_default();
        if !record.leaderships.iter().any(|l| l.who == *who && l.until > at) {
            // Its process slept from the completion until after its lease.
            return Ok(());
        }
        for earlier in record.timestamps.iter().rev().take(8) {
            match earlier.order(timestamp) {
                Ok(Ordering::Less) => {}
                Err(Incomparable::Disjoint) if lost_disk => {}
                other => {
                    return Err(format!(
                        "Lemma 7.1: {earlier} then {timestamp} order as {other:?}"
                    ));
                }
            }
        }
        record.timestamps.push(timestamp.clone());
        Ok(())
    }

    /// Section 10.5: an asker believes at `at` that `who` leads until `until`.
    pub fn verified(&mut self, election: &ElectionName, who: &Who, at: u64, until: u64) -> Verdict {
        self.counts.verified += 1;
        if until <= at {
            return Ok(());
        }
        let record = self.records.entry(election.clone()).or_default();
        match record.leaderships.iter_mut().rev().find(|l| l.who == *who) {
            Some(leadership) if leadership.backs(until) => {
                leadership.promised = leadership.promised.max(until);
                Ok(())
            }
            Some(leadership) => Err(format!(
                "verification of {election} says at {at} that {who} leads until {until}, but its \
                 grants last until {} and were released at {:?}",
                leadership.backed, leadership.released
            )),
            None => Err(format!("verification of {who}, which never led {election}")),
        }
    }

    /// Who leads at the true time `at`.
    pub fn leader(&self, election: &ElectionName, at: u64) -> Option<&Who> {
        let record = self.records.get(election)?;
        let leadership = record.leaderships.iter().find(|l| l.from <= at && at < l.until)?;
        Some(&leadership.who)
    }
}

impl Leadership {
    /// From when on somebody else may lead: after its claim, and after what it promised.
    fn ends(&self) -> u64 {
        self.until.max(self.promised)
    }

    /// Whether nobody else can lead before `until`.
    fn backs(&self, until: u64) -> bool {
        until <= self.backed && self.released.is_none_or(|released| until <= released)
    }
}

fn last_fence(record: &Record) -> Option<Fence> {
    record.leaderships.iter().map(|l| l.fence).max()
}
