//! What a restarted grantor remembers: the one opinion of state directories, simulators and tests.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::{Boot, Instance};
use super::record::{GrantRecord, Record};
use super::roster::Entry;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};

/// What a grantor remembers when it starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Which memory it is.
    pub instance: Instance,
    /// The last boot that was written down; zero if none was.
    pub boot: Boot,
    /// The largest lease length that was ever allowed and written down.
    pub delta_max: Duration,
    /// `H`: the durable bound on all fences ever accepted.
    pub reserve: Fence,
    /// How much of it can be trusted.
    pub kept: Kept,
    /// Which memory each member has, as far as it was written down.
    pub roster: Vec<(NodeName, Entry)>,
}

/// How much a grantor remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kept {
    /// There is nothing to remember: the very first start of the cluster.
    New,
    /// Everything: the process ended, the machine did not.
    Grants(Vec<GrantRecord>),
    /// Its fences but not its grants: the machine was restarted, or the table was torn.
    Reserve,
    /// Nothing, though it may have granted before: the directory was lost, there is none, or the
    /// cluster is new. Others are asked which of it is so.
    Nothing,
}

/// What outlives the machine. Nothing in it ever goes back, so the order in which records reach it
/// means nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Durable {
    /// Which memory it is.
    pub instance: Instance,
    /// The last boot that began.
    pub boot: Boot,
    /// The largest lease length ever allowed; `None` until one was.
    pub delta_max: Option<Duration>,
    /// `H`. `None`: this memory was lost, and the fences have not been read from the others yet.
    pub reserve: Option<Fence>,
    /// Which memory each member has, by name.
    pub roster: Vec<(NodeName, Entry)>,
}

impl Durable {
    /// A memory that begins; `first` if an operator says that it is the cluster's very first start.
    #[must_use]
    pub fn begin(instance: Instance, first: bool) -> Self {
        let reserve = first.then_some(Fence::NONE);
        Self { instance, boot: Boot(0), delta_max: None, reserve, roster: Vec::new() }
    }

    /// This after an operator's word that more memories are lost than the others can make up for,
    /// and that nobody leads by them any more: a memory that was lost begins anew, at `begun` or
    /// later than the one before, as one that knows its fences, which go on above `floor`, and none
    /// of its grants. One that was not lost goes on above `floor`, and nothing else of it changes.
    #[must_use]
    pub fn recovered(&self, begun: Instance, delta_max: Duration, floor: Fence) -> Self {
        let mut next = self.clone();
        if self.reserve.is_none() {
            let is_later = begun >= self.instance;
            let later = if is_later { None } else { begun.after(self.instance) };
            (next.instance, next.boot) = (later.unwrap_or(begun), Boot(0));
            next.delta_max = self.delta_max.max(Some(delta_max));
        }
        next.reserve = self.reserve.max(Some(floor));
        next
    }

    /// Whether it was [`recovered`](Self::recovered), and nobody has started on it since.
    #[must_use]
    pub fn is_just_recovered(&self) -> bool {
        self.reserve.is_some() && self.boot == Boot(0)
    }

    /// This with what is durable of `record`; `None` if it is one that outlives only the process.
    #[must_use]
    pub fn with(&self, record: &Record) -> Option<Self> {
        let mut next = self.clone();
        match record {
            Record::Identity { instance, boot, delta_max } => {
                next.instance = *instance;
                next.boot = next.boot.max(*boot);
                next.delta_max = next.delta_max.max(Some(*delta_max));
            }
            Record::Reserve { high } => next.reserve = next.reserve.max(Some(*high)),
            Record::Roster(members) => members.iter().for_each(|(name, entry)| {
                match next.roster.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = known.merged(*entry),
                    None => next.roster.push((name.clone(), *entry)),
                }
            }),
            Record::Grant(_) | Record::Forget(_) => return None,
        }
        Some(next)
    }
}

impl Memory {
    /// What a start makes of what is found: `first` if an operator says that it is the cluster's
    /// very first one, which is believed of an empty directory, and the grants if they are all
    /// those of this boot of the machine.
    #[must_use]
    pub fn found(durable: &Durable, first: bool, grants: Option<Vec<GrantRecord>>) -> Self {
        let kept = match (first, durable.reserve, grants) {
            (true, Some(_), _) => Kept::New,
            (_, None, _) => Kept::Nothing,
            (false, Some(_), Some(grants)) => Kept::Grants(grants),
            (false, Some(_), None) => Kept::Reserve,
        };
        Self {
            instance: durable.instance,
            boot: durable.boot,
            delta_max: durable.delta_max.unwrap_or_default(),
            reserve: durable.reserve.unwrap_or(Fence::NONE),
            kept,
            roster: durable.roster.clone(),
        }
    }
}

/// All that a state directory remembers, without files: for simulators and tests. The directory
/// itself is compared with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remembered {
    /// What outlives the machine, or would if it were written.
    durable: Durable,
    /// Whether anything was written that outlives the machine.
    written: bool,
    /// Whether the operator says that the next start is the cluster's very first.
    pub first: bool,
    /// The grants of this boot of the machine, from the first one on; until then there were none,
    /// or what was there before cannot be believed.
    grants: Option<BTreeMap<ElectionName, GrantRecord>>,
}

impl Remembered {
    /// An empty directory, with the memory that the next start begins.
    #[must_use]
    pub fn new(instance: Instance, first: bool) -> Self {
        Self { durable: Durable::begin(instance, first), written: false, first, grants: None }
    }

    /// A record has reached it.
    pub fn write(&mut self, record: Record) {
        if let Some(next) = self.durable.with(&record) {
            (self.durable, self.written) = (next, true);
            return;
        }
        match record {
            // The first grant says that the leases before it have been waited out.
            Record::Grant(grant) => {
                let grants = self.grants.get_or_insert_default();
                match grants.get_mut(&grant.election) {
                    Some(kept) => *kept = *grant,
                    None => drop(grants.insert(grant.election.clone(), *grant)),
                }
            }
            Record::Forget(election) => {
                self.grants.as_mut().and_then(|grants| grants.remove(&election));
            }
            Record::Identity { .. } | Record::Reserve { .. } | Record::Roster(_) => {}
        }
    }

    /// An operator has [recovered](Durable::recovered) it.
    pub fn recover(&mut self, begun: Instance, delta_max: Duration, floor: Fence) {
        if self.durable.reserve.is_none() || !self.written {
            (self.durable.reserve, self.grants) = (None, None);
        }
        self.durable = self.durable.recovered(begun, delta_max, floor);
        (self.written, self.first) = (true, false);
    }

    /// Something was granted in this boot of the machine, if only to be forgotten.
    pub fn begin_grants(&mut self) {
        self.grants.get_or_insert_default();
    }

    /// The machine was started anew, or the table of grants is not whole.
    pub fn forget_grants(&mut self) {
        self.grants = None;
    }

    /// What the next start remembers. That a memory which holds fences is new is not believed.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let first = self.first && !self.written;
        let grants = self.grants.as_ref().map(|grants| grants.values().cloned().collect());
        Memory::found(&self.durable, first, grants)
    }

    /// What outlives the machine.
    #[must_use]
    pub const fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Whether anything was written that outlives the machine.
    #[must_use]
    pub const fn is_written(&self) -> bool {
        self.written
    }

    /// The grant of an election, if the next start of this boot of the machine would find it.
    #[must_use]
    pub fn grant(&self, election: &ElectionName) -> Option<&GrantRecord> {
        self.grants.as_ref()?.get(election)
    }

    /// How many grants it would find; `None` if it has to wait out all leases.
    #[must_use]
    pub fn grants(&self) -> Option<usize> {
        self.grants.as_ref().map(BTreeMap::len)
    }
}
