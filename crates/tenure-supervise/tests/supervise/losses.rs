//! Commands whose supervisor or guard is stopped or killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::thread::sleep;

use rustix::process::{Pid, Signal, kill_process_group};
use tenure::clock;

use crate::deadline::{expect_end_in_time, expect_silence_in_time};
use crate::scene::{EVERYWHERE, Lease, SECOND, Scene, millis};

tenure_testkit::tests!(
    stopped_supervisor_saves_no_command,
    killed_supervisor_saves_no_command,
    a_killed_supervisor_is_a_stop,
    killed_supervisor_leaves_grace,
    what_the_terminal_sends_to_the_supervisor_is_a_stop,
    killed_guard_ends_all_processes,
    killed_guard_ends_child_at_once,
    a_stopped_guard_is_done_without,
    continued_guard_catches_up,
    newest_deadline_counts,
    idle_guard_blocks_no_supervisor,
    stop_reaches_idle_guard,
    stop_outpaces_stopped_guard,
);

fn stopped_supervisor_saves_no_command() {
    let lease = Lease::short();
    let mut scene = Scene::ending(&lease, "stubborn", EVERYWHERE);
    scene.freeze(scene.supervisor());
    scene.expect_gone_but(&[scene.supervisor(), scene.guard]);
    expect_end_in_time(&scene, &lease);
    scene.signal(scene.supervisor(), Signal::CONT);
    scene.expect_outcome("137 signal 9, the lease came to its end");
}

fn killed_supervisor_saves_no_command() {
    let lease = Lease { grace: millis(59_900), ..Lease::short() };
    let scene = Scene::ending(&lease, "stubborn", EVERYWHERE);
    scene.signal(scene.supervisor(), Signal::KILL);
    scene.expect_gone_but(&[]);
    expect_silence_in_time(&scene, &lease);
}

fn a_killed_supervisor_is_a_stop() {
    let lease = Lease { grace: 8 * SECOND, ..Lease::long() };
    let scene = Scene::worker(&lease, "stubborn", EVERYWHERE);
    let killed = clock::now();
    scene.signal(scene.supervisor(), Signal::KILL);
    scene.expect_gone_but(&[]);
    let stamps = scene.stamps();
    assert_eq!(stamps.iter().filter(|stamp| stamp.what == 'T').count(), 1 + EVERYWHERE.len());
    assert!(scene.last_stamp() >= killed.after(lease.grace / 2), "they had most of their grace");
}

fn killed_supervisor_leaves_grace() {
    let scene = Scene::worker(&Lease::long(), "polite", &["polite/daemon"]);
    scene.signal(scene.supervisor(), Signal::KILL);
    scene.expect_gone_but(&[]);
    assert_eq!(scene.stamps().iter().filter(|stamp| stamp.what == 'T').count(), 2);
}

fn what_the_terminal_sends_to_the_supervisor_is_a_stop() {
    let mut scene = Scene::begin(&Lease::long(), &Scene::working("polite", &[]), |actor| {
        actor.process_group(0);
    });
    scene.expect_started();
    scene.expect_alive(1);
    let group = Pid::from_raw(scene.supervisor()).unwrap();
    kill_process_group(group, Signal::QUIT).unwrap();
    scene.expect_gone_but(&[]);
    let told = scene.stamps().iter().filter(|stamp| stamp.what == 'T').count();
    assert_eq!(told, 1, "guard and command did not get it, and the guard stopped the command");
}

fn killed_guard_ends_all_processes() {
    let mut scene = Scene::worker(&Lease::long(), "stubborn", EVERYWHERE);
    scene.signal(scene.guard, Signal::KILL);
    scene.expect_outcome("137 signal 9, its guard was lost");
    assert!(scene.stamps().iter().all(|stamp| stamp.what != 'T'), "no time for a warning");
}

/// The supervisor is stopped, so the kernel alone ends the command's first process.
fn killed_guard_ends_child_at_once() {
    let mut scene = Scene::worker(&Lease::long(), "stubborn", &["stubborn/daemon"]);
    scene.freeze(scene.supervisor());
    scene.signal(scene.guard, Signal::KILL);
    scene
        .eventually("the command dies", || (!scene.alive().contains(&scene.command)).then_some(()));
    scene.signal(scene.supervisor(), Signal::CONT);
    scene.expect_outcome("137 signal 9, its guard was lost");
}

fn a_stopped_guard_is_done_without() {
    let lease = Lease::without_guard();
    let mut scene = Scene::worker(&lease.unending(), "stubborn", EVERYWHERE);
    scene.freeze(scene.guard);
    scene.shorten(&lease);
    scene.expect_outcome("137 signal 9, its guard was lost");
    assert!(scene.gone < scene.until, "gone before the end of the lease");
}

/// The guard and the supervisor stand still. Only the guard continues, when SIGKILL is overdue.
fn continued_guard_catches_up() {
    let lease = Lease::short();
    let mut scene = Scene::worker(&lease.unending(), "stubborn", EVERYWHERE);
    scene.freeze(scene.guard);
    scene.shorten(&lease);
    scene.freeze(scene.supervisor());
    while clock::now() < scene.until.before(lease.kill_margin) {
        sleep(millis(10));
    }
    scene.signal(scene.guard, Signal::CONT);
    scene.expect_gone_but(&[scene.supervisor(), scene.guard]);
    assert!(scene.stamps().iter().all(|stamp| stamp.what != 'T'), "it was too late to warn");
    scene.signal(scene.supervisor(), Signal::CONT);
    scene.expect_outcome("137 signal 9, the lease came to its end");
}

/// A guard stands still while the lease is renewed again and again. Then it finds more orders than
/// it reads at once (100), or more than its socket holds (10,000). Only the last renewal lets the
/// command live.
fn newest_deadline_counts() {
    for times in [100, 10_000] {
        // SIGKILL comes 1 s after the lease was shortened, and the supervisor acts without the
        // guard after 29 s.
        let lease = Lease { grace: millis(59_500), kill_margin: 59 * SECOND, ..Lease::short() };
        let mut scene = Scene::worker(&lease.unending(), "stubborn", EVERYWHERE);
        scene.freeze(scene.guard);
        scene.shorten(&lease);
        let before = scene.until.as_nanos();
        let last = clock::now().after(600 * SECOND).as_nanos();
        scene.say(&format!("flood {times} {before} {last}"));
        assert_eq!(scene.hear(), "ok");
        while clock::now() < scene.until.before(lease.kill_margin - SECOND) {
            sleep(millis(10));
        }
        scene.signal(scene.guard, Signal::CONT);
        let continued = clock::now();
        scene.eventually("it works on", || {
            (scene.last_stamp() > continued.after(millis(300))).then_some(())
        });
        assert!(scene.stamps().iter().all(|stamp| stamp.what != 'T'), "{times} orders");
        scene.shorten(&lease);
        scene.expect_outcome("137 signal 9, the lease came to its end");
    }
}

fn idle_guard_blocks_no_supervisor() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &[]);
    scene.freeze(scene.guard);
    let until = scene.until.as_nanos();
    let later = scene.until.after(SECOND).as_nanos();
    scene.say(&format!("flood 100000 {until} {later}"));
    assert_eq!(scene.hear(), "ok");
    scene.signal(scene.guard, Signal::CONT);
    let file = fs::read_to_string(scene.path("until")).unwrap();
    assert!(file.ends_with('\n'));
    scene.say("stop");
    scene.expect_outcome("7 exit code 7, it was stopped");
}

fn stop_reaches_idle_guard() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &[]);
    scene.freeze(scene.guard);
    let until = scene.until.as_nanos();
    scene.say(&format!("flood 100000 {until} {until}"));
    assert_eq!(scene.hear(), "ok");
    scene.say("stop");
    scene.say(&format!("extend {}", scene.until.as_nanos()));
    assert_eq!(scene.hear(), "the guard process has ended");
    scene.signal(scene.guard, Signal::CONT);
    scene.expect_outcome("7 exit code 7, it was stopped");
}

/// The lease is renewed all the time, so only the stop ends the command.
fn stop_outpaces_stopped_guard() {
    let lease = Lease { grace: 2 * SECOND, ..Lease::long() };
    let mut scene = Scene::worker(&lease, "polite", &["stubborn/daemon"]);
    scene.freeze(scene.guard);
    scene.say("stop");
    scene.expect_outcome("137 signal 9, its guard was lost");
}
