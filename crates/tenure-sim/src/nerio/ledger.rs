//! Who led when, and what was granted to whom, in true time: what the properties look things up
//! in. Written after they have seen a fact, so that they see it against what was before.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tenure_core::nerio::{Inc, QuorumTimestamp, Who};
use tenure_core::{Fence, Time};

use super::fact::Fact;

/// One leadership: in office from `from` to `until`.
#[derive(Clone, Debug)]
pub struct Leadership {
    /// The node.
    pub node: usize,
    /// Its life.
    pub who: Who,
    /// The first Start of its attempt, on its own clock.
    pub first: Time,
    /// Its fence.
    pub fence: Fence,
    /// When its claim was first raised.
    pub from: u64,
    /// When its claim ends, or was lowered.
    pub until: u64,
    /// Until when its grants last as long as it releases nothing.
    pub backed: u64,
    /// When it sent its first release.
    pub released: Option<u64>,
    /// Until when a verification said that it would last.
    pub promised: u64,
}

impl Leadership {
    /// From when on somebody else may lead: after its claim, and after what it promised.
    #[must_use]
    pub fn ends(&self) -> u64 {
        self.until.max(self.promised)
    }

    /// Whether its claim holds at `at`.
    #[must_use]
    pub const fn holds(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }
}

/// A grant that was written down.
#[derive(Clone, Debug)]
pub struct Grant {
    /// To whom.
    pub to: Who,
    /// Where its requests come from.
    pub address: SocketAddr,
    /// The Start that it answers.
    pub start: Time,
    /// When it ends, in true time.
    pub finish: u64,
}

/// Everything about one election.
#[derive(Clone, Debug, Default)]
pub struct Annals {
    /// The leaderships, in the order in which they began.
    pub leaderships: Vec<Leadership>,
    /// The last grant of each grantor.
    pub grants: BTreeMap<usize, Grant>,
    /// The last quorum timestamps, in the order of completion.
    pub timestamps: Vec<QuorumTimestamp>,
}

impl Annals {
    /// The leadership whose claim holds at `at`.
    #[must_use]
    pub fn leader(&self, at: u64) -> Option<&Leadership> {
        self.leaderships.iter().rev().find(|leadership| leadership.holds(at))
    }

    /// The last leadership of a life.
    #[must_use]
    pub fn last_of(&self, who: &Who) -> Option<&Leadership> {
        self.leaderships.iter().rev().find(|leadership| leadership.who == *who)
    }
}

/// The annals of all elections, and the lives of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By the number of the election.
    pub annals: Vec<Annals>,
    /// The life of each node that runs.
    pub lives: Vec<Option<Inc>>,
    /// When each node's current or last life began.
    pub since: Vec<u64>,
    /// When each node last decided something as a grantor that it could not write: it remembers
    /// what its directory does not.
    pub unwritten: Vec<Option<u64>>,
    /// Whether a state directory was ever lost.
    pub lost_disk: bool,
}

impl Ledger {
    pub(super) fn new(elections: usize, nodes: usize) -> Self {
        Self {
            annals: vec![Annals::default(); elections],
            lives: vec![None; nodes],
            since: vec![0; nodes],
            unwritten: vec![None; nodes],
            lost_disk: false,
        }
    }

    #[inline(always)]
    pub(super) fn note(&mut self, now: u64, fact: Fact<'_>) {
        match fact {
            Fact::Started { node, life, .. } => {
                self.lives[node] = Some(life);
                self.since[node] = now;
            }
            Fact::Crashed { node } => self.lives[node] = None,
            Fact::Unwritten { grantor, .. } => self.unwritten[grantor] = Some(now),
            Fact::Claimed { node, election, who, first, fence, until, .. } => {
                let leaderships = &mut self.annals[election].leaderships;
                let same = |last: &&mut Leadership| last.who == *who && last.fence == fence;
                if let Some(last) = leaderships.iter_mut().rev().find(same) {
                    last.until = last.until.max(until);
                    last.backed = last.until;
                } else if until > now {
                    leaderships.push(Leadership {
                        node,
                        who: who.clone(),
                        first,
                        fence,
                        from: now,
                        until,
                        backed: until,
                        released: None,
                        promised: 0,
                    });
                }
            }
            Fact::Lowered { election, who, .. } => {
                let leaderships = &mut self.annals[election].leaderships;
                for leadership in leaderships.iter_mut().rev().filter(|l| l.who == *who) {
                    if leadership.until <= now {
                        break;
                    }
                    leadership.until = now;
                }
            }
            Fact::Released { election, who, start } => {
                let leaderships = &mut self.annals[election].leaderships;
                let ended = |l: &&mut Leadership| l.who == *who && l.first <= start;
                for leadership in leaderships.iter_mut().rev().filter(ended) {
                    if leadership.released.is_some() {
                        break;
                    }
                    leadership.released = Some(now);
                }
            }
            Fact::Granted { grantor, election, record, finish, .. } => {
                let (to, address, start) = (record.holder.clone(), record.address, record.start);
                let grant = Grant { to, address, start, finish };
                self.annals[election].grants.insert(grantor, grant);
            }
            Fact::Elected { election, timestamp, .. } => {
                let timestamps = &mut self.annals[election].timestamps;
                if timestamps.len() >= 8 {
                    timestamps.remove(0);
                }
                timestamps.push(timestamp.clone());
            }
            Fact::Verified { election, leader, until, .. } if until > now => {
                let leaderships = &mut self.annals[election].leaderships;
                if let Some(last) = leaderships.iter_mut().rev().find(|l| l.who == *leader) {
                    last.promised = last.promised.max(until);
                }
            }
            _ => {}
        }
    }
}
