//! The alarm of a driver's loop.

use std::io;

use tenure_core::Time;

use crate::alarm::Alarm;
use crate::watched::Watched;

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
    /// A timer that is not armed. Must be called in a tokio runtime with I/O.
    pub fn new() -> io::Result<Self> {
        Ok(Self { alarm: Watched::new(Alarm::new()?)?, armed: None })
    }

    /// Rings at `at` and not before, at once when that has passed; with `None` it may ring once
    /// more as it was armed. Cheap when nothing has changed, so that it can be asked before each
    /// wait, with the core's deadline.
    pub fn arm(&mut self, at: Option<Time>) {
        let Some(at) = at.filter(|at| Some(*at) != self.armed) else { return };
        match self.alarm.inner().set(at) {
            Ok(()) => self.armed = Some(at),
            Err(error) => tracing::error!(%error, "the timer could not be set"),
        }
    }

    /// Resolves once it has rung, and disarms it. Cancel safe.
    pub async fn rung(&mut self) {
        // An error is as good a reason to look at the clock.
        let _ = self.alarm.read(Alarm::take).await;
        self.armed = None;
    }
}
