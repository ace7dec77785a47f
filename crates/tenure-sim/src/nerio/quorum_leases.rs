//! State of a world of Nerio, in which its checks look things up.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tenure_core::nerio::{Instance, Message, QuorumTimestamp, ToGrantor, Who};
use tenure_core::{NodeName, Time};

use super::fact::Own;
use super::installed::Installations;
use crate::scenario::{History, Leadership};

/// A grant that was written down.
#[derive(Clone, Debug)]
pub struct Grant {
    pub to: Who,
    /// Where its requests come from.
    pub address: SocketAddr,
    /// The Start that it answers.
    pub start: Time,
    /// When it ends, in true time.
    pub finish: u64,
}

/// Details of a leadership of Nerio.
#[derive(Clone, Debug)]
pub struct Details {
    pub who: Who,
    /// The first Start of its attempt, on its own clock.
    pub first: Time,
    /// When it sent its first release.
    pub released: Option<u64>,
    /// Until when a verification said that it would last.
    pub promised: u64,
}

/// Leadership of an application in one election.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// The quorum timestamp of its leadership.
    pub(super) timestamp: Option<QuorumTimestamp>,
    /// How many edicts it has created.
    pub(super) edicts: u64,
    /// The first Start of its latest attempt.
    pub(super) first: Time,
}

/// Nerio in one world: what was granted to whom, in true time.
#[derive(Debug)]
pub struct QuorumLeases {
    pub(super) installed: Installations,
    /// Each node's last life.
    pub who: Vec<Who>,
    /// How many lives each node has begun.
    pub lives: Vec<u32>,
    /// By node and election.
    pub(super) work: Vec<Vec<Work>>,
    /// The last grant of each grantor, by election.
    pub grants: Vec<BTreeMap<usize, Grant>>,
    /// The last quorum timestamps of each election, in the order of completion.
    pub timestamps: Vec<Vec<QuorumTimestamp>>,
    /// When each node last decided something as a grantor that it could not write: it remembers
    /// what its directory does not.
    pub unwritten: Vec<Option<u64>>,
    /// Whether a state directory was ever lost.
    pub lost_disk: bool,
    /// The memories that others were asked to write down: whatever was there before is put back in
    /// vain.
    pub written: BTreeSet<Instance>,
    /// The memories that somebody began to write down as founders.
    pub founders: BTreeSet<(NodeName, Instance)>,
}

impl QuorumLeases {
    #[inline(always)]
    pub(super) fn note_own(&mut self, history: &mut History<Details>, now: u64, fact: Own<'_>) {
        match fact {
            Own::Unwritten { grantor } => self.unwritten[grantor] = Some(now),
            Own::Released { election, who, start } => {
                let leaderships = &mut history.elections[election].leaderships;
                let ended =
                    |led: &&mut Leadership<Details>| led.own.who == *who && led.own.first <= start;
                for leadership in leaderships.iter_mut().rev().filter(ended) {
                    if leadership.own.released.is_some() {
                        break;
                    }
                    leadership.own.released = Some(now);
                }
            }
            Own::Granted { grantor, election, record, finish } => {
                let to = record.holder.clone();
                let address = record.address;
                let start = record.start;
                let grant = Grant { to, address, start, finish };
                self.grants[election].insert(grantor, grant);
            }
            Own::Stamped { election, timestamp, .. } => {
                let timestamps = &mut self.timestamps[election];
                if timestamps.len() >= 8 {
                    timestamps.remove(0);
                }
                timestamps.push(timestamp.clone());
            }
            Own::Verified { election, leader, until, .. } if until > now => {
                let leaderships = history.elections[election].leaderships.iter_mut();
                if let Some(last) = leaderships.rev().find(|led| led.own.who == *leader) {
                    last.own.promised = last.own.promised.max(until);
                }
            }
            Own::Sent { message: Message::Grantor(ToGrantor::FenceRead(read)), .. }
                if read.record =>
            {
                self.written.insert(read.instance);
            }
            Own::Notes { members, .. } => {
                let founders = members.iter().filter(|(_, entry)| entry.founder);
                self.founders.extend(founders.map(|(name, entry)| (name.clone(), entry.instance)));
            }
            _ => {}
        }
    }
}
