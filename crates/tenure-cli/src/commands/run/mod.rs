//! `tenure run`: campaigns, runs CMD while leading, and ends it before the lease ends.
//!
//! | question | file |
//! |---|---|
//! | the parts of a process: signals, the participant, its runners | `process.rs` |
//! | a runner, with one election, and its exit code | `runner.rs` |
//! | a leadership: CMD starts, `watch` waits for whatever stops CMD, and CMD ends | `leading.rs` |
//! | orders from a process to its runners, and a hand-over | `orders.rs`, `hand_over.rs` |
//! | after CMD: it runs again, or the runner holds its leadership, or others learn of the end | `restarting.rs`, `hold_after_cmd.rs`, `stepping_down.rs` |
//! | a process that must end keeps leading until another leads | `leading_on.rs` |
//! | what a runner prints | `reporter.rs`, `output.rs`, `waiting.rs` |
//!
//! CMD is started, and gets SIGTERM and SIGKILL, in `tenure-supervise`.

mod hand_over;
mod hold_after_cmd;
mod leading;
mod leading_on;
mod orders;
mod output;
mod process;
mod reasons;
mod reporter;
mod restarting;
mod runner;
mod stepping_down;
mod waiting;

pub(super) use self::process::run;
