//! A supervisor in a PID namespace. Its session and group began outside, as under `nsenter` or in
//! some containers, and have the number 0 inside. Without a mount of its own, `/proc` belongs to
//! another namespace.

use std::env;
use std::process::Command;

use tenure_supervise::resolve;

tenure_testkit::tests!(
    unnumbered_session_is_spared,
    where_processes_have_other_numbers_nothing_is_started,
);

const WITH_ITS_PROC: &[&str] = &["--pid", "--fork", "--kill-child", "--mount-proc"];
const WITHOUT: &[&str] = &["--pid", "--fork", "--kill-child"];
/// Variable that is set in the process inside the namespace.
const INSIDE: &str = "TENURE_TEST_INSIDE";

fn unnumbered_session_is_spared() {
    passes_inside(WITH_ITS_PROC, "family::lost_guard_spares_other_children");
}

fn where_processes_have_other_numbers_nothing_is_started() {
    if env::var_os(INSIDE).is_none() {
        let this = "namespace::where_processes_have_other_numbers_nothing_is_started";
        return passes_inside(WITHOUT, this);
    }
    let refused = resolve("true").unwrap_err().to_string();
    assert!(refused.contains("/proc belongs to another PID namespace; mount one"), "{refused}");
}

/// Runs `test` of this binary as the first process of a new PID namespace.
fn passes_inside(flags: &[&str], test: &str) {
    let mut inside = Command::new("unshare");
    inside.args(flags);
    inside.arg(env::current_exe().unwrap()).args(["--exact", test]).env(INSIDE, "1");
    let inside = inside.output().unwrap();
    let told = String::from_utf8_lossy(&inside.stdout);
    assert!(inside.status.success() && told.contains("1 passed"), "{inside:?}");
}
