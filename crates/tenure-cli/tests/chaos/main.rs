//! Two CMDs never run at once on Nerio: real processes of the command `tenure`, real faults, and a
//! judge ([`tenure_testkit::processes`]).
//!
//! Three nodes and three runners talk through our proxy. The seed decides the faults and their
//! times; `TESTS_SEED` sets it. `TESTS_LONG` plays 200 rounds with a drawn seed, which it prints
//! first.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod control;
mod loopback;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::{self, trials};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

fn main() -> ExitCode {
    processes::main(|| libtest_mimic::run(&Arguments::from_args(), all()).exit_code())
}

fn all() -> Vec<Trial> {
    trials(&[("control", control::TESTS), ("loopback", loopback::TESTS)])
}
