//! Reports of changes: views, roles that no process fills, leaders on one machine.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::state::Nele;
use super::troubles::VacantRoles;
use crate::nele::event::OwnEvent;
use crate::nele::identity::Role;
use crate::nele::words::{Out, emit};

impl Nele {
    pub(super) fn tell(&mut self, out: &mut Out) {
        self.changed |= self.peers.take_changed();
        if !core::mem::take(&mut self.changed) {
            return self.tell_renewals(out);
        }
        self.each_slot(out, |_, _| {});
        self.tell_unfilled(out);
        self.tell_same_host(out);
        self.tell_views(out);
        // These reports cause no further reports.
        self.changed = false;
    }

    /// Reports roles without a leader: members of the group stand for them, but this process owns
    /// their partition and does not stand.
    fn tell_unfilled(&mut self, out: &mut Out) {
        if self.group.quits && self.group.has_joined() {
            // This process is about to leave the group.
            return;
        }
        let unfilled = self.unfilled();
        if unfilled != self.reports.unfilled {
            self.reports.unfilled = unfilled;
            let first = unfilled.map(|roles| roles.first);
            let last = unfilled.map(|roles| roles.last);
            let count = unfilled.map_or(0, |roles| roles.count);
            emit(None, OwnEvent::Unfilled { first, last, count }, out);
        }
    }

    fn unfilled(&self) -> Option<VacantRoles> {
        let most = self.config.limits.roles;
        let mut roles: BTreeSet<Role> = BTreeSet::new();
        let ranges: BTreeSet<(Role, Role)> = {
            let stands = self.peers.stands(&self.config.group);
            stands.map(|range| (range.first, range.last)).take(most).collect()
        };
        let step = self.config.partitions;
        for (partition, slot) in self.slots.all.iter().filter(|(_, slot)| slot.is_assigned()) {
            for (first, last) in &ranges {
                // First role of the range on this partition; the next role is M further on.
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
        Some(VacantRoles { first: *roles.first()?, last: *roles.last()?, count })
    }

    /// Reports each role that this process and a process of another group on its machine lead.
    fn tell_same_host(&mut self, out: &mut Out) {
        let mut same = BTreeSet::new();
        let leads = self.campaigns().filter(|(_, campaign)| campaign.leads());
        let roles: Vec<_> = leads.map(|(role, _)| role).collect();
        let host = &self.config.host;
        let group = &self.config.group;
        for role in roles {
            for seen in self.peers.leaders(role, |other| other != group) {
                if seen.host != *host {
                    continue;
                }
                let key = (role, seen.who.clone());
                if !self.reports.same_host.contains(&key) {
                    let who = seen.who;
                    let group = seen.group;
                    emit(None, OwnEvent::SameHost { role, who, group }, out);
                }
                same.insert(key);
            }
        }
        self.reports.same_host = same;
    }
}
