//! The times of other participants: heartbeat, lease and skew (ruling 6).

use crate::allcall::identity::Participant;
use crate::allcall::message::Times;
use crate::time::Time;

/// The times of the participants before this process.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct TimesInUse {
    /// A participant has the times of this process.
    pub(super) ours: bool,
    /// A participant has other times.
    pub(super) other: Option<OtherTimes>,
    pub(super) told: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OtherTimes {
    pub(super) who: Participant,
    pub(super) times: Times,
    /// This process waits until then for a participant with its own times.
    pub(super) due: Time,
    /// Whether this process still listened when it heard the other: until it has decided, it is not
    /// eligible.
    pub(super) newcomer: bool,
}

impl TimesInUse {
    /// The time at which this process decides whether it takes part.
    pub(super) fn due(&self) -> Option<Time> {
        self.other.as_ref().map(|other| other.due)
    }

    /// Whether this process is a newcomer that may refuse to start.
    pub(super) fn is_undecided(&self) -> bool {
        self.other.as_ref().is_some_and(|other| other.newcomer)
    }
}
