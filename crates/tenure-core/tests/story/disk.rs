//! A state directory: what survives the process, and what survives the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Instance, Kept, Memory, Record};
use tenure_core::{ElectionName, Fence};

#[derive(Clone, Debug)]
pub struct Disk {
    pub instance: Instance,
    pub boot: Boot,
    pub delta_max: Duration,
    pub reserve: Fence,
    pub recovering: bool,
    /// Whether the operator says that it is the cluster's first start, though it may be lost.
    pub founding: bool,
    pub fresh: bool,
    /// Of this boot of the machine.
    pub grants: BTreeMap<ElectionName, GrantRecord>,
    /// Whether `grants` was lost with the boot of the machine that wrote it.
    pub rebooted: bool,
}

impl Disk {
    pub fn new(instance: u128, fresh: bool) -> Self {
        Self {
            instance: Instance(instance),
            boot: Boot(0),
            delta_max: Duration::ZERO,
            reserve: Fence::NONE,
            recovering: !fresh,
            founding: false,
            fresh,
            grants: BTreeMap::new(),
            rebooted: false,
        }
    }

    pub fn write(&mut self, record: &Record) {
        match record {
            Record::Identity { instance, boot, delta_max } => {
                self.instance = *instance;
                self.boot = *boot;
                self.delta_max = *delta_max;
                self.fresh = false;
            }
            Record::Reserve { high } => {
                self.reserve = *high;
                self.recovering = false;
            }
            Record::Grant(grant) => {
                // The first grant says that the leases before it have been waited out.
                self.rebooted = false;
                self.grants.insert(grant.election.clone(), GrantRecord::clone(grant));
            }
            Record::Forget(election) => {
                self.grants.remove(election);
            }
        }
    }

    /// The machine was restarted: what was not flushed is gone, and the clock begins anew.
    pub fn reboot(&mut self) {
        self.grants.clear();
        self.rebooted = true;
    }

    pub fn memory(&self) -> Memory {
        let kept = match (self.fresh, self.recovering, self.rebooted) {
            (true, ..) => Kept::New,
            (_, true, _) if self.founding => Kept::Founding,
            (_, true, _) => Kept::Nothing,
            (.., true) => Kept::Reserve,
            _ => Kept::Grants(self.grants.values().cloned().collect()),
        };
        Memory {
            instance: self.instance,
            boot: self.boot,
            delta_max: self.delta_max,
            reserve: self.reserve,
            kept,
        }
    }
}
