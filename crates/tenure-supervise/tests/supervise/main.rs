//! Real supervisors, guards and commands, judged on the one clock that they share.
//!
//! This binary plays every part: started by cargo it runs the tests, and it starts itself again as
//! supervisor ([`actor`]), guard, launcher and command ([`worker`]). Therefore it has a `main` of
//! its own. Tests compare two times only where the order of the two is promised.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

mod actor;
mod deadline;
mod family;
mod life;
mod losses;
mod parts;
mod scene;
mod start;
mod stranger;
mod worker;

use std::process::ExitCode;

use libtest_mimic::Trial;
use tenure_testkit::processes::trials;

fn main() -> ExitCode {
    parts::main(all)
}

fn all() -> Vec<Trial> {
    trials(&[
        ("life", life::TESTS),
        ("deadline", deadline::TESTS),
        ("losses", losses::TESTS),
        ("family", family::TESTS),
        ("start", start::TESTS),
        ("stranger", stranger::TESTS),
    ])
}
