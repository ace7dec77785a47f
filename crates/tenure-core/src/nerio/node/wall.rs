//! The wall clock of a node with a bound on skew.

use super::Nerio;
use crate::clocks::Reading;

impl Nerio {
    /// Takes the clocks of an input. If the wall clock has moved against time since boot, claims
    /// are shortened and ends of grants translated before the input has any effect.
    pub(super) fn see(&mut self, now: Reading) {
        self.context.clocks = now.both;
        if let Some(grantor) = &mut self.grantor {
            grantor.clocks = now.both;
        }
        let Some(now) = now.both.filter(|now| self.wall_clock.see(now)) else { return };
        let Self { context, candidates, candidates_due, grantor, .. } = self;
        candidates.each(|candidate| {
            candidate.follow_wall(&now, context);
            candidate.book(candidates_due);
        });
        if let Some(grantor) = grantor {
            grantor.follow_wall(&now);
        }
    }
}
