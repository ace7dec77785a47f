//! What is told when it changes: views, what campaigns wait for, roles that nobody fills.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Nele;
use crate::nele::event::OwnEvent;
use crate::nele::identity::{Partition, Process, Role};
use crate::nele::words::{Out, emit};

/// What was told last.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Told {
    /// The first of the roles that nobody fills, and how many there are.
    unfilled: Option<(Role, Role, u32)>,
    /// Roles that this process leads, and another one on its machine.
    same_host: BTreeSet<(Role, Process)>,
    /// Partitions to which the last record was not written, and why the first in a row was not.
    pub(super) unwritten: BTreeMap<Partition, Arc<str>>,
}

impl Told {
    /// What became of a record. The first failure in a row is told.
    pub(super) fn trouble(&mut self, partition: Partition, why: Option<Arc<str>>, out: &mut Out) {
        match why {
            None if self.unwritten.remove(&partition).is_some() => {
                emit(None, OwnEvent::Written { partition }, out);
            }
            None => {}
            Some(_) if self.unwritten.contains_key(&partition) => {}
            Some(why) => {
                self.unwritten.insert(partition, why.clone());
                emit(None, OwnEvent::Trouble { partition, why }, out);
            }
        }
    }
}

impl Nele {
    pub(super) fn tell(&mut self, out: &mut Out) {
        self.changed |= self.heard.take_changed();
        if !core::mem::take(&mut self.changed) {
            return;
        }
        self.each_slot(out, |_, _| {});
        self.tell_unfilled(out);
        self.tell_same_host(out);
        self.tell_views(out);
        // What was told here needs no second round.
        self.changed = false;
    }

    /// Roles for which members of the group stand, that are decided on what this process owns, and
    /// for which it does not stand.
    fn tell_unfilled(&mut self, out: &mut Out) {
        if self.group.quits && self.group.has_joined() {
            // It owns them for a moment more.
            return;
        }
        let unfilled = self.unfilled();
        if unfilled != self.told.unfilled {
            self.told.unfilled = unfilled;
            let (first, last) = unfilled.map(|(first, last, _)| (first, last)).unzip();
            let count = unfilled.map_or(0, |of| of.2);
            emit(None, OwnEvent::Unfilled { first, last, count }, out);
        }
    }

    fn unfilled(&self) -> Option<(Role, Role, u32)> {
        let most = self.config.limits.roles;
        let mut roles: BTreeSet<Role> = BTreeSet::new();
        let ranges: BTreeSet<(Role, Role)> = {
            let stands = self.heard.stands(&self.config.group);
            stands.map(|range| (range.first, range.last)).take(most).collect()
        };
        let step = self.config.partitions;
        for (partition, slot) in self.slots.iter().filter(|(_, slot)| slot.is_assigned()) {
            for (first, last) in &ranges {
                // The first of the range that is decided on this partition, and each M further on.
                let ahead = (partition.0 + step - first.0 % step) % step;
                let begin = u64::from(first.0) + u64::from(ahead);
                let of_it = (begin..=u64::from(last.0)).step_by(usize::try_from(step).unwrap_or(1));
                let of_it = of_it.filter_map(|role| u32::try_from(role).ok().map(Role));
                let vacant = of_it.filter(|role| !slot.campaigns.contains_key(role));
                let room = most.saturating_sub(roles.len());
                roles.extend(vacant.take(room));
            }
        }
        let count = u32::try_from(roles.len().min(most)).unwrap_or(u32::MAX);
        Some((*roles.first()?, *roles.last()?, count))
    }

    /// Another process of this machine leads what this one leads, in another group.
    fn tell_same_host(&mut self, out: &mut Out) {
        let mut same = BTreeSet::new();
        let leads = self.campaigns().filter(|(_, campaign)| campaign.leads());
        let roles: Vec<_> = leads.map(|(role, _)| role).collect();
        let (host, group) = (&self.config.host, &self.config.group);
        for role in roles {
            for seen in self.heard.leaders(role, |other| other != group) {
                if seen.host != *host {
                    continue;
                }
                let key = (role, seen.who.clone());
                if !self.told.same_host.contains(&key) {
                    let (who, group) = (seen.who, seen.group);
                    emit(None, OwnEvent::SameHost { role, who, group }, out);
                }
                same.insert(key);
            }
        }
        self.told.same_host = same;
    }
}
