//! Who takes part, and which incarnation of theirs.

use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::name::NodeName;
use crate::time::Time;

/// 128 random bits drawn at each process start, after any fork: one incarnation of a participant.
///
/// Names alone do not identify anybody: a delayed release of an earlier incarnation would free a
/// grantor under its successor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Inc(pub u128);

/// 128 random bits kept in a state directory: one continuous memory of a grantor.
///
/// A grantor whose directory was lost is another instance, and quorum timestamps of different
/// instances are not comparable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instance(pub u128);

/// How often a grantor has started on its state directory; raised durably before it grants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Boot(pub u64);

/// One incarnation of one participant.
#[derive(Clone, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Who {
    /// Its name.
    pub name: NodeName,
    /// Which of its incarnations.
    pub inc: Inc,
}

// Two incarnations mostly differ in what they drew, which is faster to compare.
impl PartialEq for Who {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.inc == other.inc && self.name == other.name
    }
}

impl Hash for Who {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.inc).hash(state);
    }
}

/// `T_q`: a strictly increasing sample of a grantor's clock (section 2: the hardware clock and a
/// counter), within the boot that took it.
///
/// Stamps of one [`Instance`] are totally ordered: first by boot, then by clock, then by counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Stamp {
    /// The boot in which the sample was taken.
    pub boot: Boot,
    /// The clock's value.
    pub clock: Time,
    /// Distinguishes samples of the same clock value.
    pub counter: u32,
}

impl fmt::Display for Inc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

impl fmt::Debug for Inc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "boot {}", self.0)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.name, self.inc)
    }
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}.{}", self.boot, self.clock, self.counter)
    }
}
