//! Two CMDs never run at once, with a machine for each process: the rounds of `chaos` in network
//! namespaces, with partitions and loss by iptables.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::nerio::Nerio;
use tenure_testkit::processes::{Fleet, Namespaces, main as started, rounds};

/// Each kind of fault comes three times.
const ROUNDS: usize = 42;

fn main() -> ExitCode {
    started(|| {
        let trials = vec![Trial::test("two_commands_never_run_at_once", || {
            let command = "TESTS_SEED={} cargo test -p tenure-cli --test netns_long";
            rounds::play(ROUNDS, command, |_| {
                let nerio = Nerio::new(Namespaces::create(), rounds::timing());
                Fleet::start(env!("CARGO_BIN_EXE_tenure"), nerio)
            });
            Ok(())
        })];
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}
