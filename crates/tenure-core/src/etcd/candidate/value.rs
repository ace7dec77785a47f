//! The value of a candidate's key, and when the value must be written again.

use core::time::Duration;

use crate::etcd::key::Bytes;
use crate::name::Value;
use crate::time::Time;

/// The shortest pause before a leader overwrites another value again. Without the pause two
/// processes with different values would overwrite each other all the time.
const MEND_AGAIN: Duration = Duration::from_secs(1);

/// The value of the candidate, and whether its key has that value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct OwnValue {
    value: Value,
    stale: bool,
    /// The time of the last or planned write over another value.
    mended: Option<Time>,
}

impl OwnValue {
    pub(super) const fn new(value: Value) -> Self {
        Self { value, stale: false, mended: None }
    }

    pub(in crate::etcd) fn as_str(&self) -> &str {
        self.value.as_str()
    }

    pub(in crate::etcd) fn get(&self) -> Value {
        self.value.clone()
    }

    /// Begins a campaign, whose key is made with this value.
    pub(in crate::etcd) fn begin(&mut self, value: Value) {
        self.value = value;
        self.stale = false;
    }

    /// Sets a new value, which is written at once: the pause follows only a write of another
    /// process.
    pub(super) fn propose(&mut self, value: Value, now: Time) {
        self.stale = true;
        self.value = value;
        self.mended = self.mended.min(Some(now));
    }

    pub(in crate::etcd) const fn is_stale(&self) -> bool {
        self.stale
    }

    pub(super) const fn mark_stale(&mut self) {
        self.stale = true;
    }

    pub(in crate::etcd) const fn mark_written(&mut self) {
        self.stale = false;
    }

    pub(super) fn differs(&self, found: &Bytes) -> bool {
        *found != self.value.as_str().into()
    }

    /// Whether the value must be written, and may be written now.
    pub(in crate::etcd) fn may_write(&self, now: Time) -> bool {
        self.stale && self.mended.is_none_or(|at| at <= now)
    }

    pub(in crate::etcd) fn due(&self) -> Option<Time> {
        self.mended.filter(|_| self.stale)
    }

    /// Plans a write, because the key has another value. `planned` is the time of the next action
    /// so far; the new time is returned.
    pub(super) fn mend(&mut self, planned: Option<Time>, now: Time) -> Time {
        if self.stale {
            // A write is planned already.
            return planned.or(self.mended).unwrap_or(now);
        }
        let at = self.mended.map_or(now, |last| now.max(last.after(MEND_AGAIN)));
        self.stale = true;
        self.mended = Some(at);
        at
    }
}
