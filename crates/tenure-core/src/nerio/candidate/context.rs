//! State that all candidates and observers of a node share.

use core::time::Duration;

use super::super::config::Checked;
use super::super::epoch::Membership;
use super::super::identity::Who;
use super::super::round_trips::RoundTrips;
use crate::draw::Draw;

pub(in crate::nerio) struct Context<'a> {
    pub(in crate::nerio) config: &'a Checked,
    pub(in crate::nerio) membership: &'a Membership,
    pub(in crate::nerio) who: &'a Who,
    pub(in crate::nerio) draw: Draw,
    pub(in crate::nerio) trips: &'a mut RoundTrips,
}

impl Context<'_> {
    pub(in crate::nerio) fn round_trip(&self) -> Duration {
        self.trips.high(self.config.round_trip)
    }

    pub(in crate::nerio) fn retry(&self) -> Duration {
        self.config.retry_after(self.round_trip())
    }
}
