//! `tenure-sweep`: simulates elections, for the developers of Tenure. `cargo xtask sweep` and
//! `cargo xtask replay` call it.
//!
//! Exit codes: 0 without a violation, 1 with one, 2 for a wrong invocation.

#![allow(clippy::print_stdout, reason = "a command prints")]

mod command;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    command::Cli::parse().run()
}
