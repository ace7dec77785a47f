//! Children of the supervisor that are not its command's.

use std::fs;

use rustix::process::Signal;

use crate::scene::{EVERYWHERE, Lease, Scene};

tenure_testkit::tests!(a_lost_guard_costs_other_children_nothing);

/// What a shell has started before it becomes the supervisor with `exec` is the supervisor's child:
/// in its session, or in one of its own.
fn a_lost_guard_costs_other_children_nothing() {
    let mut scene = Scene::empty();
    let others = scene.path("others");
    scene.before = format!(
        r#"sleep 1000 & a=$!; setsid sleep 1000 & echo $a $! > {}; exec "$@""#,
        others.display()
    );
    scene.supervise(&Lease::long(), &Scene::working("stubborn", EVERYWHERE), |_| {});
    scene.expect_started();
    let others = fs::read_to_string(others).unwrap();
    let others: Vec<i32> = others.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(others.len(), 2);
    scene.signal(scene.guard, Signal::KILL);
    scene.expect_outcome_beside(&others, "137 signal 9, its guard was lost");
}
