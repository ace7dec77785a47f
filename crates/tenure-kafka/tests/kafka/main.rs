//! The promises of the ledger to the core, and elections on it, on real brokers.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod common;
mod elections;
mod ledger;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Tests mostly wait: run more at once than there are processors.
const AT_ONCE: usize = 12;

/// Tests in which members pass partitions to each other by the newer group protocol. Only the soak
/// runs these: the client library can leave a revocation unanswered, and a rebalance then hangs
/// until the rebalance timeout. The gate runs the tests of a single member and of a session that
/// ends, and the facts, which choose their own rebalance timeout.
const NEWER: [&str; 2] = ["::consumer", "by_the_newer_protocol"];

fn main() -> ExitCode {
    let is_soak = std::env::var_os("TESTS_LONG").is_some();
    let is_played = |name: &str| is_soak || !NEWER.iter().any(|newer| name.ends_with(newer));
    let parts = elections::PARTS.iter().chain(ledger::PARTS);
    let trials = parts.flat_map(|(part, tests)| {
        tests.iter().filter(move |(name, _)| is_played(name)).map(move |(name, test)| {
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
