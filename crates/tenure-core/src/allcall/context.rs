//! Borrowed parts that an election needs while its process handles one input.

use alloc::vec::Vec;

use super::config::Checked;
use super::identity::{Participant, Rank};
use super::message::Tombstone;
use super::words::Out;
use crate::clocks::BothClocks;
use crate::deadlines::Deadlines;
use crate::name::ElectionName;
use crate::time::Time;

/// The identity of this process, for as long as it runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Me {
    pub(super) who: Participant,
    pub(super) rank: Rank,
}

impl Me {
    /// Whether `who` is this process. An earlier process of the same name is another participant
    /// (ruling 5).
    pub(super) fn is(&self, who: &Participant) -> bool {
        self.who == *who
    }

    /// Whether this process comes before another process: by rank, and by name if the ranks are
    /// equal.
    pub(super) fn goes_before(&self, rank: Rank, who: &Participant) -> bool {
        (self.rank, &self.who) < (rank, who)
    }
}

/// Borrowed parts of the process that an election needs.
pub(super) struct Context<'a> {
    pub(super) now: BothClocks,
    pub(super) config: &'a Checked,
    pub(super) me: &'a Me,
    pub(super) connected: bool,
    /// Whether the wall clock of this process is wrong (ruling 4).
    pub(super) clock_off: bool,
    /// Whether no other clock was compared with the wall clock for the length of a lease.
    pub(super) clock_due: bool,
    /// Whether this process is a newcomer that has heard a participant with other times. Such a
    /// process may refuse to start (ruling 6).
    pub(super) undecided: bool,
    /// The last term of this process, counted over all elections.
    pub(super) terms: &'a mut u64,
    pub(super) deadlines: &'a mut Deadlines,
    pub(super) out: &'a mut Out,
    /// Tombstones to publish on the bus, in one packet for all elections.
    pub(super) resigned: &'a mut Vec<(ElectionName, Tombstone)>,
}

impl Context<'_> {
    pub(super) const fn boot(&self) -> Time {
        self.now.boot
    }
}
