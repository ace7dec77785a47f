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
        self.start_in(&[], name, args, more);
    }

    /// The same under another command, which executes it.
    fn start_in(&mut self, around: &[&str], name: &str, args: &[&str], more: &[&str]) {
        let log = File::create(self.path(&format!("{name}.log"))).unwrap();
        let line = [around, &[env!("CARGO_BIN_EXE_tenure")], args].concat();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]).arg("--config").arg(self.path("tenure.toml"));
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

    /// What a command says and its exit code; with `--control` if it is for a runner.
    fn tenure(&self, args: &[&str], control: Option<&str>) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(args).arg("--config").arg(self.path("tenure.toml"));
        if let Some(name) = control {
            command.arg("--control").arg(self.path(&format!("{name}.sock")));
        }
        let output = wait::output(&mut command);
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
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

/// A verification promised that nobody else leads for some seconds: until then a hand-over is not
/// done, and says so, or waits.
#[test]
fn a_transfer_says_how_long_a_promise_holds_it_up_or_waits() {
    for wait in [false, true] {
        let mut stage = Stage::new();
        for node in ["a", "b", "c"] {
            stage.node(node, &["--new"]);
        }
        // A minute while it is only said; some seconds while it is waited for.
        let promise = ["--verify-max", if wait { "3s" } else { "60s" }, "--lease-max", "120s"];
        stage.candidate("one", "one", &promise);
        stage.says("one", "one leads e");
        stage.says("one", "CMD runs");
        stage.candidate("two", "two", &promise);
        stage.says("two", "behind one, which leads");
        let (code, said) = stage.tenure(&["verify"], None);
        assert!(code == Some(0) && said.starts_with("verified one"), "{code:?} {said}");
        if !wait {
            let (code, said) = stage.tenure(&["transfer", "--to", "two"], Some("one"));
            let end = "s, as a verification promised\n";
            let begin = "one hands over to two (e) in ";
            assert!(said.starts_with(begin) && said.ends_with(end), "{said}");
            assert_eq!(code, Some(0));
            let (code, said) = stage.tenure(&["leader"], None);
            assert!(code != Some(0) || !said.contains("two"), "nobody else leads yet: {said}");
            continue;
        }
        let (code, said) = stage.tenure(&["transfer", "--to", "two", "--wait", "50s"], Some("one"));
        assert_eq!((code, &*said), (Some(0), "one handed over to two (e)\n"));
        stage.says("two", "two leads e");
    }
}

/// A full disk of its own for one node, in a mount namespace.
struct FullDisk {
    file: PathBuf,
}

impl FullDisk {
    fn fill(&self) {
        let mut file = File::create(&self.file).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn clear(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}

/// Starts node a with its state on a small file system. `None` where that is not allowed.
fn node_on_a_small_disk(stage: &mut Stage) -> Option<FullDisk> {
    let state = stage.path("state");
    fs::create_dir(&state).unwrap();
    let place = state.to_str().unwrap().to_owned();
    let mount = format!("mount -t tmpfs -o size=192k,mode=700 tenure {place} && exec \"$@\"");
    let flags = if rustix::process::geteuid().is_root() { "-m" } else { "-Urm" };
    let around = ["unshare", flags, "sh", "-c", &mount, "sh"];
    let probe = format!("mount -t tmpfs tenure {place}");
    let probe = Command::new("unshare").args([flags, "sh", "-c", &probe]).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("not run: no file system can be mounted in a namespace of its own");
        return None;
    }
    stage.silent.retain(|(silent, _)| *silent != "a");
    stage.start_in(&around, "a", &["node", "--name", "a", "--state", &place], &["--new"]);
    stage.says("a", " on 127.0.0.1:");
    let node = stage.processes.last().unwrap().id();
    Some(FullDisk { file: PathBuf::from(format!("/proc/{node}/root{place}/fill")) })
}

/// Where another grantor is down, the one with the full disk is needed for a quorum. What has no
/// room is told as it is: nobody leads, and nothing may be restarted. What has room goes on.
#[test]
fn a_full_disk_is_told_and_costs_what_needs_room() {
    let mut stage = Stage::new();
    let settings = fs::read_to_string(stage.path("tenure.toml")).unwrap();
    fs::write(stage.path("tenure.toml"), settings.replace("60s", "10s")).unwrap();
    let Some(disk) = node_on_a_small_disk(&mut stage) else { return };
    stage.node("b", &["--new"]);
    disk.fill();
    stage.candidate("one", "one", &[]);
    stage.says("a", "warning: ");
    for _ in 0..10 {
        let (code, said) = stage.tenure(&["leader"], None);
        assert!(code != Some(0), "nobody has won: {said}");
    }
    let (code, said) = stage.tenure(&["node", "wait-safe", "--name", "b", "--wait", "1s"], None);
    assert!(said.contains("a is unable to write its state directory"), "{said}");
    assert_eq!(code, Some(4));
    let status = stage.status("a");
    assert_eq!(status["done"]["service"], "failing", "{status}");
    disk.clear();
    stage.says("one", "one leads e");
    let leader = || stage.tenure(&["leader"], None);
    assert_eq!(leader().0, Some(0));
    assert_eq!(stage.status("a")["done"]["service"], "serving");

    // Its record is there: renewals replace it.
    disk.fill();
    let remaining = || stage.status("one")["done"]["remaining_ms"].as_u64();
    let mut before = remaining();
    for _ in 0..3 {
        wait::eventually("a renewal", || {
            let now = remaining();
            let renewed = now > before;
            before = now;
            renewed.then_some(())
        });
    }
    assert_eq!(stage.log("one").matches("one leads e").count(), 1, "{}", stage.log("one"));
    assert_eq!(stage.status("a")["done"]["service"], "serving");
}
