//! What is due when, for many elections at once.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::name::ElectionName;
use crate::time::Time;

/// At most one due time for each election, with the earliest at hand.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Agenda {
    of: BTreeMap<ElectionName, Time>,
    order: BTreeSet<(Time, ElectionName)>,
}

impl Agenda {
    /// Something is due for `election` at `at`, or nothing is. [`Time::MAX`] never comes.
    pub(crate) fn set(&mut self, election: &ElectionName, at: Option<Time>) {
        let at = at.filter(|at| *at < Time::MAX);
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

    /// Takes everything that is due at `now` off the agenda, the earliest first. What is put on
    /// it while that is done waits for the next call, so that no call goes on for ever.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<ElectionName> {
        let mut due = Vec::new();
        while self.first().is_some_and(|at| at <= now)
            && let Some((_, election)) = self.order.pop_first()
        {
            self.of.remove(&election);
            due.push(election);
        }
        due
    }
}
