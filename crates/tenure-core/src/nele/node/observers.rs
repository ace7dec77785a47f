//! The observers of a process, and the time after which a silent ledger leaves the leaders unknown.

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
    /// The reader for observers, while no partition is read for other reasons.
    pub(super) reads: Option<Reader>,
    /// The time since which the ledger was heard without a break.
    pub(super) since: Option<Time>,
    pub(super) gaps: Gaps,
    /// Whether views may still show leaders from before a break.
    pub(super) may_be_stale: bool,
    /// The time of the ledger's last answer; before any answer, the time of the first observation.
    pub(super) heard_at: Time,
    /// The time of the last question to a silent ledger.
    pub(super) asked_at: Time,
    /// The time of the last comparison of the views with those that were reported.
    pub(super) compared_at: Time,
}

/// Overlapping readings, each of which began before the last one ended.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Gaps {
    /// All readings without a gap before them. The ledger counts as heard until all have ended.
    pub(super) open: BTreeSet<(Partition, Reading)>,
    /// The time of the next search for gaps; with a thousand readings a search is costly.
    pub(super) next_search: Time,
    /// A silent reading; the ledger was asked whether the reading has missed a record.
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
    /// Whether a view was reported to this or an earlier observer: an unknown leader is then
    /// reported at once.
    pub(super) reported: bool,
}

impl Sight {
    pub(super) fn unobserve(&mut self, role: Role) {
        self.roles.remove(&role);
    }

    pub(in crate::nele) const fn look_for_gaps(&mut self) {
        self.gaps.next_search = Time::ZERO;
    }

    pub(super) const fn reads(&self) -> Option<&Reader> {
        self.reads.as_ref()
    }

    pub(super) fn close(&mut self) -> Vec<Role> {
        core::mem::take(&mut self.roles).into_keys().collect()
    }

    /// The time of the next question to a silent ledger.
    pub(super) fn asks_again(&self, config: &Checked) -> Time {
        self.heard_at.max(self.asked_at).after(config.silence())
    }

    /// The time of the next question to a silent ledger, or of a report about it.
    pub(super) fn due(&self, config: &Checked) -> Option<Time> {
        if self.roles.is_empty() {
            return None;
        }
        let seek = self.reads.as_ref().and_then(|reads| reads.due());
        let knows = self.since.is_some() || self.may_be_stale;
        let deaf = knows.then(|| self.heard_at.after(config.silence().saturating_mul(2)));
        let unshown = self.roles.values().filter(|observed| observed.shown.is_none());
        let first = unshown.map(|observed| observed.since.after(config.silence())).min();
        [seek, Some(self.asks_again(config)), deaf, first].into_iter().flatten().min()
    }

    /// Whether the ledger has been silent for so long that no leader is known.
    pub(super) fn is_deaf(&self, now: Time, config: &Checked) -> bool {
        now.since(self.heard_at) >= config.silence().saturating_mul(2)
    }
}
