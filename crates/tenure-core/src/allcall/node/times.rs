//! The times of other participants: heartbeat, lease and skew (ruling 6).

use crate::allcall::identity::Participant;
use crate::allcall::message::Times;
use crate::time::Time;

/// Times that earlier participants use.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(in crate::allcall) struct TimesInUse {
    /// Whether a participant uses the times of this process.
    pub(super) ours: bool,
    /// The first participant that uses other times.
    pub(super) other: Option<OtherTimes>,
    /// Whether other times were reported.
    pub(super) told: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct OtherTimes {
    pub(super) who: Participant,
    pub(super) times: Times,
    /// The time until which this process waits for a participant that uses the same times as this
    /// process.
    pub(super) due: Time,
    /// Whether this process was still in its initial wait when it heard the other times. Such a
    /// process is not eligible before it has decided.
    pub(super) newcomer: bool,
}

impl TimesInUse {
    /// The time at which this process decides whether to take part.
    pub(super) fn due(&self) -> Option<Time> {
        self.other.as_ref().map(|other| other.due)
    }

    /// Whether this process is a newcomer that may refuse to start.
    pub(super) fn is_undecided(&self) -> bool {
        self.other.as_ref().is_some_and(|other| other.newcomer)
    }
}
