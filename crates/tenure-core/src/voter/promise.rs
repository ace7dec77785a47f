//! Keeps the promise of this voter to endorse and acknowledge no other leader, and its quarantine
//! (V6, V7, V8). `Voter::begin` sets the quarantine; `node/promise_rules.rs` has the rules.

use alloc::vec::Vec;

use super::identity::Leadership;
use crate::time::Time;

/// The number of released leaderships that are remembered. A message about an earlier leadership
/// would come long after its timeout.
const RELEASED_MAX: usize = 8;

/// The promise of one voter, and its silence after a restart.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Promise {
    /// The time before which the voter promises nothing, because an earlier run may have promised.
    pub(super) quarantine: Time,
    given: Option<(Leadership, Time)>,
    /// The last time at which a release cleared a running promise.
    cleared: Time,
    released: Vec<Leadership>,
}

impl Promise {
    /// The leadership to which a promise runs, and its end.
    pub(super) fn running(&self, now: Time) -> Option<(&Leadership, Time)> {
        let (to, until) = self.given.as_ref()?;
        (now < *until).then_some((to, *until))
    }

    pub(super) fn is_quarantined(&self, now: Time) -> bool {
        now < self.quarantine
    }

    /// Whether this voter may promise now.
    pub(super) fn is_free(&self, now: Time) -> bool {
        !self.is_quarantined(now) && self.running(now).is_none()
    }

    /// The start of the time without a promise, if none runs now.
    pub(super) fn free_since(&self, now: Time) -> Time {
        let lapsed = self.given.as_ref().map_or(Time::ZERO, |(_, until)| *until);
        self.quarantine.max(lapsed).max(self.cleared).min(now)
    }

    /// Gives a promise in place of the last one. A promise to the same leadership is never
    /// shortened.
    pub(super) fn give(&mut self, to: Leadership, until: Time) {
        let before = self.given.take().filter(|(given, _)| given.is_as(&to));
        let until = before.map_or(until, |(_, before)| before.max(until));
        self.given = Some((to, until));
    }

    /// Ends the promise to this leadership, and remembers the leadership as released. Returns
    /// whether a promise ran.
    pub(super) fn release(&mut self, leadership: &Leadership, now: Time) -> bool {
        if !self.released.contains(leadership) {
            self.released.truncate(RELEASED_MAX - 1);
            self.released.insert(0, leadership.clone());
        }
        let released = self.given.take_if(|(given, _)| given == leadership);
        let Some((_, until)) = released else { return false };
        self.cleared = until.min(now);
        true
    }

    pub(super) fn is_released(&self, leadership: &Leadership) -> bool {
        self.released.contains(leadership)
    }

    /// The later end of promise and quarantine, if one of them runs.
    pub(super) fn ends(&self, now: Time) -> Option<Time> {
        let running = self.running(now).map(|(_, until)| until);
        let quarantine = Some(self.quarantine).filter(|_| self.is_quarantined(now));
        running.max(quarantine)
    }
}
