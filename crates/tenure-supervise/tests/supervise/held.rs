//! Commands that their supervisor may not signal, and guards that it cannot reap.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;

use rustix::process::Signal;
use tenure::clock;

use crate::scene::{EVERYWHERE, Lease, SECOND, Scene, launching, millis, plays};
use tenure_testkit::processes::Hanging;

tenure_testkit::tests!(
    supervisor_awaits_unkillable_command,
    supervisor_skips_unreapable_guard,
    supervisor_skips_killed_unreapable_guard,
);

/// The command became another user, as by `sudo`, and its guard died before it could report that
/// the command runs.
fn supervisor_awaits_unkillable_command() {
    let setpriv = Command::new("sh").args(["-c", "command -v setpriv"]).output().unwrap();
    let path = String::from_utf8(setpriv.stdout).unwrap();
    assert!(!path.is_empty(), "setpriv is needed, to start what its user may not kill");
    let mut hanging = Hanging::with(&fs::read(path.trim()).unwrap(), 0o755);
    let lease = Lease { grace: SECOND, kill_margin: SECOND, ..Lease::long() };
    let args = ["--reuid=65534", "--clear-groups", "sleep", "600"].map(OsString::from);
    let command = [&[hanging.command()][..], &args].concat();
    // Without this capability even root may signal only its own processes.
    let mut scene = Scene::begin(&lease, &command, |actor| {
        let mut without = Command::new(path.trim());
        without.args(["--bounding-set=-kill", "--inh-caps=-kill"]);
        without.arg(actor.get_program()).args(actor.get_args()).stdin(Stdio::null());
        *actor = without;
    });
    let command = launching(&scene);
    let guard = scene.alive().into_iter().find(|pid| plays(*pid, "__guard")).unwrap();
    scene.freeze(guard);
    hanging.release();
    scene.eventually("it is another user's", || {
        let name = fs::read_to_string(format!("/proc/{command}/comm"));
        name.is_ok_and(|name| name == "sleep\n").then_some(())
    });
    scene.signal(guard, Signal::KILL);
    scene.eventually("its guard dies", || (!scene.alive().contains(&guard)).then_some(()));
    scene.until = clock::now().after(SECOND);
    scene.say(&format!("extend {}", scene.until.as_nanos()));
    assert_eq!(scene.hear(), "the guard process has ended");
    while clock::now() < scene.until.after(3 * SECOND) {
        sleep(millis(10));
    }
    assert!(scene.alive().contains(&command), "it cannot be killed by them");
    scene.say("extend 1");
    assert_eq!(scene.hear(), "the guard process has ended", "they still wait for it");
    scene.signal(command, Signal::KILL);
    let said = scene.hear();
    assert_eq!(said, "error 1 the guard process was lost before it reported that the command runs");
}

/// Holds `pid` by `ptrace` and lets it run. After the end of `pid` only its tracer could reap it,
/// and the tracer does not.
fn trace(pid: i32) -> Child {
    let (ptrace, waitid) = match std::env::consts::ARCH {
        "x86_64" => (101, 247),
        _ => (117, 95),
    };
    let script = format!(
        "my ($p, $b) = ($ARGV[0] + 0, qq(\\0) x 128);
        syscall({ptrace}, 0x4206, $p, 0, 0) == 0 or exit 1; $| = 1; print qq(held\\n);
        while (syscall({waitid}, 1, $p, $b, 2, 0) == 0) {{
            syscall({ptrace}, 7, $p, 0, unpack('x24 i', $b) & 255);
        }}
        <STDIN>"
    );
    let mut perl = Command::new("perl");
    perl.args(["-e", &script, &pid.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut perl = perl.spawn().expect("perl is needed");
    let mut line = String::new();
    BufReader::new(perl.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "held\n", "this process may not trace another");
    perl
}

/// A tracer keeps the guard from being reaped. The supervisor goes on without the guard, even while
/// it renews the lease.
fn supervisor_skips_unreapable_guard() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &["polite/daemon"]);
    let mut tracer = trace(scene.guard);
    scene.say("renew");
    scene.say("stop");
    scene.expect_outcome("7 exit code 7, it was stopped");
    tracer.kill().unwrap();
    tracer.wait().unwrap();
}

/// The same holds for a guard that is killed.
fn supervisor_skips_killed_unreapable_guard() {
    let mut scene = Scene::worker(&Lease::long(), "stubborn", EVERYWHERE);
    let mut tracer = trace(scene.guard);
    scene.say("renew");
    scene.signal(scene.guard, Signal::KILL);
    scene.expect_outcome("137 signal 9, its guard was lost");
    tracer.kill().unwrap();
    tracer.wait().unwrap();
}
