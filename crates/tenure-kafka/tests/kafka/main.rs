//! The ledger as the core is promised it, and elections on it, on real brokers.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod common;
mod elections;
mod ledger;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// They mostly wait, so more run at once than there are processors.
const AT_ONCE: usize = 12;

fn main() -> ExitCode {
    let parts = elections::PARTS.iter().chain(ledger::PARTS);
    let trials = parts.flat_map(|(part, tests)| {
        tests.iter().map(move |(name, test)| {
            let run = move || {
                test();
                Ok(())
            };
            Trial::test(format!("{part}::{name}"), run)
        })
    });
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
