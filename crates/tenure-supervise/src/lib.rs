//! A command that outlives neither its supervisor nor its lease.
//!
//! # Processes
//!
//! ```text
//! supervisor   the application, `tenure run`; campaigns, renews, hands each deadline on
//!    │  memory: the deadline ↓  socket: look, stop ↓  the end of the command ↑
//!  guard       the same binary again, in its own session; sleeps on the deadline
//!    │  socket: only the error if the command could not be executed ↑
//! launcher     the same binary again, in its own process group; becomes the command by exec
//! ```
//!
//! The guard holds the deadline too, so the command ends in time even while the supervisor is
//! stopped, wedged or gone. The supervisor watches the guard in turn. If the guard is gone, or has
//! not done its work by the middle of the kill margin, the supervisor kills the remaining
//! processes. Each of the two is a child subreaper. So orphans of the command become children of
//! the guard or of the supervisor. They stay in sight even if they leave their process group,
//! session or parent.
//!
//! # Promises
//!
//! All instants are `CLOCK_BOOTTIME`. `until` is the end of the lease as last handed on.
//!
//! 1. At `until − grace` all processes of the command get SIGTERM (and SIGCONT, so that a stopped
//!    process sees it). At `until − kill_margin` at the latest they get SIGKILL. The guard starts
//!    to kill 10 ms early, so that its wake-up does not use up the margin. (`timeline.rs` has the
//!    times, `guard.rs` sends the signals, `supervised.rs` sends SIGKILL when the guard is lost.)
//! 2. The command is ended at once by [`Supervised::stop`], by the end of the supervisor, by one of
//!    the [`ending_signals`] to the guard, and by a packet that the guard cannot decode. Then
//!    SIGTERM comes at once, and SIGKILL after `grace`, or at `until − kill_margin` if that is
//!    sooner. The end of the command's first process does the same to the remaining processes.
//! 3. A command that got SIGTERM ends, even if `until` grows. A later `until` only lengthens the
//!    time to SIGKILL, up to `grace`; an earlier `until` shortens it.
//! 4. The guard reports "all gone" only when no process of the command is left.
//! 5. A guard that was itself stopped or suspended acts on everything overdue when it
//!    continues, by the newest deadline: deadlines replace one another, they do not queue.
//! 6. A command that never runs, because `execve` does not return (a dead network mount), is ended
//!    like any other. The end comes at the latest with the lease under which the start began. A
//!    later `until` counts only once the command runs.
//! 7. No start waits beyond the lease under which it began, and no stop waits for a guard that does
//!    not act. A guard that first runs after a stop starts nothing. The supervisor waits for a
//!    killed guard that cannot be reaped only as long as processes of the command may be left.
//!
//! # Limits
//!
//! - The machine is frozen or suspended, or guard and supervisor are stopped at the same time: no
//!   process is left to act. Fences are for this.
//! - Guard and supervisor are killed with -9 at the same time: the kernel kills only the command's
//!   first process (`PR_SET_PDEATHSIG`), and none of its descendants. The kernel does not kill a
//!   first process that is set-user-ID or has file capabilities.
//! - Processes that the guard may not signal, because they run as another user (`sudo`): the guard
//!   waits for them, so "all gone" never comes too early, but such processes may outlast the lease.
//! - Processes in uninterruptible sleep: SIGKILL takes effect when they wake up.
//! - Work that other programs do for the command, such as `systemd`, `at`, `docker` or a database.
//!
//! Needs Linux 5.4 with `CONFIG_PROC_CHILDREN`, which every distribution sets, and the `/proc` of
//! its own PID namespace.
//!
//! # Use
//!
//! The binary calls [`reenter()`] first in `main`, before it starts threads:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     if let Some(code) = tenure_supervise::reenter() {
//!         return code;
//!     }
//!     // The application.
//!     ExitCode::SUCCESS
//! }
//! ```
//!
//! and [`Supervised::start`] does the rest.

mod begin;
mod descend;
mod error;
#[cfg(test)]
mod eventually;
mod frame;
mod guard;
mod guards;
mod last_word;
mod launcher;
mod link;
mod others;
mod plan;
mod reenter;
mod roles;
mod signals;
mod strays;
mod supervised;
mod timeline;
mod until_file;

pub use error::SuperviseError;
pub use frame::{Ended, Why};
pub use guards::reap_orphans;
pub use last_word::LastWord;
pub use plan::{Output, Plan, resolve};
pub use reenter::reenter;
pub use signals::{ending_signals, ignore_ctrl_z, take_signals};
pub use supervised::{Outcome, Supervised};
