//! A flush under way, and the pause before a write is repeated.

use core::hash::{Hash, Hasher};
use core::time::Duration;

use crate::contract::Ticket;
use crate::time::Time;

/// How long a grantor that could not write its identity down waits before it tries again.
pub(in crate::nerio) const REWRITE: Duration = Duration::from_secs(1);

/// A flush that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::nerio) struct Flush {
    pub(in crate::nerio) ticket: Ticket,
    pub(in crate::nerio) since: Time,
}

/// When it was asked for decides only what is told: a search through all states, which tells them
/// apart by their hash, need not tell these apart.
impl Hash for Flush {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ticket.hash(state);
    }
}
