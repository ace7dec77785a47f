//! The observers of a process.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::nele::config::Checked;
use crate::nele::identity::{Partition, Reading, Role};
use crate::nele::reader::Reader;
use crate::time::Time;
use crate::view::View;

/// The observers of this process, and what was read for them.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Sight {
    pub(super) roles: BTreeMap<Role, Observation>,
    /// The partition that is read for them, where none is read anyway.
    pub(super) reads: Option<Reader>,
    /// Since when the ledger has been heard without a break.
    pub(super) since: Option<Time>,
    pub(super) gaps: Gaps,
    /// Leaders that were heard before a break may still be shown.
    pub(super) looks: bool,
    /// When the ledger was heard last, or when the first observer began to look.
    pub(super) alive: Time,
    /// When the ledger was asked last, because it was silent.
    pub(super) asked: Time,
}

/// Readings that follow each other, as far as each began before the last one ended.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Gaps {
    /// All readings without a gap: the ledger is heard until none of them is read.
    pub(super) open: BTreeSet<(Partition, Reading)>,
    /// When to look for gaps: with a thousand readings not each time that one is heard.
    pub(super) look_at: Time,
    /// A reading that was silent, until the ledger says whether it has missed a record.
    pub(super) silent: Option<SilentReading>,
}

/// A reading of which no record came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SilentReading {
    pub(super) partition: Partition,
    pub(super) reading: Reading,
    /// The offset that was to come next.
    pub(super) next: u64,
}

/// An observed role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observation {
    pub(super) since: Time,
    /// The view that was reported last since then.
    pub(super) shown: Option<View>,
    /// A view was reported, since then or before: an unknown one is reported at once, too.
    pub(super) reported: bool,
}

impl Sight {
    pub(super) fn unobserve(&mut self, role: Role) {
        self.roles.remove(&role);
    }

    /// Readings have changed: the next step looks for gaps.
    pub(in crate::nele) const fn look_for_gaps(&mut self) {
        self.gaps.look_at = Time::ZERO;
    }

    pub(super) const fn reads(&self) -> Option<&Reader> {
        self.reads.as_ref()
    }

    /// Ends all observations. Gives their roles.
    pub(super) fn close(&mut self) -> Vec<Role> {
        core::mem::take(&mut self.roles).into_keys().collect()
    }

    /// When the ledger is to be asked, or a view reported, because nothing was heard.
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

    /// Whether the ledger was silent for so long that no leader is known.
    pub(super) fn is_deaf(&self, now: Time, config: &Checked) -> bool {
        now.since(self.alive) >= config.silence().saturating_mul(2)
    }
}
