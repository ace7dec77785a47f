//! A state directory: what survives the process, and what survives the machine.

use std::time::Duration;

use tenure_core::Fence;
use tenure_core::nerio::{Boot, GrantRecord, Instance, Kept, Memory, Record};

/// What a grantor loses when it starts again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lost {
    /// The process ended, the machine did not.
    Nothing,
    /// The machine was started again: its clock begins anew, and the grants are gone.
    Grants,
    /// The state directory is gone.
    Everything,
}

/// Holds the one election of the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Disk {
    memory: Memory,
    grant: Option<GrantRecord>,
}

impl Disk {
    pub fn new(instance: u128, kept: Kept) -> Self {
        let (boot, delta_max, reserve) = (Boot(0), Duration::ZERO, Fence::NONE);
        let instance = Instance(instance);
        Self { memory: Memory { instance, boot, delta_max, reserve, kept }, grant: None }
    }

    pub fn write(&mut self, record: &Record) {
        let table = || Kept::Grants(Vec::new());
        match record {
            Record::Identity { instance, boot, delta_max } => {
                self.memory.instance = *instance;
                self.memory.boot = *boot;
                self.memory.delta_max = *delta_max;
                if self.memory.kept == Kept::New {
                    self.memory.kept = table();
                }
            }
            Record::Reserve { high } => {
                self.memory.reserve = *high;
                // The first one says that the fences were read.
                if self.memory.kept == Kept::Nothing {
                    self.memory.kept = table();
                }
            }
            Record::Grant(grant) => {
                // The first one says that the leases before it were waited out.
                self.memory.kept = table();
                self.grant = Some(GrantRecord::clone(grant));
            }
            Record::Forget(_) => self.grant = None,
        }
    }

    /// What is left after the loss; `instance` is for a directory that is made anew.
    pub fn after(&self, lost: Lost, instance: u128) -> Self {
        let mut disk = self.clone();
        match lost {
            Lost::Nothing => {}
            Lost::Grants => {
                disk.grant = None;
                if matches!(disk.memory.kept, Kept::Grants(_)) {
                    disk.memory.kept = Kept::Reserve;
                }
            }
            Lost::Everything => disk = Self::new(instance, Kept::Nothing),
        }
        disk
    }

    pub fn memory(&self) -> Memory {
        let mut memory = self.memory.clone();
        if let Kept::Grants(grants) = &mut memory.kept {
            grants.extend(self.grant.clone());
        }
        memory
    }

    /// Whether the grant that an ok with this stamp confirms is written.
    pub fn has(&self, granted: &tenure_core::nerio::Granted) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.stamp == granted.stamp)
    }
}
