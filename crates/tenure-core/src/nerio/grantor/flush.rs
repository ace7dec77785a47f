//! A flush under way, and the pause before a write is repeated.

use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::contract::Ticket;
use crate::time::Time;

/// Pause after which a grantor repeats a failed write of its identity.
pub(in crate::nerio) const REWRITE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::nerio) struct Flush {
    pub(in crate::nerio) ticket: Ticket,
    /// Start of the flush.
    pub(in crate::nerio) since: Time,
}

/// Leaves out the time, which decides only what is reported: the model check in `tenure-sim`, which
/// compares hashes, need not tell times apart.
impl Hash for Flush {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ticket.hash(state);
    }
}
