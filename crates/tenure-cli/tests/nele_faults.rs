//! On Kafka two CMDs never run at once in at-most-one, and in at-least-one the next CMD runs in
//! time: real processes of the command `tenure`, real brokers, real faults
//! ([`tenure_testkit::processes`]).
//!
//! Three runners contend, each with its own way to the brokers, under each kind of fault once in
//! at-most-one. `TESTS_LONG` plays 200 rounds with a drawn seed; it also plays at-least-one, whose
//! promise is the longest span without a CMD, and three brokers with the newer group protocol.
//! `TESTS_SEED` repeats these rounds.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::kafka::Version;
use tenure_testkit::nele::Kafka;
use tenure_testkit::processes::{Fleet, main as started, rounds};

const LONG_ROUNDS: usize = 200;

fn main() -> ExitCode {
    started(|| {
        let mut trials = vec![trial::<false>("at_most_one", Version::Oldest, 1, "classic")];
        if rounds::is_soak() {
            trials.push(trial::<true>("at_least_one", Version::Oldest, 1, "classic"));
            let name = "at_most_one_with_three_brokers";
            trials.push(trial::<false>(name, Version::Newest, 3, "consumer"));
        }
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}

fn trial<const MAY_OVERLAP: bool>(
    name: &'static str,
    version: Version,
    brokers: usize,
    group_protocol: &'static str,
) -> Trial {
    Trial::test(name, move || {
        let command = "TESTS_SEED={} cargo test -p tenure-cli --features kafka --test nele_faults";
        rounds::play(LONG_ROUNDS, &format!("{command} -- {name}"), |_| {
            let kafka = Kafka::<MAY_OVERLAP>::start(version, brokers, group_protocol);
            Fleet::start(env!("CARGO_BIN_EXE_tenure"), kafka)
        });
        Ok(())
    })
}
