//! What `tenure run` says while it waits, with real nodes, some of them missing.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]
#![allow(dead_code, reason = "uses its part of what `chaos` has")]

#[path = "chaos/wait.rs"]
mod wait;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Three members, of which a test starts what it likes. Dropping it kills them all.
struct Stage {
    directory: TempDir,
    /// Holds the ports of nodes that are not started: nothing answers there.
    silent: Vec<(&'static str, UdpSocket)>,
    processes: Vec<Child>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = |name| (name, UdpSocket::bind("127.0.0.1:0").unwrap());
        let silent: Vec<_> = ["a", "b", "c"].map(socket).into();
        let member =
            |(name, socket): &(&str, UdpSocket)| format!("{name}={}", socket.local_addr().unwrap());
        let members: Vec<_> = silent.iter().map(member).collect();
        let settings = format!(
            "cluster = \"t\"\nelection = \"e\"\nlease = \"60s\"\nmembers = \"{}\"\n",
            members.join(",")
        );
        fs::write(directory.path().join("tenure.toml"), settings).unwrap();
        Self { directory, silent, processes: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    fn start(&mut self, name: &str, args: &[&str], more: &[&str]) {
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(args).arg("--config").arg(self.path("tenure.toml"));
        command.arg("--control").arg(self.path(&format!("{name}.sock"))).args(more);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.processes.push(command.spawn().unwrap());
    }

    /// The node takes the place of the socket that was silent.
    fn node(&mut self, name: &'static str, more: &[&str]) {
        self.silent.retain(|(silent, _)| *silent != name);
        self.start(name, &["node", "--name", name, "--memory"], more);
        self.says(name, " on 127.0.0.1:");
    }

    fn candidate(&mut self, name: &str, id: &str, more: &[&str]) {
        let mut args = vec!["run", "--id", id];
        args.extend(more);
        self.start(name, &args, &["--", "sleep", "1000"]);
    }

    fn says(&self, name: &str, text: &str) {
        let what = format!("{name} says {text}");
        wait::eventually(&what, || self.log(name).contains(text).then_some(()));
    }

    /// What the control socket of `name` answers to a question for its status.
    fn status(&self, name: &str) -> Value {
        let mut socket = UnixStream::connect(self.path(&format!("{name}.sock"))).unwrap();
        socket.write_all(b"{\"do\":\"status\"}\n").unwrap();
        let mut line = String::new();
        BufReader::new(socket).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn without_any_node_it_says_who_is_missing_and_once() {
    let mut stage = Stage::new();
    stage.candidate("one", "one", &[]);
    stage.says("one", "tenure: one waits: no quorum: nothing heard of a, b, c\n");
    let waiting = &stage.status("one")["done"]["waiting"];
    let text = "no quorum: nothing heard of a, b, c";
    let missing = ["a", "b", "c"];
    assert_eq!(*waiting, json!({"waiting": "no-quorum", "text": text, "missing": missing}));

    // With one of three it is missing no more, and with two it leads.
    stage.node("a", &["--new"]);
    stage.says("one", "tenure: one waits: no quorum: nothing heard of b, c\n");
    stage.node("c", &["--new"]);
    stage.says("one", "one leads e");
    let log = stage.log("one");
    assert_eq!(log.matches(" waits: ").count(), 2, "{log}");
}

#[test]
fn programs_are_told_the_same() {
    let mut stage = Stage::new();
    stage.node("b", &["--new"]);
    stage.candidate("one", "one", &["--json"]);
    stage.says("one", "\"event\":\"waiting\"");
    let log = stage.log("one");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.into_iter().find(|line| line["event"] == "waiting").unwrap();
    assert_eq!((&line["waiting"], &line["missing"]), (&json!("no-quorum"), &json!(["a", "c"])));
    assert_eq!((&line["id"], &line["election"]), (&json!("one"), &json!("e")));
    assert!(line["boottime_ns"].is_u64(), "{line}");
}

#[test]
fn a_quarantine_says_until_when() {
    let mut stage = Stage::new();
    // Not new: what these had was lost.
    stage.node("a", &[]);
    stage.node("b", &[]);
    stage.candidate("one", "one", &[]);
    stage.says("one", "tenure: one waits: old leases may last: a, b grant nothing for ");
    let waiting = stage.status("one")["done"]["waiting"].clone();
    let left = waiting["remaining_ms"].as_u64().unwrap();
    // Twice the lease, and a little more for clocks that drift.
    assert!((1_000..=125_000).contains(&left), "{waiting}");
}

#[test]
fn one_behind_another_says_whom() {
    let mut stage = Stage::new();
    for node in ["a", "b", "c"] {
        stage.node(node, &["--new"]);
    }
    stage.candidate("one", "one", &[]);
    stage.says("one", "one leads e");
    stage.candidate("two", "two", &[]);
    stage.says("two", "tenure: two waits: behind one, which leads\n");
    assert_eq!(stage.status("two")["done"]["waiting"]["behind"], "one");
    assert_eq!(stage.log("one").matches(" waits: ").count(), 0, "{}", stage.log("one"));
}

#[test]
fn a_name_used_twice_is_told_to_those_who_use_it() {
    let mut stage = Stage::new();
    for node in ["a", "b", "c"] {
        stage.node(node, &["--new"]);
    }
    stage.candidate("leader", "leader", &[]);
    stage.says("leader", "leader leads e");
    stage.candidate("first", "same", &[]);
    stage.candidate("second", "same", &[]);
    stage.says("first", "tenure: same waits: another process uses this name, say");
    stage.says("second", "tenure: same waits: another process uses this name, say");
    stage.says("a", "two processes use the name same at the same time");
}
