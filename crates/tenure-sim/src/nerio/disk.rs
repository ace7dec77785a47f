//! A state directory: the part that survives the process, and the part that survives the machine.

use tenure_core::NodeName;
use tenure_core::nerio::{Checked, DocumentError, Instance, Memory, Record, Remembered};

use crate::rng::mix;

/// The directory of one node, and the directory mounted in its place.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The node of the directory.
    pub owner: usize,
    pub kept: Remembered,
    /// The node's own directory, while another directory is mounted in its place.
    aside: Option<Box<Self>>,
}

impl Disk {
    /// An empty directory; `first` if a user confirms the very first start of the cluster.
    #[must_use]
    pub fn new(owner: usize, instance: u128, first: bool) -> Self {
        Self { owner, kept: Remembered::new(Instance(instance), first), aside: None }
    }

    /// Mounts a copy of `other` in the place of this directory.
    pub fn mount(&mut self, other: &Self) {
        let own = self.aside.take().unwrap_or_else(|| Box::new(self.clone()));
        *self = Self { aside: Some(own), ..other.clone() };
    }

    /// The node's own directory, mounted or not.
    #[must_use]
    pub fn own(&self) -> &Self {
        self.aside.as_deref().unwrap_or(self)
    }

    /// The node's directory; or an empty directory that is mounted in its place and may stay.
    #[must_use]
    pub fn present(&self) -> &Self {
        self.aside.as_deref().filter(|own| own.owner != self.owner).unwrap_or(self)
    }

    /// Keeps an empty directory in the place of the missing directory.
    pub fn keep_mounted(&mut self) {
        self.aside.take_if(|own| own.owner == self.owner);
    }

    /// Whether the node's directory is missing.
    #[must_use]
    pub const fn is_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// Puts the node's directory back.
    pub fn put_back(&mut self) {
        if let Some(own) = self.aside.take() {
            *self = *own;
        }
    }

    pub fn write(&mut self, record: Record) {
        self.kept.write(record);
    }

    /// Restarts the machine: unflushed data is lost, and the clock begins anew.
    pub fn reboot(&mut self) {
        if let Some(own) = &mut self.aside {
            own.reboot();
        }
        self.tear();
    }

    /// Damages the table of grants.
    pub fn tear(&mut self) {
        self.kept.forget_grants();
    }

    /// The memory of a grantor that starts on this directory with these settings.
    pub fn memory(&self, config: &Checked) -> Result<Memory, DocumentError> {
        self.kept.memory(config)
    }

    /// Whether a grantor that starts here knows its fences: false from their loss until the grantor
    /// has read them from the others.
    #[must_use]
    pub const fn knows_fences(&self) -> bool {
        self.kept.durable().reserve.is_some()
    }

    /// Whether the directory records that `other`, the directory of the member with this name, took
    /// part in the founding.
    #[must_use]
    pub fn names_founder(&self, name: &NodeName, other: &Self) -> bool {
        let instance = other.kept.durable().instance;
        let roster = &self.kept.durable().roster;
        let entry = roster.iter().find(|(known, _)| known == name);
        entry.is_some_and(|(_, entry)| entry.founder && entry.instance == instance)
    }

    /// Whether the node's present directory knows its fences, even while another directory is
    /// mounted in its place.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.present().knows_fences()
    }
}

/// Milliseconds between the names of successive memories of a world: more than a world has
/// leaderships.
const BORN: u64 = 1_000_000;
/// The largest number of memories in one world.
const MEMORIES: u64 = 1_000;

/// The largest distance of two clocks in milliseconds, where a document founds the cluster.
const SKEW: u64 = 10_000;

/// Clock of a node at `now`, in milliseconds since 1970.
pub(super) fn wall(seed: u64, node: usize, now: u64) -> u64 {
    BORN * MEMORIES + now / 1_000_000 + mix(seed ^ mix(node as u64)) % SKEW
}

/// The name of the `number`th memory of a node. Where clocks are `set_back`, each new memory of a
/// member begins earlier, by the member's clock, than the lost memory before it.
pub(super) fn instance(seed: u64, node: usize, number: u64, set_back: bool) -> u128 {
    let nth = if set_back && number > 0 { MEMORIES.saturating_sub(number) } else { number };
    let half = |salt: u64| u128::from(mix(seed ^ mix(salt ^ (node as u64) << 32 ^ number << 8)));
    Instance::new(BORN * (nth + 1), half(1) << 64 | half(2)).0
}
