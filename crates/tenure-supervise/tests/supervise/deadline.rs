//! The end of the lease, while every process but the command is healthy.

use std::ffi::OsString;
use std::fs;
use std::thread::sleep;

use tenure::{Time, clock};

use crate::scene::{EVERYWHERE, Lease, SECOND, Scene, millis};

tenure_testkit::tests!(
    sigterm_at_the_grace_and_sigkill_before_the_margin,
    polite_command_ends_at_grace,
    extensions_keep_it_alive,
    without_an_end_it_runs_until_there_is_one,
    an_extension_after_sigterm_does_not_save_it,
    stop_ends_within_lease,
    command_forks_in_one_group,
    command_forks_into_sessions,
    process_replaces_itself,
    process_moves_through_sessions,
);

/// Asserts that all workers got SIGTERM at `until − grace`, went on, and were silent by `until −
/// kill_margin`.
pub(crate) fn expect_end_in_time(scene: &Scene, lease: &Lease) {
    let stamps = scene.stamps();
    let told: Vec<_> = stamps.iter().filter(|stamp| stamp.what == 'T').collect();
    let warning = scene.until.before(lease.grace);
    for stamp in &told {
        assert!(stamp.at >= warning, "{stamp:?} was told before {warning}");
    }
    // If the machine stands still at the time of SIGTERM, the guard may send SIGKILL alone.
    let stood_still = scene.lateness() > (lease.grace - lease.kill_margin) / 2;
    if !stood_still && scene.last_stamp() > warning {
        let begun = stamps.iter().filter(|stamp| stamp.what == 'B').count();
        assert_eq!(told.len(), begun, "each process was told, once");
    }
    expect_silence_in_time(scene, lease);
}

/// Expects that the guard has killed all workers before the middle of the kill margin, when the
/// supervisor would kill them. The first half of the margin is left for a machine that stands
/// still.
pub(crate) fn expect_silence_in_time(scene: &Scene, lease: &Lease) {
    let last = scene.last_stamp();
    let overdue = scene.until.before(lease.kill_margin / 2);
    assert!(last < overdue, "still at work at {last}, the guard was overdue at {overdue}");
}

fn sigterm_at_the_grace_and_sigkill_before_the_margin() {
    let lease = Lease::short();
    let mut scene = Scene::ending(&lease, "stubborn", EVERYWHERE);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    expect_end_in_time(&scene, &lease);
}

/// The supervisor never renews the lease.
fn polite_command_ends_at_grace() {
    let lease = Lease { length: 70 * SECOND, grace: 60 * SECOND, ..Lease::short() };
    let mut scene = Scene::worker(&lease, "polite", &["polite/daemon"]);
    scene.expect_outcome("7 exit code 7, the lease came to its end");
    expect_end_in_time(&scene, &lease);
}

fn extensions_keep_it_alive() {
    // SIGTERM after 6 s, so that the first extension comes before it.
    let lease = Lease { grace: 54 * SECOND, kill_margin: 52 * SECOND, ..Lease::short() };
    let mut scene = Scene::ending(&lease, "stubborn", EVERYWHERE);
    let enough = scene.until.before(lease.kill_margin).after(SECOND);
    while clock::now() < enough {
        // This end is so far ahead that the machine may stand still for a while.
        scene.extend(clock::now().after(4 * lease.length));
        sleep(millis(100));
    }
    let lease = Lease { length: 55 * SECOND, ..lease };
    scene.shorten(&lease);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(scene.last_stamp() > enough, "it worked on when its first lease had killed it");
    expect_end_in_time(&scene, &lease);
}

fn without_an_end_it_runs_until_there_is_one() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease.unending(), "stubborn", &[]);
    scene.extend(Time::MAX);
    let file = scene.path("until");
    scene.eventually("the file says so", || {
        (fs::read_to_string(&file).unwrap() == "none\n").then_some(())
    });
    // An end at the maximum must not overflow to an end in the past, which would kill the worker.
    sleep(SECOND);
    scene.expect_alive(1);
    scene.shorten(&lease);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    expect_end_in_time(&scene, &lease);
}

fn an_extension_after_sigterm_does_not_save_it() {
    // SIGTERM is due at once, and SIGKILL after 10 s. The extension moves SIGKILL to 15 s, the end
    // of the grace.
    let length = 15 * SECOND;
    let grace = 15 * SECOND;
    let kill_margin = 5 * SECOND;
    let lease = Lease { length, grace, kill_margin, ..Lease::short() };
    let mut scene = Scene::ending(&lease, "stubborn", &[]);
    scene
        .eventually("SIGTERM comes", || scene.stamps().into_iter().find(|stamp| stamp.what == 'T'));
    scene.extend(clock::now().after(600 * SECOND));
    scene.expect_outcome("137 signal 9, the lease came to its end");
    let margin = scene.until.before(lease.kill_margin);
    assert!(scene.last_stamp() > margin, "it had the rest of its grace");
}

fn stop_ends_within_lease() {
    let lease = Lease { grace: millis(59_900), ..Lease::short() };
    let mut scene = Scene::ending(&lease, "stubborn", EVERYWHERE);
    scene.say("stop");
    let outcome = scene.outcome();
    // On a slow machine the lease may have come to its end before the stop.
    assert!(outcome.starts_with("137 signal 9, "), "{outcome}");
    expect_silence_in_time(&scene, &lease);
    scene.expect_gone_but(&[scene.supervisor()]);
}

/// SIGKILL comes 1 s after SIGTERM, before there are too many processes for the machine.
fn of_one_that_forks() -> Lease {
    Lease { kill_margin: 58 * SECOND, ..Lease::short() }
}

fn command_forks_in_one_group() {
    let script = "trap '' TERM; while :; do sleep 60 & (sleep 60 & sleep 0.01); done";
    let mut scene = Scene::ending_shell(&of_one_that_forks(), script);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(scene.gone < scene.until, "the last was gone before the end of the lease");
}

fn command_forks_into_sessions() {
    let script = "trap '' TERM; while :; do setsid sh -c 'sleep 60 & sleep 60' & sleep 0.02; done";
    let mut scene = Scene::ending_shell(&of_one_that_forks(), script);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    assert!(scene.gone < scene.until, "the last was gone before the end of the lease");
}

/// Each process lives until it has started the next, and ignores SIGTERM from the beginning.
fn process_replaces_itself() {
    let lease = Lease { grace: millis(1200), kill_margin: millis(500), ..Lease::long() };
    let script = r#"trap '' TERM; c='sh -c "$1" again "$1" &'; sh -c "$c" first "$c""#;
    let mut scene = Scene::shell(&lease, script);
    scene.expect_outcome("0 exit code 0, it ended by itself");
}

fn process_moves_through_sessions() {
    let lease = Lease::short();
    let mut command = Scene::working("stubborn", &["restless/session"; 2]);
    command.splice(0..0, ["sh", "-c", r#"trap '' TERM; exec "$@""#, "sh"].map(OsString::from));
    let mut scene = Scene::start(&lease.unending(), &command);
    scene.expect_alive(20);
    scene.shorten(&lease);
    scene.expect_outcome("137 signal 9, the lease came to its end");
    expect_silence_in_time(&scene, &lease);
}
