//! Whether a process leads, asked at the moment of acting.

use crate::fence::Fence;
use crate::time::Time;

/// Whether this process leads an election at a given instant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standing {
    /// This process leads until `until` on its own clock, unless it renews before.
    Leading {
        until: Time,
        /// Fence of this leadership, where the protocol orders leaders.
        fence: Option<Fence>,
    },
    NotLeading,
}

impl Standing {
    #[must_use]
    pub const fn is_leading(self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}
