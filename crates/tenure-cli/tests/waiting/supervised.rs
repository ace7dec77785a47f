//! Supervised release: the end of a runner, as a node on its machine sees it. Leases last a minute,
//! and only a release or a report gives a grant back before.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use tenure_testkit::processes::wait;

use super::Stage;

/// Three nodes, of which a watches `one`, whose CMD is this script; `two` waits.
fn stage(script: &str, more: &[&str]) -> Stage {
    let mut stage = Stage::new();
    let socket = stage.machine.path("a.watch");
    let socket = socket.to_str().unwrap();
    stage.keeping("a", &["--new", "--supervise", socket]);
    stage.node("b", &["--new"]);
    stage.node("c", &["--new"]);
    let supervisor = format!("a={socket}");
    let more = [&["--supervisor", supervisor.as_str()], more].concat();
    stage.0.candidate("one", &more, &["sh", "-c", script]);
    stage.says("one", "a watches this process");
    stage.says("one", "CMD runs");
    stage.candidate("two", &[]);
    stage.says("two", "behind one, which leads");
    stage
}

#[test]
fn killed_runner_is_followed_at_once() {
    let mut stage = stage("sleep 1000", &[]);
    stage.kill("one");
    stage.says("a", "the process of one~");
    stage.says("b", "a has seen the end of the process of one~");
    stage.says("b", "e given up by one~");
    stage.says("two", "two leads e");
}

/// After the end of its runner, CMD may still act until its grace is over, so the successor waits.
#[test]
fn successor_waits_for_cmd() {
    let script = "trap 'touch term' TERM; echo $$ > pid; while :; do sleep 0.1; done";
    let mut stage = stage(script, &["--grace", "30s"]);
    stage.kill("one");
    let term = stage.machine.path("term");
    wait::eventually("CMD is told to end", || term.exists().then_some(()));
    let said = |stage: &Stage, name: &str, what: &str| stage.log(name).contains(what);
    assert!(!said(&stage, "a", "the process of one~"), "CMD runs");
    assert!(!said(&stage, "two", "two leads e"), "CMD runs");
    let pid = fs::read_to_string(stage.machine.path("pid")).unwrap();
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    stage.says("b", "e given up by one~");
    stage.says("two", "two leads e");
}

/// The node that watches the runner starts again, and the runner asks the node again to watch.
#[test]
fn restarted_node_watches_again() {
    let mut stage = stage("sleep 1000", &[]);
    let socket = stage.machine.path("a.watch");
    stage.stop("a");
    stage.says("one", "warning: a does not watch this process");
    stage.keeping("a", &["--supervise", socket.to_str().unwrap()]);
    stage["one"].line("a watches this process: when this process ends", 2);
    stage.kill("one");
    stage.says("b", "e given up by one~");
}

#[test]
fn taken_socket_is_an_error() {
    let mut stage = Stage::new();
    let socket = stage.machine.path("a.watch");
    let socket = socket.to_str().unwrap();
    stage.node("a", &["--new", "--supervise", socket]);
    let words = ["node", "--name", "b", "--memory", "--new", "--listen", "127.0.0.1:0"];
    let said = stage.ask(&[&words[..], &["--supervise", socket]].concat());
    assert_eq!(said.code, Some(74), "{}", said.err);
    assert!(said.err.contains("a.watch cannot be served: Address"), "{}", said.err);
}
