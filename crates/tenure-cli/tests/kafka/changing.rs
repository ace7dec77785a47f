//! Roles that are added to a running process, and removed from it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_testkit::processes::wait::eventually as soon;
use tenure_testkit::processes::{Machine, RunningCommand};

use crate::{STRICT, run, shared_broker, words};

/// Prints its role, and that it ends.
const WORK: &str = "trap 'echo stopped {role}; exit 0' TERM; echo works {role}; \
                    while :; do sleep 0.05; done";

/// Leaves all CMDs time to write that they end, also on a busy machine.
const ROOMY: [&str; 6] = ["--mode", "at-most-one", "--takeover", "25s", "--grace", "15s"];

fn answer(host: &Machine, words: &[&str]) -> Value {
    let answer = host.ask(&[words, &["--json"]].concat());
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    serde_json::from_str(&answer.out).unwrap()
}

/// A process that leads role 4 alone, and its control socket.
fn fourth(host: &Machine) -> (RunningCommand, PathBuf) {
    let path = host.path("c.sock");
    let control = ["--partitions", "1", "--role", "4", "--control", path.to_str().unwrap()];
    let one = host.start("one", &run("one", &STRICT, &control, WORK));
    one.line("works 4", 1);
    (one, path)
}

#[test]
fn running_process_changes_its_roles() {
    let (_broker, election, host) = shared_broker("changing");
    let roles = ["--partitions", "2", "--roles", "0..1"];
    // CMD ends some time after SIGTERM, so the test would notice an answer before the end of CMD.
    let work = WORK.replace("'echo", "'sleep 0.5; echo");
    let one = host.start("one", &run("one", &ROOMY, &roles, &work));
    for role in 0..2 {
        one.line(&format!("works {role}"), 1);
    }
    let shown = answer(&host, &["roles", "show"]);
    assert_eq!((&shown["roles"], &shown["id"]), (&json!([0, 1]), &"one".into()), "{shown}");
    let added = answer(&host, &["roles", "add", "1..3"]);
    assert_eq!((&added["roles"], &added["added"]), (&json!([0, 1, 2, 3]), &json!([2, 3])));
    for role in 2..4 {
        one.line(&format!("[{election}/{role}] works {role}"), 1);
    }
    // CMD has ended, and its socket is gone, when the command has its answer.
    let removed = answer(&host, &["roles", "remove", "1"]);
    assert_eq!((&removed["roles"], &removed["removed"]), (&json!([0, 2, 3]), &json!([1])));
    let log = one.log();
    assert!(log.contains(&format!("[{election}/1] stopped 1\n")), "{log}");
    // The process reports the removal only after its answer.
    one.line(&format!("one no longer stands for {election}/1"), 1);
    for role in [0, 2, 3] {
        assert!(!log.contains(&format!("stopped {role}")), "{log}");
    }
    let asks = |role| words("leader", &ROOMY, &["--partitions", "2", "--role", role]);
    soon("it is vacant", || (host.ask(&asks("1")).code == Some(3)).then_some(()));
    assert_eq!(host.ask(&asks("3")).code, Some(0));
    let none = host.ask(&["roles", "remove", "0..9"]);
    assert_eq!(none.code, Some(6), "{}", none.err);
    assert!(none.err.contains("none of its 3 roles left"), "{}", none.err);
    // A removed role may come back, and all roles can be given back as before.
    assert_eq!(answer(&host, &["roles", "add", "1"])["roles"], json!([0, 1, 2, 3]));
    one.line(&format!("[{election}/1] works 1"), 2);
    assert_eq!(answer(&host, &["resign", "--all"])["roles"], json!([0, 1, 2, 3]));
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
}

/// A process with one role can get more, each with its own socket.
#[test]
fn single_role_gets_company() {
    let (_broker, election, host) = shared_broker("company");
    let (one, path) = fourth(&host);
    let control = ["--control", path.to_str().unwrap()];
    let more = [&["roles", "add", "5"][..], &control].concat();
    assert_eq!(answer(&host, &more)["roles"], json!([4, 5]));
    one.line(&format!("[{election}/5] works 5"), 1);
    let socket = format!("{}.5", control[1]);
    let status = answer(&host, &["node", "status", control[0], &socket]);
    assert_eq!((&status["role"], &status["leading"]), (&5.into(), &true.into()), "{status}");
    // The process has two roles now, and cannot give back one of them alone.
    let alone = host.ask(&[&["resign"][..], &control].concat());
    assert_eq!(alone.code, Some(6), "{}", alone.err);
    let less = [&["roles", "remove", "5"][..], &control].concat();
    assert_eq!(answer(&host, &less)["roles"], json!([4]));
    assert!(!host.path("c.sock.5").exists());
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
}

/// A request whose roles cannot all be added adds no role, however many roles it names.
#[test]
fn refused_request_adds_no_role() {
    let (_broker, _, host) = shared_broker("refused");
    let (one, path) = fourth(&host);
    let control = ["--control", path.to_str().unwrap()];
    let mut stream = UnixStream::connect(&path).unwrap();
    let every = json!({"do": "add-roles", "first": 0, "last": u32::MAX});
    writeln!(stream, "{every}").unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    assert!(told.contains("4294967296 roles are too many: a process stands for "), "{told}");
    // A directory is where the socket of role 6 would be.
    fs::create_dir(host.path("c.sock.6")).unwrap();
    let two = [&["roles", "add", "5..6"][..], &control].concat();
    let refused = host.ask(&two);
    assert_eq!(refused.code, Some(6), "{}", refused.err);
    let shown = [&["roles", "show"][..], &control].concat();
    assert_eq!(answer(&host, &shown)["roles"], json!([4]));
    assert!(!host.path("c.sock.5").exists());
    fs::remove_dir(host.path("c.sock.6")).unwrap();
    assert_eq!(answer(&host, &two)["roles"], json!([4, 5, 6]));
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143), "{}", host.log("one"));
}

/// With two processes on the machine a user must name the process.
#[test]
fn ambiguous_process_is_refused() {
    let (_broker, _, host) = shared_broker("both");
    let roles = ["--partitions", "1", "--roles", "0..1"];
    let one = host.start("one", &run("one", &STRICT, &roles, WORK));
    one.line("works 1", 1);
    let two = host.start("two", &run("two", &STRICT, &roles, WORK));
    two.line("two waits: behind another member", 1);
    let refused = host.ask(&["roles", "add", "2"]);
    assert_eq!(refused.code, Some(6), "{}", refused.err);
    assert!(refused.err.contains("fix: name the process by --control: "), "{}", refused.err);
    for process in [one, two] {
        process.signal(Signal::TERM);
        assert_eq!(process.ended(), Some(143));
    }
}
