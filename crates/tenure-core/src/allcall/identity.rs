//! Who takes part, and which of two participants goes first.

use core::fmt;

use crate::name::NodeName;

/// One run of one process: its name, and what tells it from an earlier run of the same name.
///
/// A process that is killed and started again is another participant: what the earlier one claimed
/// binds nobody but those who wait until it has ended (ruling 5).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Participant {
    /// Its name, unique in the cluster among those that run at the same time.
    pub id: NodeName,
    /// 128 random bits, drawn when the process starts.
    pub incarnation: u128,
}

/// Where a participant stands among others: the lower leads.
///
/// The order is total: by number, then by tie-break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank {
    /// As configured, or drawn.
    pub number: u64,
    /// 128 random bits, drawn when the process starts and kept until it ends, over every
    /// reconnection: with these, two ranks are equal with probability 2⁻¹²⁸.
    pub tie: u128,
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{:08x}", self.id, self.incarnation >> 96)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}
