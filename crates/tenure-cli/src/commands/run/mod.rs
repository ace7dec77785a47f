//! `tenure run`: campaigns, runs CMD while leading, and ends it before the lease ends.
//!
//! A process (`process.rs`) has a runner for each election (`runner.rs`), and a runner has one
//! leadership after the other (`leading.rs`). `ARCHITECTURE.md` lists the files by their decisions.
//! The crate `tenure-supervise` starts CMD, and sends SIGTERM and SIGKILL to CMD.

mod announced;
mod asked_members;
mod edicts;
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
mod standing;
mod stepping_down;
mod waiting;

pub(super) use self::process::run;
