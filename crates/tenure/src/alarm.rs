//! An alarm that rings at an instant of `CLOCK_BOOTTIME`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tenure_core::Time;

/// A `timerfd` on `CLOCK_BOOTTIME`, which becomes readable at the instant that was set. Timeouts of
/// `poll` and of tokio cannot replace it: they stand still while the machine is suspended.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// An alarm that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self(timerfd_create(TimerfdClockId::Boottime, flags)?))
    }

    /// Rings at `at`, not earlier; at once if `at` has passed.
    pub fn set(&self, at: Time) -> io::Result<()> {
        const BILLION: u64 = 1_000_000_000;
        // Zero would switch the timer off.
        let nanos = at.as_nanos().max(1);
        let it_value = Timespec {
            tv_sec: i64::try_from(nanos / BILLION).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanos % BILLION).unwrap_or(0),
        };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &value)?;
        Ok(())
    }

    /// Clears a ring; `WouldBlock` if the alarm has not rung since it was last set.
    pub fn take(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;
    use crate::clock;

    fn rung(alarm: &Alarm, wait: Duration) -> bool {
        let timeout = Timespec::try_from(wait).unwrap();
        poll(&mut [PollFd::new(alarm, PollFlags::IN)], Some(&timeout)).unwrap() == 1
    }

    #[test]
    fn rings_when_due_and_not_before() {
        let alarm = Alarm::new().unwrap();
        let at = clock::now().after(Duration::from_millis(20));
        alarm.set(at).unwrap();
        assert!(rung(&alarm, Duration::from_secs(60)));
        assert!(clock::now() >= at);
        for past in [Time::ZERO, clock::now()] {
            alarm.set(past).unwrap();
            assert!(rung(&alarm, Duration::from_secs(60)));
        }
        for far in [clock::now().after(Duration::from_secs(3600)), Time::MAX] {
            alarm.set(far).unwrap();
            assert!(!rung(&alarm, Duration::ZERO));
        }
    }
}
