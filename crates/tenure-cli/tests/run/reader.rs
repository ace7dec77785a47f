//! Commands that last, and the reader of their standard output.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::process::{Child, Command, Stdio};

use tenure_testkit::processes::wait;

use crate::signals::send;
use crate::{Stage, eventually};

fn asks(stage: &Stage, command: &[&str], more: &[&str]) -> Command {
    let mut asks = Command::new(env!("CARGO_BIN_EXE_tenure"));
    asks.args(command).arg("--config").arg(stage.path("tenure.toml")).args(more);
    asks
}

/// As in `tenure observe … | head -1`: no member answers, so that no other line comes.
#[test]
fn commands_end_with_their_reader() {
    let stage = Stage::without_node("60s", "20s");
    for (command, more, says, code) in [
        (&["observe"][..], &[][..], "unknown", 0),
        (&["observe"], &["--json"], "unknown", 0),
        (&["node", "wait-safe"], &["--json", "--name", "n"], "\"safe\":false", 4),
    ] {
        let mut asks = asks(&stage, command, more).stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(asks.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(says), "{line}");
        assert!(asks.try_wait().unwrap().is_none(), "the reader is still there");
        drop(reader);
        assert_eq!(wait::ended("it ends", &mut asks).code(), Some(code), "{command:?}");
    }
}

/// Nothing can be written until somebody reads.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[0]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// Waits until it stands at writing to standard output.
fn stands(child: &Child) {
    // Its number on two architectures.
    let writes = ["1 0x1 ", "64 0x1 "];
    eventually("it waits for its reader", || {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        let calls = tasks.map(|task| fs::read_to_string(task.path().join("syscall")));
        calls.flatten().any(|call| writes.iter().any(|write| call.starts_with(write)))
    });
}

#[test]
fn observer_ends_though_nobody_reads() {
    let stage = Stage::without_node("60s", "20s");
    for (command, more) in
        [(&["observe"][..], &[][..]), (&["node", "wait-safe"], &["--json", "--name", "n"])]
    {
        let (_reader, writer) = full_pipe();
        let mut asks = asks(&stage, command, more).stdout(writer).spawn().unwrap();
        stands(&asks);
        send(&asks, 15);
        assert_eq!(wait::ended("it ends", &mut asks).code(), Some(128 + 15), "{command:?}");
    }
}

#[test]
fn node_works_though_nobody_reads() {
    let mut stage = Stage::without_node("60s", "20s");
    let (_reader, writer) = full_pipe();
    let state = stage.path("state");
    let args = ["node", "--name", "n", "--new", "--state", state.to_str().unwrap()];
    let mut node = stage.tenure("n", &args, &[]);
    node.stdout(writer);
    let node = stage.spawn(node);
    stands(&stage.processes[node]);
    eventually("it grants leases", || {
        stage.told("n", &["node", "status", "--json"]).contains("\"serving\"")
    });
    stage.asked_to_end(node);
    assert_eq!(stage.ended(node).code(), Some(128 + 15), "{}", stage.log("n"));
}
