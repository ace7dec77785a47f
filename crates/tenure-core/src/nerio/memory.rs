//! The memory of a restarted grantor, by the same rules in state directories, simulators and tests.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::identity::{Boot, Instance};
use super::record::{GrantRecord, Record};
use super::roster::Entry;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};

/// The memory of a grantor at its start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    pub instance: Instance,
    /// Last boot that was written down; zero if none was.
    pub boot: Boot,
    /// Largest lease length ever allowed and written down.
    pub delta_max: Duration,
    /// `H`: the durable bound on all fences ever accepted.
    pub reserve: Fence,
    /// Trustworthy part of the memory.
    pub kept: Kept,
    /// Memory of each member, as far as it was written down.
    pub roster: Vec<(NodeName, Entry)>,
}

/// The trustworthy part of a grantor's memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kept {
    /// Empty, and rightly so: the very first start of the cluster.
    New,
    /// Everything: the process ended, but the machine did not.
    Grants(Vec<GrantRecord>),
    /// Fences but not grants: the machine was restarted, or the table was torn.
    Reserve,
    /// Nothing, though the grantor may have granted before: its directory was lost, it has none, or
    /// the cluster is new. The grantor asks others which of these is true.
    Nothing,
}

/// The part of a memory that outlives the machine. No field ever goes back, so the order in which
/// records reach the disk means nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Durable {
    pub instance: Instance,
    pub boot: Boot,
    /// Largest lease length ever allowed; `None` before the first.
    pub delta_max: Option<Duration>,
    /// `H`; `None` if this memory was lost, and the fences have not been read from the others yet.
    pub reserve: Option<Fence>,
    /// Memory of each member, by name.
    pub roster: Vec<(NodeName, Entry)>,
}

impl Durable {
    /// A memory that begins; `first` if an operator declares the cluster's very first start.
    #[must_use]
    pub fn begin(instance: Instance, first: bool) -> Self {
        let reserve = first.then_some(Fence::NONE);
        Self { instance, boot: Boot(0), delta_max: None, reserve, roster: Vec::new() }
    }

    /// This memory after a recovery: an operator declares that more memories are lost than the
    /// others can make up for, and that no process leads by them any more. A lost memory begins
    /// anew, as `begun` or a later instance, with a reserve above `floor` and without grants. An
    /// intact memory only gets its reserve above `floor`.
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

    /// Whether the memory was [`recovered`](Self::recovered), and no grantor has started on it
    /// since.
    #[must_use]
    pub fn is_just_recovered(&self) -> bool {
        self.reserve.is_some() && self.boot == Boot(0)
    }

    /// This memory with the durable part of `record`; `None` for a record that outlives only the
    /// process.
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
    /// The memory for a start on this directory. `first` is an operator's declaration of the
    /// cluster's very first start, believed of an empty directory only; `grants` are all grants of
    /// this boot of the machine, if complete.
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

/// The contents of a state directory without files, for simulators and tests, which compare the
/// real directory with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remembered {
    /// Part that outlives the machine.
    durable: Durable,
    /// Whether a record that outlives the machine was written.
    written: bool,
    /// Whether the operator declares the next start the cluster's very first.
    pub first: bool,
    /// Grants of this boot of the machine; `None` before the first, if earlier grants cannot be
    /// trusted.
    grants: Option<BTreeMap<ElectionName, GrantRecord>>,
}

impl Remembered {
    /// An empty directory, with the memory that the next start begins.
    #[must_use]
    pub fn new(instance: Instance, first: bool) -> Self {
        Self { durable: Durable::begin(instance, first), written: false, first, grants: None }
    }

    /// Writes a record.
    pub fn write(&mut self, record: Record) {
        if let Some(next) = self.durable.with(&record) {
            (self.durable, self.written) = (next, true);
            return;
        }
        match record {
            // The first grant shows that the leases before it have ended.
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

    /// Makes this the memory after an operator's [recovery](Durable::recovered).
    pub fn recover(&mut self, begun: Instance, delta_max: Duration, floor: Fence) {
        if self.durable.reserve.is_none() || !self.written {
            (self.durable.reserve, self.grants) = (None, None);
        }
        self.durable = self.durable.recovered(begun, delta_max, floor);
        (self.written, self.first) = (true, false);
    }

    /// Notes that this boot of the machine has granted, even if the grant is forgotten.
    pub fn begin_grants(&mut self) {
        self.grants.get_or_insert_default();
    }

    /// Forgets the grants: the machine was started anew, or the table of grants is damaged.
    pub fn forget_grants(&mut self) {
        self.grants = None;
    }

    /// The memory of the next start. A declared first start is not believed of a memory with
    /// fences.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let first = self.first && !self.written;
        let grants = self.grants.as_ref().map(|grants| grants.values().cloned().collect());
        Memory::found(&self.durable, first, grants)
    }

    /// The part that outlives the machine.
    #[must_use]
    pub const fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Whether a record that outlives the machine was written.
    #[must_use]
    pub const fn is_written(&self) -> bool {
        self.written
    }

    /// The grant of an election, if the next start of this boot of the machine would find it.
    #[must_use]
    pub fn grant(&self, election: &ElectionName) -> Option<&GrantRecord> {
        self.grants.as_ref()?.get(election)
    }

    /// The number of grants that a start would find; `None` if it must wait for all leases to end.
    #[must_use]
    pub fn grants(&self) -> Option<usize> {
        self.grants.as_ref().map(BTreeMap::len)
    }
}
