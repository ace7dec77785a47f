//! Two CMDs never run at once on etcd, with a machine for each process: partitions by iptables, in
//! network namespaces.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::{ClusterConfig, Version};
use tenure_testkit::etcd::Etcd;
use tenure_testkit::processes::{Fleet, Namespaces, main as started, rounds};

/// Each kind of fault comes twice.
const ROUNDS: usize = 22;

fn main() -> ExitCode {
    started(|| {
        let trials = Version::ALL.map(|version| {
            Trial::test(format!("rounds of faults on {version}"), move || {
                faults(version);
                Ok(())
            })
        });
        // All trials use namespaces of the same names and addresses, so only one runs at a time.
        let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
        libtest_mimic::run(&arguments, trials.into()).exit_code()
    })
}

fn faults(version: Version) {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --features etcd --test etcd_netns_long";
    rounds::play(ROUNDS, &format!("{command} -- 'faults on {version}'"), |_| {
        let etcd = Etcd::start_in(Namespaces::create(), ClusterConfig::new(version, 3));
        Fleet::start(env!("CARGO_BIN_EXE_tenure"), etcd)
    });
}
