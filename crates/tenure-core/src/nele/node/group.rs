//! The membership of this process in its group.

use crate::nele::identity::{Membership, RebalanceId};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) struct Group {
    pub(in crate::nele) membership: Membership,
    pub(in crate::nele) phase: GroupPhase,
    pub(in crate::nele) rebalance: RebalanceId,
    /// Whether the process has left by request, and has not joined since.
    pub(in crate::nele) leaves: bool,
    /// Whether the application has resigned its last role: the process then leaves at once.
    pub(in crate::nele) quits: bool,
    /// The time at which the process leaves unless a campaign begins.
    pub(in crate::nele) idle: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::nele) enum GroupPhase {
    #[default]
    Out,
    /// The process has joined; `heard` once its first rebalance was reported.
    In { heard: bool },
    /// The process leaves. At `until` the process counts as gone even without an answer.
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
