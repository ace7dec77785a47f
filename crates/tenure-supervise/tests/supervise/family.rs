//! Children of the supervisor that are not its command's.

use std::fs;

use rustix::process::Signal;

use crate::scene::{EVERYWHERE, Lease, Scene};

tenure_testkit::tests!(lost_guard_spares_other_children, lost_guard_spares_foreign_orphans,);

/// A shell starts a process, and then becomes the supervisor with `exec`. The process is now the
/// supervisor's child: in its session, or in a session of its own.
fn lost_guard_spares_other_children() {
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

/// In a container whose first process supervises, `docker exec … sh -c 'setsid job &'` leaves an
/// orphan: the job becomes a child of the supervisor while the command runs.
fn lost_guard_spares_foreign_orphans() {
    let mut scene = Scene::empty();
    let go = scene.path("go");
    let told = scene.path("orphan");
    scene.before = format!(
        r#"(while [ ! -e {} ]; do sleep 0.02; done
            setsid sleep 1000 & echo $! > {}.part; mv {}.part {}) & exec "$@""#,
        go.display(),
        told.display(),
        told.display(),
        told.display(),
    );
    scene.supervise(&Lease::long(), &Scene::working("stubborn", EVERYWHERE), |_| {});
    scene.expect_started();
    fs::write(go, "").unwrap();
    let supervisor = scene.supervisor();
    let orphan = scene.eventually("an orphan in a session of its own", || {
        let orphan: i32 = fs::read_to_string(&told).ok()?.trim().parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{orphan}/stat")).ok()?;
        let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(1);
        let (parent, session): (i32, i32) =
            (fields.next()?.parse().ok()?, fields.nth(1)?.parse().ok()?);
        (parent == supervisor && session == orphan).then_some(orphan)
    });
    scene.say("look");
    assert_eq!(scene.hear(), "ok");
    scene.signal(scene.guard, Signal::KILL);
    scene.expect_outcome_beside(&[orphan], "137 signal 9, its guard was lost");
}
