//! The membership of this process in its group.

use crate::nele::identity::{Membership, RebalanceId};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Group {
    pub(in crate::nele) membership: Membership,
    pub(in crate::nele) phase: GroupPhase,
    pub(in crate::nele) rebalance: RebalanceId,
    /// The process has left by its own wish, and not joined since.
    pub(in crate::nele) leaves: bool,
    /// The application has resigned its last role: the process leaves at once.
    pub(in crate::nele) quits: bool,
    /// The process leaves at this time, because it has no campaign.
    pub(in crate::nele) idle: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) enum GroupPhase {
    #[default]
    Out,
    /// The process has joined, and has `heard` its first rebalance or not.
    In { heard: bool },
    /// The process leaves, and counts as having left at this time.
    Leaving { until: Time },
}

impl Group {
    pub(in crate::nele) const fn is_out(&self) -> bool {
        matches!(self.phase, GroupPhase::Out)
    }

    pub(in crate::nele) const fn is_member(&self) -> bool {
        matches!(self.phase, GroupPhase::In { heard: true })
    }

    pub(in crate::nele) const fn leaves(&self) -> bool {
        self.leaves
    }

    pub(in crate::nele) const fn due(&self) -> Option<Time> {
        match self.phase {
            GroupPhase::Leaving { until } => Some(until),
            GroupPhase::In { .. } => self.idle,
            GroupPhase::Out => None,
        }
    }

    pub(in crate::nele) const fn has_joined(&self) -> bool {
        matches!(self.phase, GroupPhase::In { .. })
    }
}
