//! Two CMDs never run at once: real processes of the command `tenure`, real faults, and a judge.
//!
//! Three nodes and three runners talk through a proxy of our own. Every CMD writes what it does
//! to one journal, on the one clock that all share; after each fault the journal is judged, and
//! somebody must lead again. The seed decides which faults come, and when; it is printed first.
//! `TENURE_SEED` chooses it, `TENURE_LONG` asks for 200 rounds.
//!
//! This binary is the tests and, started by `tenure run`, the CMD ([`worker`]): so it has a
//! `main` of its own.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]

mod cluster;
mod control;
mod faults;
mod flood;
mod guards;
mod host;
mod journal;
mod judge;
mod judge_tests;
mod line;
mod loopback;
mod marked;
mod network;
mod proxy;
mod proxy_tests;
mod rng;
mod rounds;
mod wait;
mod worker;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(worker::ROLE) => worker::main(args),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (part, tests) in [
        ("judge", judge_tests::TESTS),
        ("proxy", proxy_tests::TESTS),
        ("control", control::TESTS),
        ("guards", guards::TESTS),
        ("flood", flood::TESTS),
        ("loopback", loopback::TESTS),
    ] {
        for (name, test) in tests {
            let run = move || {
                test();
                Ok(())
            };
            trials.push(Trial::test(format!("{part}::{name}"), run));
        }
    }
    trials
}

/// Names each test function once.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}
