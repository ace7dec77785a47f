//! Members by DNS names: three hosts that know each other only by name, with keys. Each host is a
//! network namespace with its own resolver: the first has IPv4 and IPv6, and each other host has
//! one of them.
//!
//! Needs root, `ip` (iproute2), `iptables` and `mount`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

#[path = "names/changes.rs"]
mod changes;
#[path = "names/elsewhere.rs"]
mod elsewhere;
#[path = "names/faults.rs"]
mod faults;
#[path = "names/moves.rs"]
mod moves;
#[path = "names/operator.rs"]
mod operator;
#[path = "names/path.rs"]
mod path;
#[path = "names/stage.rs"]
mod stage;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::{self, trials};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

fn main() -> ExitCode {
    processes::main(|| libtest_mimic::run(&Arguments::from_args(), all()).exit_code())
}

fn all() -> Vec<Trial> {
    trials(&[
        ("path", path::TESTS),
        ("moves", moves::TESTS),
        ("changes", changes::TESTS),
        ("faults", faults::TESTS),
        ("elsewhere", elsewhere::TESTS),
    ])
}
