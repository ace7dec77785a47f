//! Reports that a process has set the wall clock.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::watched::Watched;

/// Reports when any process sets `CLOCK_REALTIME`: the kernel then cancels a timer on that clock. A
/// clock that only runs faster or slower for a while, as under NTP, is not reported.
#[derive(Debug)]
pub struct ClockSet(Watched<Cancelled>);

#[derive(Debug)]
struct Cancelled(OwnedFd);

impl ClockSet {
    /// Call this in a tokio runtime with I/O.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        // The timer never rings by itself.
        let it_value = Timespec { tv_sec: i64::MAX / 1_000_000_000 - 1, tv_nsec: 0 };
        let value = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        let how = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, how, &value)?;
        Ok(Self(Watched::new(Cancelled(timer))?))
    }

    /// Resolves once the clock was set. Cancel safe.
    pub async fn set(&self) {
        let cancelled = |timer: &Cancelled| match rustix::io::read(&timer.0, &mut [0; 8]) {
            Ok(_) | Err(Errno::CANCELED) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if self.0.read(cancelled).await.is_err() {
            // The timer cannot be read, so it reports no later change either.
            std::future::pending().await
        }
    }
}

impl AsFd for Cancelled {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
