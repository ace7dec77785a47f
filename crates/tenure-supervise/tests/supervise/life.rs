//! Commands that end by themselves or on request, while no process fails.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;

use rustix::process::Signal;
use tenure::clock;

use crate::actor::WITHHELD;
use crate::scene::{Lease, SECOND, Scene};

tenure_testkit::tests!(
    its_own_code_passes_through,
    its_own_signal_passes_through,
    a_stop_is_a_sigterm_first,
    a_stop_kills_after_the_grace,
    signal_to_guard_stops_command,
    a_guard_ignores_ignored_signals,
    stopped_process_wakes_to_end,
    what_it_leaves_behind_is_ended_too,
    what_it_leaves_behind_has_the_grace_to_end,
    it_is_told_what_it_leads,
    without_a_fence_there_is_no_variable,
    what_is_withheld_is_not_inherited,
    it_has_the_standard_streams_and_nothing_else,
    its_arguments_arrive_byte_for_byte,
    nothing_is_left_in_the_folder,
);

fn its_own_code_passes_through() {
    Scene::shell(&Lease::long(), "exit 93").expect_outcome("93 exit code 93, it ended by itself");
    Scene::shell(&Lease::long(), "exit 0").expect_outcome("0 exit code 0, it ended by itself");
}

fn its_own_signal_passes_through() {
    let mut scene = Scene::shell(&Lease::long(), "kill -USR1 $$");
    scene.expect_outcome("138 signal 10, it ended by itself");
}

fn a_stop_is_a_sigterm_first() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &["plain/group", "polite/daemon"]);
    scene.say("stop");
    scene.expect_outcome("7 exit code 7, it was stopped");
    let told = scene.stamps().iter().filter(|stamp| stamp.what == 'T').count();
    assert_eq!(told, 2, "both polite ones were told once, the plain one just died");
}

fn a_stop_kills_after_the_grace() {
    let lease = Lease { grace: 8 * SECOND, ..Lease::long() };
    let mut scene = Scene::worker(&lease, "stubborn", &["stubborn/session"]);
    let asked = clock::now();
    scene.say("stop");
    scene.expect_outcome("137 signal 9, it was stopped");
    assert!(scene.last_stamp() >= asked.after(lease.grace / 2), "it had most of its grace");
}

fn signal_to_guard_stops_command() {
    for signal in [Signal::TERM, Signal::HUP, Signal::USR1, Signal::PROF] {
        let mut scene = Scene::worker(&Lease::long(), "polite", &[]);
        scene.signal(scene.guard, signal);
        scene.expect_outcome("7 exit code 7, it was stopped");
    }
}

fn a_guard_ignores_ignored_signals() {
    let mut scene = Scene::empty();
    scene.before = r#"trap '' USR1; exec "$@""#.to_owned();
    scene.supervise(&Lease::long(), &Scene::working("polite", &[]), |_| {});
    scene.expect_started();
    scene.expect_alive(1);
    scene.signal(scene.guard, Signal::USR1);
    scene.signal(scene.command, Signal::USR1);
    scene.signal(scene.command, Signal::TERM);
    scene.expect_outcome("7 exit code 7, it ended by itself");
}

fn stopped_process_wakes_to_end() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &["polite/session"]);
    for pid in scene.stamps().iter().filter(|stamp| stamp.what == 'B').map(|stamp| stamp.pid) {
        scene.freeze(pid);
    }
    scene.say("stop");
    scene.expect_outcome("7 exit code 7, it was stopped");
    assert_eq!(scene.stamps().iter().filter(|stamp| stamp.what == 'T').count(), 2);
}

fn what_it_leaves_behind_is_ended_too() {
    let mut scene = Scene::worker(&Lease::long(), "polite", &["polite/daemon", "plain/session"]);
    scene.signal(scene.command, Signal::KILL);
    scene.expect_outcome("137 signal 9, it ended by itself");
    let told = scene.stamps().into_iter().filter(|stamp| stamp.what == 'T').count();
    assert_eq!(told, 1, "the polite daemon was told");
}

fn what_it_leaves_behind_has_the_grace_to_end() {
    let lease = Lease { grace: 8 * SECOND, ..Lease::long() };
    let mut scene = Scene::worker(&lease, "polite", &["stubborn/daemon"]);
    let ended = clock::now();
    scene.signal(scene.command, Signal::TERM);
    scene.expect_outcome("7 exit code 7, it ended by itself");
    assert!(scene.last_stamp() >= ended.after(lease.grace / 2), "it had most of its grace");
}

fn it_is_told_what_it_leads() {
    let script = r#"echo "$TENURE_ELECTION $TENURE_ID $TENURE_FENCE"; cat "$TENURE_UNTIL_FILE"
        read line; cat "$TENURE_UNTIL_FILE""#;
    let command = ["sh", "-c", script].map(OsString::from);
    let mut scene = Scene::begin(&Lease::long(), &command, |actor| {
        actor.stdin(Stdio::piped()).stdout(Stdio::piped());
    });
    scene.expect_started();
    let later = scene.until.after(SECOND);
    scene.extend(later);
    let current = format!("{}\n", later.as_nanos());
    let file = scene.path("until");
    scene.eventually("the file is current", || {
        (fs::read_to_string(&file).unwrap() == current).then_some(())
    });
    scene.marked().stdin.take().unwrap().write_all(b"go on\n").unwrap();
    scene.expect_outcome("0 exit code 0, it ended by itself");
    assert_eq!(scene.exit_code(), Some(0));
    let mut said = String::new();
    scene.marked().stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "db/primary node-1 42");
    // The first value may have been read before or after the extension.
    let first = scene.until.as_nanos().to_string();
    let second = later.as_nanos().to_string();
    assert!(lines[1] == first || lines[1] == second, "{said}");
    assert_eq!(lines[2..], [second]);
}

fn without_a_fence_there_is_no_variable() {
    let lease = Lease { fence: 0, ..Lease::long() };
    let script = r#"test "${TENURE_FENCE-unset}" = unset"#;
    let command = ["sh", "-c", script].map(OsString::from);
    let mut scene = Scene::begin(&lease, &command, |actor| {
        actor.env("TENURE_FENCE", "7");
    });
    scene.expect_started();
    scene.expect_outcome("0 exit code 0, it ended by itself");
}

fn what_is_withheld_is_not_inherited() {
    let script = format!(r#"test "${{{WITHHELD}-unset}}" = unset && test "$OTHER" = 8"#);
    let command = ["sh", "-c", &script].map(OsString::from);
    let mut scene = Scene::begin(&Lease::long(), &command, |actor| {
        actor.env(WITHHELD, "7").env("OTHER", "8");
    });
    scene.expect_started();
    scene.expect_outcome("0 exit code 0, it ended by itself");
}

fn it_has_the_standard_streams_and_nothing_else() {
    let script = "cat; echo to-stderr >&2; exec ls -l /proc/self/fd";
    let command = ["sh", "-c", script].map(OsString::from);
    let mut scene = Scene::begin(&Lease::long(), &command, |actor| {
        actor.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    scene.expect_started();
    let mut stdin = scene.marked().stdin.take().unwrap();
    stdin.write_all(b"through standard input\n").unwrap();
    drop(stdin);
    scene.expect_outcome("0 exit code 0, it ended by itself");
    assert_eq!(scene.exit_code(), Some(0));
    let mut out = String::new();
    let mut err = String::new();
    scene.marked().stdout.take().unwrap().read_to_string(&mut out).unwrap();
    scene.marked().stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "to-stderr\n");
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("through standard input"));
    // This process has inherited these files from cargo or its caller. Any other socket or pipe is
    // one of ours.
    let theirs: Vec<String> = fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.display().to_string()))
        .collect();
    let mut streams = 0;
    for line in lines.filter(|line| line.contains(" -> ")) {
        let (left, target) = line.split_once(" -> ").unwrap();
        if matches!(left.rsplit(' ').next(), Some("0" | "1" | "2")) {
            assert!(target.starts_with("pipe:"), "{line}");
            streams += 1;
        } else if !(target.starts_with("/proc/") && target.ends_with("/fd")) {
            assert!(theirs.iter().any(|theirs| theirs == target), "leaked: {line}");
        }
    }
    assert_eq!(streams, 3, "{out}");
}

fn its_arguments_arrive_byte_for_byte() {
    let odd = OsString::from_vec(b"--grace=\xff 'two words'\n-- ".to_vec());
    let mut command = ["sh", "-c", r#"printf '%s|' "$0" "$@""#].map(OsString::from).to_vec();
    command.extend(["name".into(), odd.clone(), OsString::new(), "--".into()]);
    let mut scene = Scene::begin(&Lease::long(), &command, |actor| {
        actor.stdout(Stdio::piped());
    });
    scene.expect_started();
    scene.expect_outcome("0 exit code 0, it ended by itself");
    assert_eq!(scene.exit_code(), Some(0));
    let mut said = Vec::new();
    scene.marked().stdout.take().unwrap().read_to_end(&mut said).unwrap();
    let expected = [&b"name|"[..], odd.as_encoded_bytes(), b"||--|"].concat();
    assert_eq!(said, expected);
}

fn nothing_is_left_in_the_folder() {
    let mut scene = Scene::shell(&Lease::long(), r#"test -s "$TENURE_UNTIL_FILE""#);
    scene.expect_outcome("0 exit code 0, it ended by itself");
    assert_eq!(scene.exit_code(), Some(0));
    let left = fs::read_dir(scene.path(".")).unwrap().flatten();
    let left: Vec<OsString> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["control"]);
}
