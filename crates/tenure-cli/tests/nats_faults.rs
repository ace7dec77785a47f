//! Leaders on NATS overlap only while they cannot reach each other, and a moment longer: real
//! processes of the command `tenure`, real servers, real faults ([`tenure_testkit::processes`]).
//!
//! Three runners contend, each at first with its own server, under each kind of fault once.
//! `TESTS_LONG` plays 200 rounds with a drawn seed, and measures overlaps; `TESTS_SEED` repeats
//! them.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::nats::Version;
use tenure_testkit::allcall::Nats;
use tenure_testkit::processes::{Fleet, main as started, rounds};

const LONG_ROUNDS: usize = 200;

fn main() -> ExitCode {
    started(|| {
        let mut kinds = vec![(Version::Newest, 3)];
        if rounds::is_soak() {
            kinds.extend([(Version::Oldest, 1), (Version::Oldest, 3), (Version::Newest, 1)]);
        }
        let trial = |(version, servers): (Version, usize)| {
            let name = format!("rounds of faults on {version} with {servers}");
            Trial::test(name.clone(), move || {
                faults(version, servers, &name);
                Ok(())
            })
        };
        let trials = kinds.into_iter().map(trial).collect();
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}

fn faults(version: Version, servers: usize, name: &str) {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --features nats --test nats_faults";
    rounds::play(LONG_ROUNDS, &format!("{command} -- '{name}'"), |_| {
        Fleet::start(env!("CARGO_BIN_EXE_tenure"), Nats::start(version, servers))
    });
}
