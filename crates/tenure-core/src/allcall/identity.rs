//! Participants and their ranks.

use core::fmt;

use crate::name::NodeName;

/// A run of a process: its name, and random bits that differ from run to run.
///
/// A process that is killed and started again is another participant. Claims of the earlier run
/// hold until they end, for the later run as for all others (ruling 5).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Participant {
    /// The name, unique in the cluster among processes that run at the same time.
    pub id: NodeName,
    /// 128 random bits, drawn when the process starts.
    pub incarnation: u128,
}

/// The rank of a participant: the lower rank leads.
///
/// The order is total: by number, then by tie-break.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rank {
    pub number: u64,
    /// 128 random bits, drawn when the process starts and kept over every reconnection. They make
    /// ranks distinct, except with probability 2⁻¹²⁸.
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
