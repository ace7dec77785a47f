//! State that all candidates of a node share.

use core::time::Duration;

use super::super::config::Checked;
use super::super::identity::Who;
use super::super::round_trips::RoundTrips;
use super::silence::Silence;
use crate::draw::Draw;

pub(in crate::nerio) struct Context<'a> {
    pub(in crate::nerio) config: &'a Checked,
    pub(in crate::nerio) who: &'a Who,
    pub(in crate::nerio) draw: Draw,
    pub(in crate::nerio) trips: &'a mut RoundTrips,
    pub(in crate::nerio) silence: &'a mut Silence,
}

impl Context<'_> {
    pub(in crate::nerio) fn round_trip(&self) -> Duration {
        self.trips.high(self.config.round_trip)
    }

    pub(in crate::nerio) fn retry(&self) -> Duration {
        self.config.retry_after(self.round_trip())
    }

    /// Pause before the next request of a leader that hands over.
    pub(in crate::nerio) fn retry_of_transfer(&self) -> Duration {
        self.retry().min(self.config.refresh)
    }
}
