//! Two CMDs never run at once among regional voters in `majority`: real processes of the command
//! `tenure`, real faults ([`tenure_testkit::processes`]).
//!
//! Three runners on loopback are voters, under each kind of fault once. `TESTS_LONG` plays 200
//! rounds with a drawn seed; `TESTS_SEED` repeats them.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::processes::{Fleet, main as started, rounds};
use tenure_testkit::voter::Voters;

const LONG_ROUNDS: usize = 200;

fn main() -> ExitCode {
    started(|| {
        let trials = vec![Trial::test("two_commands_never_run_at_once", || {
            let command =
                "TESTS_SEED={} cargo test -p tenure-cli --features voter --test voter_faults";
            rounds::play(LONG_ROUNDS, command, |_| {
                Fleet::start(env!("CARGO_BIN_EXE_tenure"), Voters::on_loopback())
            });
            Ok(())
        })];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}
