//! Commands that never run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use tenure::clock;

use crate::scene::{Lease, SECOND, Scene, launching, millis, plays};
use tenure_testkit::processes::Hanging;

tenure_testkit::tests!(
    missing_command,
    unexecutable_file,
    a_script_without_its_interpreter,
    a_script_with_carriage_returns,
    a_program_without_its_loader,
    script_with_unusable_interpreter,
    too_short_lease,
    a_grace_below_the_kill_margin,
    an_until_file_that_cannot_be_written,
    hanging_execve_ends_with_lease,
    hanging_execve_can_be_stopped,
    guard_stops_during_hanging_execve,
    finished_command_is_not_hung,
    hidden_subcommands_by_hand,
);

/// Asserts that the supervisor gives up with this code and message, and leaves nothing running.
fn expect_error(lease: &Lease, command: &[OsString], code: u8, message: &str) {
    let mut scene = Scene::begin(lease, command, |_| {});
    let said = scene.hear();
    assert!(said.starts_with(&format!("error {code} ")) && said.contains(message), "{said}");
    assert_eq!(scene.exit_code(), Some(0));
    assert_eq!(scene.alive(), [] as [i32; 0]);
    let left = fs::read_dir(scene.path(".")).unwrap().flatten();
    let left: Vec<OsString> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["control"]);
}

fn script(path: &Path, text: &str, mode: u32) -> OsString {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.into()
}

fn missing_command() {
    let command = ["tenure-no-such-command".into()];
    expect_error(&Lease::long(), &command, 127, "command not found; looked in PATH=");
}

fn unexecutable_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = script(&folder.path().join("data"), "#!/bin/sh\n", 0o644);
    expect_error(&Lease::long(), &[file], 126, "/data: not executable: this user may not");
}

fn a_script_without_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let file = script(&folder.path().join("script"), "#!/no/such/interpreter\n", 0o755);
    let message = "/script: cannot be executed: the interpreter /no/such/interpreter of its first";
    expect_error(&Lease::long(), &[file], 127, message);
}

fn a_script_with_carriage_returns() {
    let folder = tempfile::tempdir().unwrap();
    let file = script(&folder.path().join("script"), "#! /bin/sh\r\nexit 0\r\n", 0o755);
    let message = "/script: cannot be executed: its lines end with CR LF, so its first line names \
                   the interpreter /bin/sh followed by";
    expect_error(&Lease::long(), &[file], 127, message);
}

/// The loader of a program may be missing if the program was built for another C library.
fn a_program_without_its_loader() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = fs::read("/proc/self/exe").unwrap();
    let loader = program.windows(4).position(|part| part == b"/ld-").unwrap();
    program[loader + 1] = b'L';
    let path = folder.path().join("program");
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let message = "/program: cannot be executed: its dynamic loader is not on";
    expect_error(&Lease::long(), &[path.into()], 127, message);
}

fn script_with_unusable_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let file = script(&folder.path().join("script"), "#!/etc/passwd\n", 0o755);
    expect_error(&Lease::long(), &[file], 126, "/script: cannot be executed: Permission denied");
}

fn too_short_lease() {
    let lease = Lease { length: SECOND, ..Lease::short() };
    expect_error(&lease, &["true".into()], 1, "of the lease left and a grace of 59s, SIGTERM");
}

fn a_grace_below_the_kill_margin() {
    let lease = Lease { grace: millis(999), ..Lease::short() };
    let message = "the grace of 999ms is shorter than the kill margin of 57s";
    expect_error(&lease, &["true".into()], 1, message);
}

fn an_until_file_that_cannot_be_written() {
    let mut scene = Scene::empty();
    fs::create_dir_all(scene.path("until/full")).unwrap();
    scene.supervise(&Lease::long(), &["true".into()], |_| {});
    let said = scene.hear();
    let message = "/until: cannot write the file that tells the command its deadline: Is a dir";
    assert!(said.starts_with("error 1 ") && said.contains(message), "{said}");
    assert_eq!(scene.exit_code(), Some(0));
    assert_eq!(scene.alive(), [] as [i32; 0]);
}

/// Asserts that the supervisor reports this, and that nothing is left running.
fn expect_hung(scene: &mut Scene, why: &str) {
    let said = scene.hear();
    let (before, after) = said.split_once(" after ").expect(&said);
    assert!(before.starts_with("error 126 ") && before.ends_with("execve had not returned"));
    assert!(after.contains(why), "{said}");
    assert_eq!(scene.exit_code(), Some(0));
    assert_eq!(scene.alive(), [] as [i32; 0]);
}

fn hanging_execve_ends_with_lease() {
    let hanging = Hanging::script();
    let lease = Lease::short();
    let mut scene = Scene::begin(&lease.unending(), &[hanging.command()], |_| {});
    launching(&scene);
    scene.shorten(&lease);
    // Renewals go on, but do not lengthen the time for a start.
    scene.extend(clock::now().after(600 * SECOND));
    expect_hung(&mut scene, "when the lease came to its end");
}

fn hanging_execve_can_be_stopped() {
    let hanging = Hanging::script();
    let mut scene = Scene::begin(&Lease::long(), &[hanging.command()], |_| {});
    launching(&scene);
    scene.say("stop");
    expect_hung(&mut scene, "when it was stopped");
}

/// The guard stands still, so only the supervisor can act.
fn guard_stops_during_hanging_execve() {
    let hanging = Hanging::script();
    let lease = Lease::without_guard();
    let mut scene = Scene::begin(&lease.unending(), &[hanging.command()], |_| {});
    launching(&scene);
    let guard = scene.alive().into_iter().find(|pid| plays(*pid, "__guard"));
    scene.freeze(guard.unwrap());
    scene.shorten(&lease);
    scene.extend(clock::now().after(600 * SECOND));
    let said = scene.hear();
    assert_eq!(said, "error 1 the guard process was lost before it reported that the command runs");
    assert_eq!(scene.exit_code(), Some(0));
    assert_eq!(scene.alive(), [] as [i32; 0]);
}

/// The guard stands still while the command runs and ends. Then a stop is ordered, and the guard
/// continues.
fn finished_command_is_not_hung() {
    let mut hanging = Hanging::with(b"#!/bin/sh\nexit 3\n", 0o755);
    let mut scene = Scene::begin(&Lease::long(), &[hanging.command()], |_| {});
    let command = launching(&scene);
    let guard = scene.alive().into_iter().find(|pid| plays(*pid, "__guard")).unwrap();
    scene.freeze(guard);
    hanging.release();
    scene.eventually("it has ended", || {
        let stat = fs::read_to_string(format!("/proc/{command}/stat")).unwrap();
        stat.rsplit(')').next()?.trim_start().starts_with('Z').then_some(())
    });
    scene.say("stop");
    scene.extend(scene.until);
    scene.signal(guard, Signal::CONT);
    scene.expect_started();
    assert_eq!(scene.command, command);
    scene.expect_outcome("3 exit code 3, it was stopped");
}

fn hidden_subcommands_by_hand() {
    for role in ["__guard", "__launch"] {
        for args in [&[][..], &["1", "2", "true", "true"]] {
            let mut scene = Scene::empty();
            let mut command = Command::new("/proc/self/exe");
            command.arg(role).args(args).stdin(Stdio::null());
            command.stderr(Stdio::piped());
            scene.spawn(&mut command);
            let code = scene.exit_code();
            assert!(matches!(code, Some(1 | 2)), "{role} {args:?}: {code:?}");
            assert_eq!(scene.alive(), [] as [i32; 0]);
        }
    }
}
