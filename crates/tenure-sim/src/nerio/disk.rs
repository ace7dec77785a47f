//! A state directory: what survives the process, and what survives the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Instance, Kept, Memory, Record};
use tenure_core::{ElectionName, Fence};

use super::driver::DriverRule;
use crate::rng::mix;

/// What the directory of one node holds, and what its filesystem will make of it.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The node that it was made for.
    pub owner: usize,
    /// Which memory it is.
    pub instance: Instance,
    /// The last boot that is durable.
    pub boot: Boot,
    /// The longest lease that was ever allowed, as it is written.
    pub delta_max: Duration,
    /// The durable bound on fences.
    pub reserve: Fence,
    recovering: bool,
    fresh: bool,
    /// Whether somebody says that it is new, though it was lost.
    pub founding: bool,
    /// Of this boot of the machine.
    pub grants: BTreeMap<ElectionName, GrantRecord>,
    /// Whether `grants` was lost with the boot of the machine that wrote it.
    rebooted: bool,
    /// The node's own directory, while another's is mounted in its place.
    aside: Option<Box<Self>>,
}

impl Disk {
    /// An empty directory: `fresh` at the very first start of the cluster.
    #[must_use]
    pub const fn new(owner: usize, instance: u128, fresh: bool) -> Self {
        Self {
            owner,
            instance: Instance(instance),
            boot: Boot(0),
            delta_max: Duration::ZERO,
            reserve: Fence::NONE,
            recovering: !fresh,
            fresh,
            founding: false,
            grants: BTreeMap::new(),
            rebooted: false,
            aside: None,
        }
    }

    /// Somebody mounts a copy of `other` here.
    pub fn mount(&mut self, other: &Self) {
        let own = self.aside.take().unwrap_or_else(|| Box::new(self.clone()));
        *self = Self { aside: Some(own), ..other.clone() };
    }

    /// The node's own directory, mounted or not.
    #[must_use]
    pub fn own(&self) -> &Self {
        self.aside.as_deref().unwrap_or(self)
    }

    /// Somebody puts the own directory back.
    pub fn put_back(&mut self) {
        if let Some(own) = self.aside.take() {
            *self = *own;
        }
    }

    /// A record has reached it.
    pub fn write(&mut self, record: Record) {
        match record {
            Record::Identity { instance, boot, delta_max } => {
                self.instance = instance;
                self.boot = boot;
                self.delta_max = delta_max;
                self.fresh = false;
            }
            Record::Reserve { high } => {
                self.reserve = high;
                self.recovering = false;
            }
            Record::Grant(grant) => {
                // The first grant says that the leases before it have been waited out.
                self.rebooted = false;
                match self.grants.get_mut(&grant.election) {
                    Some(kept) => *kept = *grant,
                    None => {
                        self.grants.insert(grant.election.clone(), *grant);
                    }
                }
            }
            Record::Forget(election) => {
                self.grants.remove(&election);
            }
        }
    }

    /// The machine was restarted: what was not flushed is gone, and the clock begins anew.
    pub fn reboot(&mut self, broken: Option<DriverRule>) {
        match broken {
            // All of the table was flushed, and is taken for this boot's.
            Some(DriverRule::FinishOfThisBoot) => {}
            // What was flushed of it, nothing, is taken for all there was.
            Some(DriverRule::TableOfThisBoot) => self.grants.clear(),
            _ => self.tear(),
        }
    }

    /// The table of grants is not whole.
    pub fn tear(&mut self) {
        self.grants.clear();
        self.rebooted = true;
    }

    /// What a grantor that starts on it remembers.
    #[must_use]
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

    /// Whether a grantor that starts on it has lost what it knew.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        !self.fresh && self.recovering
    }

    /// Whether a grantor that starts on it remembers everything.
    #[must_use]
    pub const fn remembers_all(&self) -> bool {
        !(self.fresh || self.recovering || self.rebooted)
    }

    /// Whether the fences of the node's own directory are known, even while another's is mounted:
    /// false from its loss until they were read from the others.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let own = self.own();
        own.fresh || !own.recovering
    }
}

/// The name of the `number`th memory of a node.
pub(super) fn instance(seed: u64, node: usize, number: u64) -> u128 {
    let half = |salt: u64| u128::from(mix(seed ^ mix(salt ^ (node as u64) << 32 ^ number << 8)));
    half(1) << 64 | half(2)
}
