//! A campaign for one role.

use crate::fence::Fence;
use crate::name::Value;
use crate::time::Time;
use crate::waiting::Waiting;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) struct Campaign {
    pub(in crate::nele) value: Value,
    pub(in crate::nele) phase: Phase,
    pub(in crate::nele) waits: Option<Waiting>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nele) enum Phase {
    Waiting,
    Leading {
        until: Time,
        /// The fence of this role. Other roles of the partition may have an earlier fence.
        fence: Option<Fence>,
        /// The leadership is settled once its end is at least `full`; `None` after that.
        full: Option<Time>,
    },
}

impl Campaign {
    pub(in crate::nele) const fn new(value: Value) -> Self {
        Self { value, phase: Phase::Waiting, waits: None }
    }

    pub(in crate::nele) const fn leads(&self) -> bool {
        matches!(self.phase, Phase::Leading { .. })
    }
}
