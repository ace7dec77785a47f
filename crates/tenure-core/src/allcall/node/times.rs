//! The times by which others go: heartbeat, lease and skew (ruling 6).

use crate::allcall::identity::Participant;
use crate::allcall::message::Times;
use crate::time::Time;

/// The times of those that took part before this process.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct TimesInUse {
    /// A participant goes by the times of this process.
    pub(super) ours: bool,
    /// A participant that goes by other times.
    pub(super) other: Option<OtherTimes>,
    /// Other times were reported, or this process has refused to start.
    pub(super) told: bool,
}

/// A participant that goes by other times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OtherTimes {
    pub(super) who: Participant,
    pub(super) times: Times,
    /// This process waits until then for a participant with its own times.
    pub(super) due: Time,
    /// Whether this process had not listened long enough when it heard the other: until it has
    /// decided, it cannot have come to lead.
    pub(super) newcomer: bool,
}

impl TimesInUse {
    /// When this process decides whether it takes part.
    pub(super) fn due(&self) -> Option<Time> {
        self.other.as_ref().map(|other| other.due)
    }
}
