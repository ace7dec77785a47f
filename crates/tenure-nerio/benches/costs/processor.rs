//! Processor time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec.unsigned_abs() as u32)
}
