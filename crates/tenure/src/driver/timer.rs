//! The timer of a driver's loop.

use std::io;
use std::time::Duration;

use tenure_core::Time;

use crate::alarm::Alarm;
use crate::clock;
use crate::watched::Watched;

/// When a deadline moves later, an alarm that is due within this time is set anew. An alarm further
/// away stays, and rings once too early.
const NEAR: Duration = Duration::from_millis(10);

/// Wakes a loop in tokio at an instant of `CLOCK_BOOTTIME`, also when the machine was suspended
/// meanwhile; tokio's own timers stand still then.
///
/// ```
/// use std::time::Duration;
/// use tenure::{clock, driver::Timer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut timer = Timer::new()?;
/// let at = clock::now().after(Duration::from_millis(5));
/// timer.arm(Some(at));
/// timer.rung().await;
/// assert!(clock::now() >= at);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Timer {
    alarm: Watched<Alarm>,
    armed: Option<Time>,
}

impl Timer {
    /// Makes a timer that is not armed. Call this in a tokio runtime with I/O.
    pub fn new() -> io::Result<Self> {
        Ok(Self { alarm: Watched::new(Alarm::new()?)?, armed: None })
    }

    /// Arms the timer: it rings at `at` at the latest, at once if `at` has passed. The timer may
    /// ring too early, because an earlier instant stays armed if it is more than 10 ms away, or if
    /// `at` is `None`. So read the clock after each ring. Arming for the same instant is cheap, so
    /// a loop can arm before each wait.
    pub fn arm(&mut self, at: Option<Time>) {
        let Some(at) = at.filter(|at| Some(*at) != self.armed) else { return };
        if self.armed.is_some_and(|armed| armed < at && armed > clock::now().after(NEAR)) {
            return;
        }
        match self.alarm.inner().set(at) {
            Ok(()) => self.armed = Some(at),
            Err(error) => tracing::error!(%error, "the timer could not be set"),
        }
    }

    /// Resolves once the timer has rung, and disarms it. Cancel safe.
    pub async fn rung(&mut self) {
        // Return after an error, too: the caller then reads the clock.
        let _ = self.alarm.read(Alarm::take).await;
        self.armed = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn moved_deadline_never_rings_late() {
        let mut timer = Timer::new().unwrap();
        let now = clock::now();
        let [soon, later] = [50, 150].map(|millis| now.after(Duration::from_millis(millis)));
        timer.arm(Some(later.after(Duration::from_secs(3600))));
        timer.arm(Some(soon));
        timer.arm(Some(later));
        timer.rung().await;
        assert!(clock::now() >= soon, "as it was armed");
        timer.arm(Some(later));
        timer.rung().await;
        assert!(clock::now() >= later);
    }
}
