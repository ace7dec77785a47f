//! `tenure run`: campaigns, runs CMD while leading, and ends it before the lease ends.
//!
//! [`process`] has the parts of a process. [`runner`] has the parts of one election, of which a
//! process with roles has several.

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
