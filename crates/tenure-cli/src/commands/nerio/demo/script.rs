//! The script of faults, and their times: a state machine without I/O.

use std::time::Duration;

use tenure::Time;

use super::judge::Leadership;

/// Extra time for each step: processes start slowly on a busy machine.
const SLACK: Duration = Duration::from_secs(10);
/// A leader with a younger last line is at work.
const FRESH: Duration = Duration::from_millis(500);
/// Time for which a killed or stopped candidate stays down after the takeover.
const VICTIM_DOWN: Duration = Duration::from_millis(700);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fault {
    Resign,
    /// SIGKILL for its `tenure run`.
    Kill,
    /// SIGSTOP for its `tenure run` until its lease is over, and SIGCONT later.
    Stop,
}

impl Fault {
    pub(super) const ALL: [Self; 3] = [Self::Resign, Self::Kill, Self::Stop];

    pub(super) const fn next(self) -> Self {
        match self {
            Self::Resign => Self::Kill,
            Self::Kill => Self::Stop,
            Self::Stop => Self::Resign,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Resign => "resign",
            Self::Kill => "kill -9",
            Self::Stop => "SIGSTOP",
        }
    }

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Resign => "resign",
            Self::Kill => "kill",
            Self::Stop => "stop",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Strike {
    pub(super) fault: Fault,
    pub(super) victim: String,
    pub(super) fence: u64,
}

/// The step of the demo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// No candidate has led yet.
    Opening { limit: Time },
    /// The leader works; the next fault comes at `until`.
    Pause { until: Time },
    /// The fault was done at `at`, and the other candidate must lead before `limit`.
    Struck { strike: Strike, at: Time, limit: Time },
    /// The other candidate leads, and the victim is mended at `at`.
    TakenOver { strike: Strike, at: Time },
    /// The remaining time is too short for another fault.
    Closing,
}

/// The next act of the demo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Do the fault, and call [`Script::struck`] with the time.
    Strike(Strike),
    /// Start the victim again, or continue it.
    Mend(Strike),
    /// The time is over.
    End,
    /// The expected event has not come for this long.
    Overdue(Duration),
}

pub(super) struct Script {
    lease: Duration,
    grace: Duration,
    end: Option<Time>,
    began: Time,
    phase: Phase,
    next: Fault,
}

impl Script {
    /// A demo that begins at `now` and ends at `end`, or never.
    pub(super) fn new(lease: Duration, grace: Duration, now: Time, end: Option<Time>) -> Self {
        let phase = Phase::Opening { limit: now.after(lease + SLACK) };
        Self { lease, grace, end, began: now, phase, next: Fault::Resign }
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The fault that comes next.
    pub(super) fn next(&self) -> Fault {
        self.next
    }

    /// Returns the time between two faults, in which the leader renews its lease.
    fn pause(&self) -> Duration {
        (self.lease * 3 / 4).clamp(Duration::from_secs(1), Duration::from_secs(4))
    }

    fn rest(&mut self, now: Time) {
        let until = now.after(self.pause());
        let room = self.lease + Duration::from_secs(1);
        self.phase = match self.end {
            Some(end) if until.after(room) > end => Phase::Closing,
            _ => Phase::Pause { until },
        };
    }

    /// Returns the act at `now`; `leader` wrote the latest line of the file.
    pub(super) fn step(&mut self, now: Time, leader: Option<&Leadership>) -> Option<Act> {
        let over = self.end.is_some_and(|end| now >= end);
        match &self.phase {
            Phase::Opening { .. } | Phase::Pause { .. } | Phase::TakenOver { .. } if over => {
                Some(Act::End)
            }
            Phase::Closing => over.then_some(Act::End),
            Phase::Opening { limit } => (now >= *limit).then(|| self.overdue(now, self.began)),
            Phase::Pause { until } if now < *until => None,
            Phase::Pause { until } => match leader {
                Some(leader) if now.since(leader.last) <= FRESH => {
                    let victim = leader.id.clone();
                    let fence = leader.fence;
                    Some(Act::Strike(Strike { fault: self.next, victim, fence }))
                }
                // The leader lost its lease by itself: another candidate will take over.
                _ => (now >= until.after(self.lease + SLACK)).then(|| self.overdue(now, *until)),
            },
            Phase::Struck { at, limit, .. } => (now >= *limit).then(|| self.overdue(now, *at)),
            Phase::TakenOver { at, .. } if now < *at => None,
            Phase::TakenOver { strike, .. } => {
                let act = Act::Mend(strike.clone());
                self.rest(now);
                Some(act)
            }
        }
    }

    fn overdue(&self, now: Time, since: Time) -> Act {
        Act::Overdue(now.since(since))
    }

    pub(super) fn struck(&mut self, strike: Strike, at: Time) {
        // A resignation waits for the end of the work, the other faults for the lease.
        let wait = match strike.fault {
            Fault::Resign => self.grace,
            Fault::Kill | Fault::Stop => self.lease,
        };
        self.next = strike.fault.next();
        self.phase = Phase::Struck { strike, at, limit: at.after(wait + SLACK) };
    }

    /// Records that another candidate leads with `fence` since `now`. Returns the fault that caused
    /// this, and its time, if any.
    pub(super) fn succeeded(&mut self, now: Time, fence: u64) -> Option<(Strike, Time)> {
        match &self.phase {
            Phase::Struck { strike, at, .. } if fence > strike.fence => {
                let answered = (strike.clone(), *at);
                match strike.fault {
                    Fault::Resign => self.rest(now),
                    Fault::Kill | Fault::Stop => {
                        let strike = strike.clone();
                        let at = now.after(VICTIM_DOWN);
                        self.phase = Phase::TakenOver { strike, at };
                    }
                }
                Some(answered)
            }
            Phase::Opening { .. } | Phase::Pause { .. } => {
                self.rest(now);
                None
            }
            Phase::Struck { .. } | Phase::TakenOver { .. } | Phase::Closing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);
    const GRACE: Duration = Duration::from_millis(400);

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn leader(id: &str, fence: u64, last: Time) -> Leadership {
        let id = id.to_owned();
        let until = last.after(LEASE);
        Leadership { fence, id, pid: 1, first: at(0), last, until, lines: 1 }
    }

    fn strike(fault: Fault, victim: &str, fence: u64) -> Strike {
        Strike { fault, victim: victim.into(), fence }
    }

    #[test]
    fn faults_take_turns() {
        let mut script = Script::new(LEASE, GRACE, at(0), None);
        assert_eq!(script.step(at(100), None), None);
        assert_eq!(script.succeeded(at(200), 1), None);
        assert_eq!(script.step(at(1_699), Some(&leader("ann", 1, at(1_690)))), None);

        let resign = strike(Fault::Resign, "ann", 1);
        let act = script.step(at(1_700), Some(&leader("ann", 1, at(1_690))));
        assert_eq!(act, Some(Act::Strike(resign.clone())));
        script.struck(resign.clone(), at(1_701));
        assert_eq!(script.step(at(1_710), Some(&leader("ann", 1, at(1_705)))), None);
        assert_eq!(script.succeeded(at(1_740), 2), Some((resign, at(1_701))));

        let kill = strike(Fault::Kill, "ben", 2);
        let act = script.step(at(3_240), Some(&leader("ben", 2, at(3_230))));
        assert_eq!(act, Some(Act::Strike(kill.clone())));
        script.struck(kill.clone(), at(3_241));
        assert_eq!(script.succeeded(at(5_000), 3), Some((kill.clone(), at(3_241))));
        assert_eq!(script.step(at(5_699), Some(&leader("ann", 3, at(5_690)))), None);
        assert_eq!(
            script.step(at(5_700), Some(&leader("ann", 3, at(5_690)))),
            Some(Act::Mend(kill))
        );

        let stop = strike(Fault::Stop, "ann", 3);
        let act = script.step(at(7_200), Some(&leader("ann", 3, at(7_190))));
        assert_eq!(act, Some(Act::Strike(stop)));
    }

    #[test]
    fn late_event_is_overdue() {
        let mut script = Script::new(LEASE, GRACE, at(0), None);
        assert_eq!(script.step(at(11_999), None), None);
        assert_eq!(script.step(at(12_000), None), Some(Act::Overdue(Duration::from_secs(12))));

        script.struck(strike(Fault::Resign, "ann", 1), at(0));
        assert_eq!(script.step(at(10_399), None), None);
        assert!(matches!(script.step(at(10_400), None), Some(Act::Overdue(_))));
        script.struck(strike(Fault::Kill, "ann", 1), at(0));
        assert_eq!(script.step(at(11_999), None), None);
        assert!(matches!(script.step(at(12_000), None), Some(Act::Overdue(_))));
    }

    #[test]
    fn idle_leader_is_overdue_later() {
        let mut script = Script::new(LEASE, GRACE, at(0), None);
        script.succeeded(at(0), 1);
        let idle = leader("ann", 1, at(900));
        assert_eq!(script.step(at(1_500), Some(&idle)), None);
        assert!(matches!(script.step(at(13_500), Some(&idle)), Some(Act::Overdue(_))));
    }

    #[test]
    fn unprovoked_change_begins_new_pause() {
        let mut script = Script::new(LEASE, GRACE, at(0), None);
        script.succeeded(at(0), 1);
        assert_eq!(script.succeeded(at(1_000), 2), None);
        assert_eq!(script.phase(), &Phase::Pause { until: at(2_500) });
    }

    #[test]
    fn no_fault_begins_too_late() {
        let mut script = Script::new(LEASE, GRACE, at(0), Some(at(4_499)));
        script.succeeded(at(0), 1);
        assert_eq!(script.phase(), &Phase::Closing);
        assert_eq!(script.step(at(4_498), None), None);
        assert_eq!(script.step(at(4_499), None), Some(Act::End));

        let mut script = Script::new(LEASE, GRACE, at(0), Some(at(4_500)));
        script.succeeded(at(0), 1);
        script.struck(strike(Fault::Kill, "ann", 1), at(1_500));
        assert_eq!(script.step(at(5_000), None), None, "a failover is waited for");
        assert!(script.succeeded(at(5_100), 2).is_some());
        assert_eq!(script.step(at(5_101), None), Some(Act::End));
    }
}
