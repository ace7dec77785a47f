//! Participants, and their incarnations.

use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::name::NodeName;
use crate::time::Time;

/// 128 random bits drawn at each process start, after any fork: one incarnation of a participant.
///
/// A name alone identifies no participant: a delayed release of an earlier incarnation would end
/// the grant of a later one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Inc(pub u128);

/// Identity of a grantor's memory, kept in its state directory: the time at which the memory began,
/// in milliseconds since 1970 (48 bits), and 80 random bits.
///
/// A grantor whose directory was lost has another instance. Quorum timestamps of different
/// instances are not comparable. The greater of two instances of one member is the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instance(pub u128);

impl Instance {
    const RANDOM_BITS: u32 = 80;
    const RANDOM: u128 = (1 << Self::RANDOM_BITS) - 1;
    const BORN_MAX: u64 = (1 << (u128::BITS - Self::RANDOM_BITS)) - 1;

    /// A memory that begins `born` milliseconds after 1970 began.
    #[must_use]
    pub const fn new(born: u64, random: u128) -> Self {
        let born = if born > Self::BORN_MAX { Self::BORN_MAX } else { born };
        Self((born as u128) << Self::RANDOM_BITS | random & Self::RANDOM)
    }

    /// The time at which the memory began, in milliseconds since 1970 by the clock of its machine.
    #[must_use]
    pub const fn born(self) -> u64 {
        (self.0 >> Self::RANDOM_BITS) as u64
    }

    /// An instance later than `other`, for a memory on which no member relies yet. `None` if there
    /// is no later number.
    pub(super) fn after(self, other: Self) -> Option<Self> {
        let born = other.born().checked_add(1).filter(|born| *born <= Self::BORN_MAX)?;
        Some(Self::new(born.max(self.born()), self.0))
    }

    /// The mark by which oks name this memory.
    #[must_use]
    pub const fn mark(self) -> Mark {
        Mark((self.0 as u64).to_le_bytes())
    }
}

/// The last 64 bits of an [`Instance`], all of them random: enough to tell the few memories of one
/// member apart, and half as long. Zero names no memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Mark(pub [u8; 8]);

impl Mark {
    /// No memory.
    pub const NONE: Self = Self([0; 8]);
}

/// Number of a grantor's start on its state directory, raised durably before the grantor grants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Boot(pub u64);

/// An incarnation of a participant.
#[derive(Clone, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Who {
    pub name: NodeName,
    pub inc: Inc,
}

// Two incarnations usually differ in their random bits, which are faster to compare.
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
    /// Boot in which the sample was taken.
    pub boot: Boot,
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
        write!(f, "{:08x}", self.0 as u32)
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
