//! A supervisor whose session and group began outside of its PID namespace, as under `nsenter` or
//! in some containers: to it, both have the number 0.

use std::env;
use std::process::Command;

use rustix::process::geteuid;

crate::tests!(a_session_and_group_without_numbers_are_left_alone);

fn a_session_and_group_without_numbers_are_left_alone() {
    passes_inside("losses::a_lost_guard_costs_other_children_nothing");
}

/// Runs `test` of this binary as the first process of a new PID namespace.
fn passes_inside(test: &str) {
    let root: &[&str] = if geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let mut inside = Command::new("unshare");
    inside.args(root).args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    let inside = inside.arg(env::current_exe().unwrap()).args(["--exact", test]).output().unwrap();
    let told = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && told.contains("1 passed"), "{inside:?}");
}
