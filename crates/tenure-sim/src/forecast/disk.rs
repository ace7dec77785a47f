//! The state directory of a node: nothing goes wrong with it here.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Instance, Kept, Memory, Record};
use tenure_core::{ElectionName, Fence};

#[derive(Clone, Debug)]
pub(super) struct Disk {
    instance: Instance,
    boot: Boot,
    delta_max: Duration,
    reserve: Fence,
    fresh: bool,
    grants: BTreeMap<ElectionName, GrantRecord>,
    rebooted: bool,
}

impl Disk {
    pub(super) const fn new(instance: u128) -> Self {
        Self {
            instance: Instance(instance),
            boot: Boot(0),
            delta_max: Duration::ZERO,
            reserve: Fence::NONE,
            fresh: true,
            grants: BTreeMap::new(),
            rebooted: false,
        }
    }

    pub(super) fn write(&mut self, record: &Record) {
        match record {
            Record::Identity { instance, boot, delta_max } => {
                self.instance = *instance;
                self.boot = *boot;
                self.delta_max = *delta_max;
                self.fresh = false;
            }
            Record::Reserve { high } => self.reserve = *high,
            Record::Grant(grant) => {
                // The first grant says that the leases before it have been waited out.
                self.rebooted = false;
                match self.grants.get_mut(&grant.election) {
                    Some(kept) => kept.clone_from(grant),
                    None => {
                        self.grants.insert(grant.election.clone(), grant.clone());
                    }
                }
            }
            Record::Forget(election) => {
                self.grants.remove(election);
            }
        }
    }

    /// The machine was restarted: what was not flushed is gone.
    pub(super) fn reboot(&mut self) {
        self.grants.clear();
        self.rebooted = true;
    }

    pub(super) fn memory(&self) -> Memory {
        let kept = match (self.fresh, self.rebooted) {
            (true, _) => Kept::New,
            (_, true) => Kept::Reserve,
            _ => Kept::Grants(self.grants.values().cloned().collect()),
        };
        let Self { instance, boot, delta_max, reserve, .. } = *self;
        Memory { instance, boot, delta_max, reserve, kept }
    }
}
