//! Real supervisors, guards and commands, judged on the one clock that they share.
//!
//! This binary plays every part: started by cargo it is the tests, and it starts itself again as
//! supervisor ([`actor`]), guard, launcher and command ([`worker`]). Therefore it has a `main` of
//! its own. Times are only compared where the order is promised, never as "took about".
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod actor;
mod deadline;
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
use tenure_testkit::processes::trials;

fn main() -> ExitCode {
    if let Some(code) = tenure::supervise::reenter() {
        return code;
    }
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(actor::ROLE) => actor::main(args),
        Some(worker::ROLE) => worker::main(args),
        _ => libtest_mimic::run(&Arguments::from_args(), all()).exit_code(),
    }
}

fn all() -> Vec<Trial> {
    trials(&[
        ("life", life::TESTS),
        ("deadline", deadline::TESTS),
        ("losses", losses::TESTS),
        ("namespace", namespace::TESTS),
        ("start", start::TESTS),
        ("late", late::TESTS),
        ("stranger", stranger::TESTS),
    ])
}
