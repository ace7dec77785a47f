//! The rounds of `voter_faults` with a network namespace for each voter, and with cuts between
//! them: all of a voter, some of the others, one way.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask test --long` runs it.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::voter::Voters;
use tenure_testkit::processes::{Fleet, main as started, rounds};

const ROUNDS: usize = 200;

fn main() -> ExitCode {
    started(|| {
        let trials = vec![Trial::test("two_commands_never_run_at_once", || {
            let command = "TENURE_SEED={} cargo test -p tenure-cli --features voter --test \
                           voter_netns_long";
            rounds::play(Some(ROUNDS), command, |_| {
                Fleet::start(env!("CARGO_BIN_EXE_tenure"), Voters::in_namespaces())
            });
            Ok(())
        })];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}
