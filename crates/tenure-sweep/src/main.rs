//! `tenure-sweep`: sweeps and replays, for the developers of Tenure. They call it as
//! `cargo xtask sweep` and `replay`.
//!
//! Exit codes: 0 when nothing was violated, 1 when something was, 2 for a wrong invocation.

#![allow(clippy::print_stdout, reason = "a command prints")]

mod command;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    command::Cli::parse().run()
}
