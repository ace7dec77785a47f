//! Two CMDs never run at once on Nerio: real processes of the command `tenure`, real faults, and a
//! judge ([`tenure_testkit::processes`]).
//!
//! Three nodes and three runners talk through a proxy of our own. The seed decides which faults
//! come, and when; `TESTS_SEED` chooses another one than always. `TESTS_LONG` asks for 200 rounds
//! with a seed that is drawn and printed first.
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
