//! What is due when, for many elections at once.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::name::ElectionName;
use crate::time::Time;

/// At most one due time for each election, with the earliest at hand.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Agenda {
    of: BTreeMap<ElectionName, Time>,
    order: BTreeSet<(Time, ElectionName)>,
}

impl Agenda {
    /// Something is due for `election` at `at`, or nothing is.
    pub(crate) fn set(&mut self, election: &ElectionName, at: Option<Time>) {
        if self.of.get(election).copied() == at {
            return;
        }
        if let Some(old) = self.of.remove(election) {
            self.order.remove(&(old, election.clone()));
        }
        if let Some(at) = at {
            self.of.insert(election.clone(), at);
            self.order.insert((at, election.clone()));
        }
    }

    /// The earliest due time.
    pub(crate) fn first(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }

    /// An election that is due at `now`; it is taken off the agenda.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<ElectionName> {
        if self.first()? > now {
            return None;
        }
        let (_, election) = self.order.pop_first()?;
        self.of.remove(&election);
        Some(election)
    }
}
