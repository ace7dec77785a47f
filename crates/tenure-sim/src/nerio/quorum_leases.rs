//! The state of a world of Nerio, for its checks.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tenure_core::nerio::{Instance, Message, QuorumTimestamp, ToGrantor, Who};
use tenure_core::{NodeName, Time, WallTime};

use super::epochs::Epochs;
use super::fact::Own;
use super::installed::Installations;
use super::walls::Read;
use super::watch::Watch;
use crate::scenario::{History, Leadership};

/// A written grant.
#[derive(Clone, Debug)]
pub struct Grant {
    pub to: Who,
    /// Address of its requests.
    pub address: SocketAddr,
    /// The answered Start.
    pub start: Time,
    /// End in true time.
    pub finish: u64,
    /// Clocks of the grantor when it decided.
    pub read: Read,
}

/// Details of a leadership of Nerio.
#[derive(Clone, Debug)]
pub struct Details {
    pub who: Who,
    /// First Start of the leadership's attempt, on the leader's clock.
    pub first: Time,
    /// Time of the leadership's first release.
    pub released: Option<u64>,
    /// End of a verification's promise.
    pub promised: u64,
    /// End of the leadership's claim by the leader's own clock alone, in true time.
    pub alone: u64,
    /// End of the leadership's claim on the leader's wall clock, if the claim has such an end.
    pub wall: Option<WallTime>,
    /// Clocks of the leader when its claim was first raised.
    pub read: Read,
}

/// Leadership of an application in one election.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Quorum timestamp of the application's leadership.
    pub(super) timestamp: Option<QuorumTimestamp>,
    pub(super) edicts: u64,
    /// First Start of the latest attempt.
    pub(super) first: Time,
}

/// Nerio in one world: all grants, in true time.
#[derive(Debug)]
pub struct QuorumLeases {
    pub(super) installed: Installations,
    /// Last life of each node.
    pub who: Vec<Who>,
    pub lives: Vec<u32>,
    /// Work by node and election.
    pub(super) work: Vec<Vec<Work>>,
    /// Last grant of each grantor, by election.
    pub grants: Vec<BTreeMap<usize, Grant>>,
    /// Last quorum timestamps of each election, in the order of completion.
    pub timestamps: Vec<Vec<QuorumTimestamp>>,
    /// Time of each grantor's last decision that the grantor could not write, so that its memory
    /// exceeds its directory.
    pub unwritten: Vec<Option<u64>>,
    /// Whether a state directory was ever lost.
    pub lost_disk: bool,
    /// Memories that members asked others to write down. A missing directory is not put back once
    /// such a memory has begun in its place.
    pub written: BTreeSet<Instance>,
    /// Memories that a member began to write as founders.
    pub founders: BTreeSet<(NodeName, Instance)>,
    /// Clocks of each node at its last input.
    pub(super) read: Vec<Read>,
    /// Time of the last fact.
    pub(super) now: u64,
    /// The epochs; `None` in worlds whose members never change.
    pub epochs: Option<Box<Epochs>>,
    /// The ends of processes that members watch; `None` in worlds without watches.
    pub watch: Option<Box<Watch>>,
}

impl QuorumLeases {
    #[inline(always)]
    pub(super) fn note_own(&mut self, history: &mut History<Details>, now: u64, fact: Own<'_>) {
        if let Some(epochs) = &mut self.epochs {
            epochs.note(fact);
        }
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
            Own::Granted { grantor, election, record, finish, read } => {
                let to = record.holder.clone();
                let address = record.address;
                let start = record.start;
                let grant = Grant { to, address, start, finish, read };
                self.grants[election].insert(grantor, grant);
            }
            Own::Enters { grantor, .. } => {
                // The grants of the previous epoch are void.
                self.grants.iter_mut().for_each(|grants| drop(grants.remove(&grantor)));
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
