//! Two CMDs never run at once on etcd: real processes of the command `tenure`, three real members,
//! real faults ([`tenure_testkit::processes`]).
//!
//! Three runners contend in one election, under each kind of fault once. `TESTS_LONG` plays five
//! times as many rounds with a drawn seed, on both versions of etcd; `TESTS_SEED` repeats them.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::{ClusterConfig, Version};
use tenure_testkit::etcd::Etcd;
use tenure_testkit::processes::{Fleet, main as started, rounds};

const LONG_ROUNDS: usize = 40;

fn main() -> ExitCode {
    started(|| {
        let versions = if rounds::is_soak() { &Version::ALL[..] } else { &[Version::Newest] };
        let trial = |version: &Version| {
            let version = *version;
            Trial::test(format!("rounds of faults on {version}"), move || {
                faults(version);
                Ok(())
            })
        };
        let trials = versions.iter().map(trial).collect();
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}

fn faults(version: Version) {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --features etcd --test etcd_faults";
    rounds::play(LONG_ROUNDS, &format!("{command} -- '{version}'"), |_| {
        let etcd = Etcd::start(ClusterConfig::new(version, 3));
        Fleet::start(env!("CARGO_BIN_EXE_tenure"), etcd)
    });
}
