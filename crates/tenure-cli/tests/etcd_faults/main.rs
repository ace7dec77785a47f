//! Two CMDs never run at once on etcd: real processes of the command `tenure`, three real
//! members, real faults, and a judge ([`tenure_testkit::processes`]).
//!
//! Three runners contend in one election. After each fault the next leader must come in time,
//! as a formula says, and then everybody must work again. First the rounds of faults that every
//! protocol goes through; `TENURE_SEED` repeats them. [`scenes`] has what only etcd has. On all
//! versions of etcd.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

mod scenes;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::Version;
use tenure_testkit::processes;

/// Scenes are mostly waited for, but each has a dozen processes.
const AT_ONCE: usize = 3;

fn main() -> ExitCode {
    processes::main(|| {
        let mut trials = Vec::new();
        for (name, scene) in scenes::ALL {
            for version in Version::ALL {
                trials.push(Trial::test(format!("{name} on {version}"), move || {
                    scene(version);
                    Ok(())
                }));
            }
        }
        let mut arguments = Arguments::from_args();
        arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
        libtest_mimic::run(&arguments, trials).exit_code()
    })
}
