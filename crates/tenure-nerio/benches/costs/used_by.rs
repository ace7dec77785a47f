//! Processor time of another process.

use std::fs;
use std::io::{Error, ErrorKind};
use std::time::Duration;

/// Processor time of all threads of a process so far, from the kernel's count in hundredths of a
/// second.
pub(crate) fn used_by(pid: u32) -> Result<Duration, Error> {
    let said = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = said.rsplit_once(')').ok_or(ErrorKind::InvalidData)?;
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|ticks| ticks.parse().unwrap_or(0)).sum();
    Ok(Duration::from_millis(ticks * 10))
}
