//! Long-running commands, and the reader of their standard output.

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::process::Stdio;

use tenure_testkit::processes::wait;

use crate::signals::send;
use crate::{Stage, eventually};

/// As in `tenure observe … | head -1`: no member answers, so that no other line comes.
#[test]
fn commands_end_with_their_reader() {
    let stage = Stage::without_node("60s", "20s");
    for (command, more, says, code) in [
        (&["observe"][..], &[][..], "unknown", 0),
        (&["observe"], &["--json"], "unknown", 0),
        (&["node", "wait-safe"], &["--json", "--name", "n"], "\"safe\":false", 4),
    ] {
        let mut asks =
            stage.command(&[command, more].concat()).stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(asks.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(says), "{line}");
        assert!(asks.try_wait().unwrap().is_none(), "the reader is still there");
        drop(reader);
        assert_eq!(wait::ended("it ends", &mut asks).code(), Some(code), "{command:?}");
    }
}

/// A pipe that accepts no bytes until a reader takes some.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[0]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// Waits until the process blocks on writing to standard output.
fn stands(process: impl Display) {
    // The number of `write` on two architectures.
    let writes = ["1 0x1 ", "64 0x1 "];
    eventually("it waits for its reader", || {
        let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
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
        let mut asks = stage.command(&[command, more].concat()).stdout(writer).spawn().unwrap();
        stands(asks.id());
        send(asks.id(), 15);
        assert_eq!(wait::ended("it ends", &mut asks).code(), Some(128 + 15), "{command:?}");
    }
}

#[test]
fn node_works_though_nobody_reads() {
    let mut stage = Stage::without_node("60s", "20s");
    let (_reader, writer) = full_pipe();
    let mut node = stage.tenure("n", &["node", "--name", "n", "--new", "--state", "state-n"]);
    node.stdout(writer);
    stage.run("n", node);
    stands(stage["n"].pid().as_raw_pid());
    eventually("it grants leases", || stage.status("n")["service"] == "serving");
    stage.stop("n");
}
