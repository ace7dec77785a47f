//! `tenure run`: campaign, run CMD while leading, and end it before the lease does.
//!
//! [`process`] is what a process has once, and [`runner`] what each election has in which it
//! campaigns: one, or as many as there are roles.

mod hand_over;
mod hold_after_cmd;
mod leading;
mod leading_on;
mod orders;
mod output;
mod process;
mod reporter;
mod restarting;
mod runner;
mod stepping_down;
mod waiting;

pub(super) use self::process::run;
