//! Participants and their ranks.

use core::fmt;

use crate::name::NodeName;

/// A run of a process: its name, and bits that tell it from an earlier run of the same name.
///
/// A process that is killed and started again is another participant: the claims of the earlier run
/// bind only the participants that wait until they have ended (ruling 5).
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
