//! The end of the lease, with everybody well but the command.

use std::ffi::OsString;
use std::thread::sleep;

use tenure::clock;
use tenure_core::Time;

use crate::scene::{Lease, SECOND, Scene, millis};

crate::tests!(
    sigterm_at_the_grace_and_sigkill_before_the_margin,
    a_polite_command_ends_at_the_grace,
    extensions_keep_it_alive,
    an_extension_may_shorten_the_lease,
    an_extension_after_sigterm_does_not_save_it,
    a_stop_does_not_outlast_the_lease,
    a_command_that_forks_in_one_group,
    a_command_that_forks_into_sessions,
    a_process_that_only_moves_on,
    a_process_that_moves_on_into_new_sessions,
);

/// Children in every place, all of which ignore SIGTERM.
pub(crate) const EVERYWHERE: &[&str] =
    &["stubborn/here", "stubborn/group", "stubborn/session", "stubborn/daemon"];

/// That all workers have been told at `until − grace`, went on, and were silent by
/// `until − kill_margin`.
pub(crate) fn expect_end_in_time(scene: &Scene, lease: &Lease, until: Time) {
    let stamps = scene.stamps();
    let told: Vec<_> = stamps.iter().filter(|stamp| stamp.what == 'T').collect();
    let warning = until.before(lease.grace);
    for stamp in &told {
        assert!(stamp.at >= warning, "{stamp:?} was told before {warning}");
    }
    let begun = stamps.iter().filter(|stamp| stamp.what == 'B').count();
    assert_eq!(told.len(), begun, "each process was told, once");
    let (last, margin) = (scene.last_stamp(), until.before(lease.kill_margin));
    assert!(last < margin, "still at work at {last}, the kill margin began at {margin}");
}

fn sigterm_at_the_grace_and_sigkill_before_the_margin() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease, "stubborn", EVERYWHERE);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    expect_end_in_time(&scene, &lease, scene.until);
}

fn a_polite_command_ends_at_the_grace() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease, "polite", &["polite/daemon"]);
    scene.expect_outcome("7 exit code 7, the lease came to its end");
    expect_end_in_time(&scene, &lease, scene.until);
}

fn extensions_keep_it_alive() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease, "stubborn", EVERYWHERE);
    let enough = scene.until.after(2 * SECOND);
    let mut until = scene.until;
    while clock::now() < enough {
        until = clock::now().after(lease.length);
        scene.say(&format!("extend {}", until.as_nanos()));
        assert_eq!(scene.hear(), "ok");
        sleep(millis(100));
    }
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(scene.last_stamp() > enough, "it worked beyond its first lease");
    expect_end_in_time(&scene, &lease, until);
}

fn an_extension_may_shorten_the_lease() {
    let lease = Lease { length: 600 * SECOND, ..Lease::short() };
    let mut scene = Scene::worker(&lease, "stubborn", &["stubborn/session"]);
    let until = clock::now().after(Lease::short().length);
    scene.say(&format!("extend {}", until.as_nanos()));
    assert_eq!(scene.hear(), "ok");
    scene.expect_outcome("137 signal 9, the lease came to its end");
    expect_end_in_time(&scene, &lease, until);
}

fn an_extension_after_sigterm_does_not_save_it() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease, "stubborn", &[]);
    let told = scene
        .eventually("SIGTERM comes", || scene.stamps().into_iter().find(|stamp| stamp.what == 'T'));
    scene.say(&format!("extend {}", clock::now().after(600 * SECOND).as_nanos()));
    assert_eq!(scene.hear(), "ok");
    scene.expect_outcome("137 signal 9, the lease came to its end");
    let had = scene.last_stamp().since(told.at);
    assert!(had > lease.grace - millis(100), "the rest of its grace, not only {had:?}");
}

fn a_stop_does_not_outlast_the_lease() {
    let lease = Lease { grace: millis(2400), ..Lease::short() };
    let mut scene = Scene::worker(&lease, "stubborn", EVERYWHERE);
    scene.say("stop");
    let outcome = scene.hear();
    // On a slow machine the lease may have come to its end before the stop.
    assert!(outcome.starts_with("outcome 137 signal 9, "), "{outcome}");
    let margin = scene.until.before(lease.kill_margin);
    assert!(scene.last_stamp() < margin);
    scene.expect_gone_but(&[scene.supervisor()]);
}

fn a_command_that_forks_in_one_group() {
    let script = "trap '' TERM; while :; do sleep 60 & (sleep 60 & sleep 0.01); done";
    let mut scene = Scene::shell(&Lease::short(), script);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(clock::now() < scene.until, "the last was gone before the end of the lease");
}

fn a_command_that_forks_into_sessions() {
    let script = "trap '' TERM; while :; do setsid sh -c 'sleep 60 & sleep 60' & sleep 0.02; done";
    let mut scene = Scene::shell(&Lease::short(), script);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(clock::now() < scene.until, "the last was gone before the end of the lease");
}

/// Each process lives for the moment it takes to start the next, and ignores SIGTERM from its
/// first instruction.
fn a_process_that_only_moves_on() {
    let lease = Lease { grace: millis(1200), kill_margin: millis(500), ..Lease::long() };
    let script = r#"trap '' TERM; c='sh -c "$1" again "$1" &'; sh -c "$c" first "$c""#;
    let mut scene = Scene::shell(&lease, script);
    scene.expect_outcome("0 exit code 0, it ended by itself");
}

fn a_process_that_moves_on_into_new_sessions() {
    let lease = Lease::short();
    let mut command = Scene::working("stubborn", &["restless/session"; 2]);
    command.splice(0..0, ["sh", "-c", r#"trap '' TERM; exec "$@""#, "sh"].map(OsString::from));
    let mut scene = Scene::begin(&lease, &command, |_| {});
    scene.expect_started();
    scene.expect_outcome("137 signal 9, the lease came to its end");
    let moves = scene.stamps().iter().filter(|stamp| stamp.what == 'B').count();
    assert!(moves > 20, "only {moves} moves");
    let (last, margin) = (scene.last_stamp(), scene.until.before(lease.kill_margin));
    assert!(last < margin.after(lease.kill_margin / 4), "{last}, the margin began at {margin}");
}
