//! Signals that ask a process to end, and signals that must not stop or end it.

use std::fs;
use std::ops::RangeInclusive;

use nix::sys::signal::{SigSet, Signal as Blocked};
use rustix::process::Signal;

/// Signals by which other processes may ask a process to end. All other signals report a fault of
/// the process itself, stop or continue the process, or do nothing by default.
const SENT: [Signal; 13] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::TERM,
    Signal::STKFLT,
    Signal::XCPU,
    Signal::VTALARM,
    Signal::PROF,
    Signal::IO,
    Signal::POWER,
];

/// Real-time signals that the C library leaves to programs.
const REAL_TIME: RangeInclusive<i32> = if cfg!(target_env = "musl") { 35..=64 } else { 34..=64 };

/// Numbers of the signals that ask this process to end: all that end a process by default, except
/// SIGKILL, SIGPIPE and signals that report a fault of the process itself. Signals that this
/// process ignores, because of `nohup` or of `&` in a script, are left out: without a handler, its
/// children ignore them, too. Without a `/proc` no signal counts as ignored.
///
/// Call this before handlers are installed.
#[must_use]
pub fn ending_signals() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let sent = SENT.iter().map(|signal| signal.as_raw());
    sent.chain(REAL_TIME).filter(|number| ignored >> (number - 1) & 1 == 0).collect()
}

/// Unblocks all signals, in this thread and in threads that it starts, except the two that a write
/// can cause. SIGTTOU stops a process that writes to its terminal from the background, under `stty
/// tostop`, and SIGXFSZ ends a process whose file has reached the limit of `ulimit -f`. While
/// SIGTTOU is blocked, the line gets through; while SIGXFSZ is blocked, the write returns an error.
/// The parent process may have blocked any signal.
///
/// Call this before the first line is written, while the process has one thread. Commands begin
/// with no signal blocked.
pub fn take_signals() {
    let of_writes = SigSet::from_iter([Blocked::SIGTTOU, Blocked::SIGXFSZ]);
    // The call fails only for a wrong argument.
    let _ = of_writes.thread_set_mask();
}

/// Keeps Ctrl-Z from stopping this thread and those that it starts: a leader that stands still
/// loses its lease.
///
/// Call this after [`take_signals`], while the process has only one thread.
pub fn ignore_ctrl_z() {
    // The call fails only for a wrong argument.
    let _ = SigSet::from_iter([Blocked::SIGTSTP]).thread_block();
}

/// The mask of ignored signals; empty if `status` has none.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_names_ignored_signals() {
        let status = "Name:\ttenure\nSigBlk:\t0000000000000000\nSigIgn:\t8000000000001003\nSig";
        assert_eq!(ignored(status), 1 << 63 | 1 << 12 | 0b11);
        assert_eq!(ignored(""), 0);
    }
}
