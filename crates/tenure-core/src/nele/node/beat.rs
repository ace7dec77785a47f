//! What this process says again and again: that it is there, what it stands for, what it leads.

use alloc::vec::Vec;

use super::Nele;
use crate::nele::message::{Kind, LEADS_MAX, Lead, RANGES_MAX, RoleRange, Target};
use crate::nele::slot::Phase;
use crate::nele::words::Out;

impl Nele {
    /// Writes to every partition, if that is due: as long as this process is a member, or leads.
    pub(super) fn beat(&mut self, out: &mut Out) {
        let leads = self.campaigns().any(|(_, campaign)| campaign.leads());
        if self.group.is_out() && !leads {
            self.beat = None;
            return;
        }
        let due = *self.beat.get_or_insert(self.now);
        if due > self.now {
            return;
        }
        let next = due.after(self.config.publish_interval);
        let late = next <= self.now;
        self.beat = Some(if late { self.now.after(self.config.publish_interval) } else { next });
        let (stands, leads) = self.says();
        self.context(out).1.publish(Target::Every, Kind::Beat, stands, leads);
    }

    /// What it stands for, and what it leads.
    fn says(&self) -> (Vec<RoleRange>, Vec<Lead>) {
        let mut all: Vec<_> = self.campaigns().collect();
        all.sort_by_key(|(role, _)| *role);
        let mut stands: Vec<RoleRange> = Vec::new();
        for (role, _) in &all {
            match stands.last_mut() {
                Some(range) if range.last.0.checked_add(1) == Some(role.0) => range.last = *role,
                _ => stands.push(RoleRange { first: *role, last: *role }),
            }
        }
        stands.truncate(RANGES_MAX);
        let leads = all.into_iter().filter_map(|(role, campaign)| match campaign.phase {
            Phase::Leading { until, fence, .. } if self.now < until => {
                Some(Lead { role, fence, value: campaign.value.clone() })
            }
            Phase::Leading { .. } | Phase::Waiting => None,
        });
        (stands, leads.take(LEADS_MAX).collect())
    }
}
