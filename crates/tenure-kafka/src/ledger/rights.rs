//! Rights that are missing, for a moment or for good.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tenure::Time;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Right {
    Topic,
    /// The right to be a member of the group.
    Group,
}

/// The right that is missing according to the error.
pub(super) fn missing(error: &KafkaError) -> Option<Right> {
    of(error.rdkafka_error_code()?)
}

pub(super) fn of(code: Code) -> Option<Right> {
    match code {
        Code::TopicAuthorizationFailed => Some(Right::Topic),
        // A member that could not leave keeps its static id for the time of a session.
        Code::GroupAuthorizationFailed | Code::UnreleasedInstanceId => Some(Right::Group),
        _ => None,
    }
}

/// Refusals further apart than this count anew: the right may have been granted in between.
const APART: Duration = Duration::from_secs(30);

/// The rights of a process, according to brokers. Clones share the rights.
#[derive(Clone)]
pub(super) struct Rights {
    /// The longest time for which a right may be missing that the process had before.
    patience: Duration,
    known: Arc<Mutex<[RightState; 2]>>,
}

#[derive(Clone, Copy, Default)]
struct RightState {
    had: bool,
    /// Times of the first and the last refusal since the process last had the right, on
    /// `CLOCK_BOOTTIME`.
    refused: Option<(Time, Time)>,
}

impl Rights {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, known: Arc::default() }
    }

    /// Notes that the process has a right.
    pub(super) fn has(&self, right: Right) {
        self.with(right, |known| *known = RightState { had: true, refused: None });
    }

    /// Notes a refusal at `now`. Returns whether the refusal is for good: the process never had the
    /// right, or has lacked it for too long.
    pub(super) fn is_refused(&self, right: Right, now: Time) -> bool {
        self.with(right, |known| {
            let apart = APART.max(self.patience);
            let same = known.refused.filter(|(_, last)| now.since(*last) <= apart);
            let since = same.map_or(now, |(first, _)| first);
            known.refused = Some((since, now));
            !known.had || now.since(since) > self.patience
        })
    }

    fn with<T>(&self, right: Right, act: impl FnOnce(&mut RightState) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let [topic, group] = &mut *known;
        act(match right {
            Right::Topic => topic,
            Right::Group => group,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn lost_right_gets_patience() {
        let rights = Rights::new(Duration::from_secs(10));
        assert!(rights.is_refused(Right::Topic, at(100)), "it was never there");
        rights.has(Right::Topic);
        assert!(rights.is_refused(Right::Group, at(100)), "this one was not");
        let refused = |seconds| rights.clone().is_refused(Right::Topic, at(seconds));
        assert!(!refused(200) && !refused(205) && !refused(210));
        assert!(refused(211));
        rights.has(Right::Topic);
        assert!(!refused(212) && !refused(222));
        // After a long time without a question, refusals count anew: the right may have been there.
        assert!(!refused(300) && !refused(310));
        assert!(refused(311));
    }
}
