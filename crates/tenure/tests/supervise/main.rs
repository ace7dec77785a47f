//! Real supervisors, guards and commands, judged on the one clock that they share.
//!
//! This binary plays every part: started by cargo it is the tests, and it starts itself again as
//! supervisor ([`actor`]), guard, launcher and command ([`worker`]). Therefore it has a `main` of
//! its own. Times are only compared where the order is promised, never as "took about".
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod actor;
mod deadline;
mod hanging;
mod late;
mod life;
mod losses;
mod namespace;
mod scene;
mod start;
mod stranger;
mod worker;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = tenure::supervise::reenter() {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(actor::ROLE) => actor::main(args),
        Some(worker::ROLE) => worker::main(args),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (part, tests) in [
        ("life", life::TESTS),
        ("deadline", deadline::TESTS),
        ("losses", losses::TESTS),
        ("namespace", namespace::TESTS),
        ("start", start::TESTS),
        ("late", late::TESTS),
        ("stranger", stranger::TESTS),
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
