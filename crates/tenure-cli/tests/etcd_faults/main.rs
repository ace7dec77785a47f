//! Two CMDs never run at once on etcd: real processes of the command `tenure`, three real
//! members, real faults, and a judge ([`tenure_testkit::processes`]).
//!
//! Three runners contend in one election. After each fault the next leader must come, and then
//! everybody must work again. First the rounds of faults that every protocol goes through;
//! `TESTS_SEED` repeats them. [`scenes`] has what only etcd has. With `TESTS_LONG` on all
//! versions of etcd, and the next leader must come in time, as a formula says.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

mod scenes;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::Version;
use tenure_testkit::processes::{self, rounds};

fn main() -> ExitCode {
    processes::main(|| {
        let mut trials = Vec::new();
        for (name, scene, always) in scenes::ALL {
            let soak = if rounds::is_soak() { &Version::ALL[..] } else { &[] };
            let others = soak.iter().copied().filter(|version| Some(*version) != *always);
            for version in always.iter().copied().chain(others) {
                trials.push(Trial::test(format!("{name} on {version}"), move || {
                    scene(version);
                    Ok(())
                }));
            }
        }
        libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
    })
}
