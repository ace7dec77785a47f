//! Supervised commands in situations that only root can cause: a command of another user, a traced
//! guard, and PID namespaces.
//!
//! Needs root, `setpriv`, `unshare` and `perl`; `cargo xtask soak` runs it.
#![allow(clippy::unwrap_used, reason = "tests, though without #[test]")]

#[path = "supervise/actor.rs"]
mod actor;
#[path = "supervise/family.rs"]
mod family;
#[path = "supervise/held.rs"]
mod held;
#[path = "supervise/namespace.rs"]
mod namespace;
#[path = "supervise/parts.rs"]
mod parts;
#[allow(dead_code, reason = "most of it is for the tests that need no root")]
#[path = "supervise/scene.rs"]
mod scene;
#[path = "supervise/worker.rs"]
mod worker;

use std::process::ExitCode;

use libtest_mimic::Trial;
use tenure_testkit::processes::trials;

fn main() -> ExitCode {
    parts::main(all)
}

fn all() -> Vec<Trial> {
    trials(&[("family", family::TESTS), ("held", held::TESTS), ("namespace", namespace::TESTS)])
}
