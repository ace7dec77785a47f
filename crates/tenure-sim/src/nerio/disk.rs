//! A state directory: what survives the process, and what survives the machine.

use tenure_core::NodeName;
use tenure_core::nerio::{Instance, Memory, Record, Remembered};

use crate::rng::mix;

/// The directory of one node, and which one is mounted there.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The node that it was made for.
    pub owner: usize,
    pub kept: Remembered,
    /// The node's own directory, while another's is mounted in its place.
    aside: Option<Box<Self>>,
}

impl Disk {
    /// An empty directory: `first` if somebody says that this is the very first start of the
    /// cluster.
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

    /// The node's own directory; an empty one that is mounted in its place, as that may stay.
    #[must_use]
    pub fn present(&self) -> &Self {
        self.aside.as_deref().filter(|own| own.owner != self.owner).unwrap_or(self)
    }

    /// An empty one has taken the place of the node's own, which is not there.
    pub fn keep_mounted(&mut self) {
        self.aside.take_if(|own| own.owner == self.owner);
    }

    /// Whether the node's own directory is not there.
    #[must_use]
    pub const fn is_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// Puts the node's own directory back.
    pub fn put_back(&mut self) {
        if let Some(own) = self.aside.take() {
            *self = *own;
        }
    }

    /// A record has reached it.
    pub fn write(&mut self, record: Record) {
        self.kept.write(record);
    }

    /// The machine was restarted: what was not flushed is gone, and the clock begins anew.
    pub fn reboot(&mut self) {
        if let Some(own) = &mut self.aside {
            own.reboot();
        }
        self.tear();
    }

    /// The table of grants is not whole.
    pub fn tear(&mut self) {
        self.kept.forget_grants();
    }

    /// Memory of a grantor that starts on this directory.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.kept.memory()
    }

    /// Whether the fences of the grantor that starts on it are known: false from their loss until
    /// they were read from the others.
    #[must_use]
    pub const fn knows_fences(&self) -> bool {
        self.kept.durable().reserve.is_some()
    }

    /// Whether it says that `other`, the directory of the member with this name, was there at the
    /// founding.
    #[must_use]
    pub fn names_founder(&self, name: &NodeName, other: &Self) -> bool {
        let instance = other.kept.durable().instance;
        let roster = &self.kept.durable().roster;
        let entry = roster.iter().find(|(known, _)| known == name);
        entry.is_some_and(|(_, entry)| entry.founder && entry.instance == instance)
    }

    /// Whether the fences of the node's present directory are known, even while another's is
    /// mounted.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.present().knows_fences()
    }
}

/// How much later, in milliseconds, each memory of a world begins than the one before: more than
/// there are leaderships.
const BORN: u64 = 1_000_000;
/// More memories than begin in one world.
const MEMORIES: u64 = 1_000;

/// The name of the `number`th memory of a node. Where clocks are `set_back`, of those that begin in
/// the place of a lost one each begins earlier than the one before, as its clock says.
pub(super) fn instance(seed: u64, node: usize, number: u64, set_back: bool) -> u128 {
    let nth = if set_back && number > 0 { MEMORIES.saturating_sub(number) } else { number };
    let half = |salt: u64| u128::from(mix(seed ^ mix(salt ^ (node as u64) << 32 ^ number << 8)));
    Instance::new(BORN * (nth + 1), half(1) << 64 | half(2)).0
}
