//! Two CMDs never run at once on etcd: real processes of the command `tenure`, three real
//! members, real faults, and the judge of `chaos`.
//!
//! Three runners contend in one election. After each fault the next leader must come in time,
//! as a formula says, and then everybody must work again. [`scenes`] has the faults. On all
//! versions of etcd.
//!
//! This binary is the tests and, started by `tenure run`, the CMD: so it has a `main` of its own.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]
#![allow(dead_code, reason = "uses its part of what `chaos` has")]

#[path = "../chaos/host.rs"]
mod host;
#[path = "../chaos/journal.rs"]
mod journal;
#[path = "../chaos/judge.rs"]
mod judge;
#[path = "../chaos/line.rs"]
mod line;
#[path = "../chaos/marked.rs"]
mod marked;
mod scenes;
mod team;
#[path = "../chaos/wait.rs"]
mod wait;
#[path = "../chaos/worker.rs"]
mod worker;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use tenure_services::etcd::Version;

/// Scenes are mostly waited for, but each has a dozen processes.
const AT_ONCE: usize = 3;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args.next().as_deref().and_then(|role| role.to_str()) == Some(worker::ROLE) {
        return worker::main(args);
    }
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
}
