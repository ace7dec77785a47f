//! The observers of a process.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::nele::config::Checked;
use crate::nele::identity::{Partition, Reading, Role};
use crate::nele::reader::Reader;
use crate::time::Time;
use crate::view::View;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Sight {
    pub(super) roles: BTreeMap<Role, Observation>,
    /// The partition that is read for observers, if none is read for other reasons.
    pub(super) reads: Option<Reader>,
    /// The ledger has been heard without a break since this time.
    pub(super) since: Option<Time>,
    pub(super) gaps: Gaps,
    /// Views may still show leaders from before a break.
    pub(super) looks: bool,
    /// The last time at which the ledger was heard, or at which the first observer began to look.
    pub(super) alive: Time,
    /// The last time at which the ledger was asked because it was silent.
    pub(super) asked: Time,
    /// The last time at which the views were compared with those that were reported.
    pub(super) told: Time,
}

/// Readings that overlap: each began before the last one ended.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Gaps {
    /// All readings without a gap: the ledger counts as heard until none of them is read.
    pub(super) open: BTreeSet<(Partition, Reading)>,
    /// The next search for gaps, which does not run for each of a thousand readings.
    pub(super) look_at: Time,
    /// A silent reading, until the ledger says whether it has missed a record.
    pub(super) silent: Option<SilentReading>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SilentReading {
    pub(super) partition: Partition,
    pub(super) reading: Reading,
    pub(super) next: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observation {
    pub(super) since: Time,
    pub(super) shown: Option<View>,
    /// A view was reported for this or an earlier observer: an unknown view is then reported at
    /// once.
    pub(super) reported: bool,
}

impl Sight {
    pub(super) fn unobserve(&mut self, role: Role) {
        self.roles.remove(&role);
    }

    pub(in crate::nele) const fn look_for_gaps(&mut self) {
        self.gaps.look_at = Time::ZERO;
    }

    pub(super) const fn reads(&self) -> Option<&Reader> {
        self.reads.as_ref()
    }

    /// Ends all observations, and returns their roles.
    pub(super) fn close(&mut self) -> Vec<Role> {
        core::mem::take(&mut self.roles).into_keys().collect()
    }

    /// The time of the next question to a silent ledger, or of a report about it.
    pub(super) fn due(&self, config: &Checked) -> Option<Time> {
        if self.roles.is_empty() {
            return None;
        }
        let seek = self.reads.as_ref().and_then(|reads| reads.due());
        let silent = self.alive.max(self.asked).after(config.silence());
        let knows = self.since.is_some() || self.looks;
        let deaf = knows.then(|| self.alive.after(config.silence().saturating_mul(2)));
        let unshown = self.roles.values().filter(|observed| observed.shown.is_none());
        let first = unshown.map(|observed| observed.since.after(config.silence())).min();
        [seek, Some(silent), deaf, first].into_iter().flatten().min()
    }

    /// Whether the ledger has been silent for so long that no leader is known.
    pub(super) fn is_deaf(&self, now: Time, config: &Checked) -> bool {
        now.since(self.alive) >= config.silence().saturating_mul(2)
    }
}
