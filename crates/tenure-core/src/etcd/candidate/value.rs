//! The value of a candidate's key.

use core::time::Duration;

use crate::etcd::key::Bytes;
use crate::name::Value;
use crate::time::Time;

/// The shortest pause before a leader overwrites another value again: two processes with different
/// values must not answer each other without pause.
const MEND_AGAIN: Duration = Duration::from_secs(1);

/// The value that others are to see, and whether they see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::etcd) struct OwnValue {
    value: Value,
    stale: bool,
    /// The time at which the value is or was last to be written over another one.
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

    /// A campaign begins: the key is made with this value.
    pub(in crate::etcd) fn begin(&mut self, value: Value) {
        self.value = value;
        self.stale = false;
    }

    /// The application proclaims a value. The write need not wait, as it answers no other process.
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

    /// Whether the value is to be written, and may be written by now.
    pub(in crate::etcd) fn may_write(&self, now: Time) -> bool {
        self.stale && self.mended.is_none_or(|at| at <= now)
    }

    pub(in crate::etcd) fn due(&self) -> Option<Time> {
        self.mended.filter(|_| self.stale)
    }

    /// The key has another value. Returns the time at which to write the own one; the next action
    /// was `planned`.
    pub(super) fn mend(&mut self, planned: Option<Time>, now: Time) -> Time {
        if self.stale {
            // The time of the write is set already.
            return planned.or(self.mended).unwrap_or(now);
        }
        let at = self.mended.map_or(now, |last| now.max(last.after(MEND_AGAIN)));
        self.stale = true;
        self.mended = Some(at);
        at
    }
}
