//! The times at which a command gets SIGTERM and SIGKILL: arithmetic, nothing else.

use std::time::Duration;

use tenure_core::Time;

use crate::frame::Why;

/// Killing begins this long before the kill margin, so that the guard's wake-up and its pass over
/// the processes do not use up the margin.
const HEADSTART: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    Nothing,
    /// Send SIGTERM, once.
    Terminate,
    /// Send SIGKILL, again and again until nothing is left.
    Kill,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Running,
    Terminating { since: Time },
    Killing,
}

/// The stages of a command from running to killed. A command never goes back to an earlier stage.
#[derive(Debug)]
pub(crate) struct Timeline {
    grace: Duration,
    kill_margin: Duration,
    until: Time,
    why: Option<Why>,
    stage: Stage,
}

impl Timeline {
    pub(crate) fn new(grace: Duration, kill_margin: Duration, until: Time) -> Self {
        Self { grace, kill_margin, until, why: None, stage: Stage::Running }
    }

    /// Sets the end of the lease, later or earlier than before.
    pub(crate) fn set_until(&mut self, until: Time) {
        self.until = until;
    }

    /// Begins the end of the command. A reason that was given before stays.
    pub(crate) fn end(&mut self, why: Why) {
        self.why.get_or_insert(why);
    }

    /// The cause of the command's end, if it is being ended.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why
    }

    /// Takes the action that is due at `now`; the caller must carry it out.
    pub(crate) fn due(&mut self, now: Time) -> Due {
        if self.stage == Stage::Killing || now >= self.kill_at() {
            self.end(Why::Deadline);
            self.stage = Stage::Killing;
            return Due::Kill;
        }
        if now >= self.until.before(self.grace) {
            self.end(Why::Deadline);
        }
        if self.stage == Stage::Running && self.why.is_some() {
            self.stage = Stage::Terminating { since: now };
            return Due::Terminate;
        }
        Due::Nothing
    }

    /// The time of the next action, as far as is known; `None` while killing.
    pub(crate) fn next(&self) -> Option<Time> {
        match self.stage {
            Stage::Running => Some(self.kill_at().min(self.until.before(self.grace))),
            Stage::Terminating { .. } => Some(self.kill_at()),
            Stage::Killing => None,
        }
    }

    fn kill_at(&self) -> Time {
        let latest = self.until.before(self.kill_margin).before(HEADSTART);
        match self.stage {
            Stage::Terminating { since } => latest.min(since.after(self.grace)),
            Stage::Running | Stage::Killing => latest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// grace 3 s, kill margin 1 s, until 10 s: SIGTERM at 7 s, SIGKILL at 8.99 s.
    fn timeline() -> Timeline {
        Timeline::new(Duration::from_secs(3), Duration::from_secs(1), at(10_000))
    }

    #[test]
    fn timeline_warns_then_kills() {
        let mut line = timeline();
        assert_eq!(line.next(), Some(at(7_000)));
        assert_eq!(line.due(at(6_999)), Due::Nothing);
        assert_eq!(line.why(), None);
        assert_eq!(line.due(at(7_000)), Due::Terminate);
        assert_eq!(line.due(at(7_001)), Due::Nothing);
        assert_eq!(line.next(), Some(at(8_990)));
        assert_eq!(line.due(at(8_989)), Due::Nothing);
        assert_eq!(line.due(at(8_990)), Due::Kill);
        assert_eq!(line.due(at(8_991)), Due::Kill);
        assert_eq!((line.next(), line.why()), (None, Some(Why::Deadline)));
    }

    #[test]
    fn stop_gives_grace_within_lease() {
        let mut line = timeline();
        line.end(Why::Stopped);
        assert_eq!(line.due(at(2_000)), Due::Terminate);
        assert_eq!(line.next(), Some(at(5_000)));
        assert_eq!(line.due(at(5_000)), Due::Kill);

        let mut line = timeline();
        line.end(Why::Stopped);
        assert_eq!(line.due(at(6_500)), Due::Terminate);
        assert_eq!(line.next(), Some(at(8_990)));
        assert_eq!(line.why(), Some(Why::Stopped));
    }

    #[test]
    fn renewal_moves_deadlines_until_warning() {
        let mut line = timeline();
        line.set_until(at(20_000));
        assert_eq!(line.due(at(16_999)), Due::Nothing);
        line.set_until(at(12_000));
        assert_eq!(line.due(at(16_999)), Due::Kill);
    }

    #[test]
    fn late_renewal_gives_only_grace() {
        let mut line = timeline();
        assert_eq!(line.due(at(7_500)), Due::Terminate);
        line.set_until(at(20_000));
        assert_eq!(line.next(), Some(at(10_500)));
        assert_eq!(line.due(at(10_499)), Due::Nothing);
        assert_eq!(line.due(at(10_500)), Due::Kill);
        line.set_until(at(90_000));
        assert_eq!(line.due(at(10_501)), Due::Kill);
    }

    #[test]
    fn pause_skips_warning() {
        assert_eq!(timeline().due(at(9_500)), Due::Kill);
        assert_eq!(timeline().due(Time::MAX), Due::Kill);
    }

    #[test]
    fn the_first_reason_stays() {
        let mut line = timeline();
        line.end(Why::Itself);
        line.end(Why::Stopped);
        assert_eq!(line.due(at(1)), Due::Terminate);
        assert_eq!(line.due(at(9_999)), Due::Kill);
        assert_eq!(line.why(), Some(Why::Itself));
    }

    #[test]
    fn grace_equal_to_margin_skips_warning() {
        let second = Duration::from_secs(1);
        let mut line = Timeline::new(second, second, at(10_000));
        assert_eq!(line.next(), Some(at(8_990)));
        assert_eq!(line.due(at(8_990)), Due::Kill);
    }
}
