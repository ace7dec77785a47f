//! `tenure demo`, as people and programs start it.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Generous: the machine may be busy.
const PATIENCE: u32 = 1_500;
const POLL: Duration = Duration::from_millis(20);

/// A folder for one demo's directory, by which its processes are known.
struct Stage(TempDir);

impl Stage {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("t").tempdir().unwrap())
    }

    fn demo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.arg("demo").args(args).env("TMPDIR", self.0.path()).env_remove("TENURE_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.demo(args).output().unwrap()
    }

    /// The command lines of all processes that have to do with this stage.
    fn processes(&self) -> Vec<String> {
        let stage = self.0.path().to_str().unwrap();
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        numbers
            .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(stage))
            .collect()
    }

    fn is_clean(&self) -> bool {
        self.processes().is_empty() && fs::read_dir(self.0.path()).unwrap().next().is_none()
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Waits for the line that contains `part`, and returns it.
fn line_with(out: &mut impl BufRead, part: &str) -> String {
    for line in out.lines() {
        let line = line.unwrap();
        if line.contains(part) {
            return line;
        }
    }
    panic!("the demo ended before it said {part:?}");
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the end, and returns what the demo said on standard error.
fn ended(demo: Child, code: i32) -> String {
    let output = demo.wait_with_output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{err}");
    err.to_owned()
}

/// Somebody writes who was overtaken long ago.
fn eve_writes(opened: &Value) {
    let work = Path::new(opened["directory"].as_str().unwrap()).join("work");
    let mut work = fs::OpenOptions::new().append(true).open(work).unwrap();
    work.write_all(format!("1 0 eve 1 {}\n", u64::MAX).as_bytes()).unwrap();
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..PATIENCE {
        if holds() {
            return;
        }
        thread::sleep(POLL);
    }
    panic!("never: {what}");
}

#[test]
fn ends_by_itself_with_a_summary_and_nothing_left() {
    let stage = Stage::new();
    let output = stage.run(&["--for", "12s"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    for said in
        ["leads with the fence", "tenure resign: ", "lines of work", "\nresign  ", "right: "]
    {
        assert!(out.contains(said), "{said:?} in\n{out}");
    }
    assert!(!out.contains('\x1b'), "{out}");
    assert_eq!(err, "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn tells_programs_of_every_failover() {
    let stage = Stage::new();
    let output = stage.run(&["--for", "12s", "--json", "--keep"]);
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(0), "{lines:#?}");
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!((&first["event"], &last["event"]), (&"opened".into(), &"summary".into()));
    assert_eq!(last["ok"], true);

    let failovers: Vec<_> = lines.iter().filter(|line| line["event"] == "failover").collect();
    assert_eq!(failovers[0]["fault"], "resign");
    let mut fence = 0;
    for failover in &failovers {
        assert_ne!(failover["from"], failover["to"], "{failover}");
        assert!(failover["fence"].as_u64().unwrap() > fence);
        fence = failover["fence"].as_u64().unwrap();
        if ["kill", "stop"].iter().any(|fault| failover["fault"] == *fault) {
            let (took, idle) = (&failover["took_ms"], &failover["idle_ms"]);
            assert!(took.as_f64().unwrap() > 0.0 && idle.as_f64().unwrap() > 0.0, "{failover}");
        }
    }

    // The directory was kept, and the file in it says the same.
    let kept = Path::new(last["kept"].as_str().unwrap());
    assert_eq!(kept, Path::new(first["directory"].as_str().unwrap()));
    let work = fs::read_to_string(kept.join("work")).unwrap();
    let mut fences: Vec<u64> =
        work.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(fences.len() as u64, last["lines"].as_u64().unwrap());
    assert!(fences.is_sorted());
    fences.dedup();
    assert_eq!(fences.len() as u64, last["leaderships"].as_u64().unwrap());
    assert_eq!(stage.processes(), [""; 0]);
}

#[test]
fn gives_the_same_summary_when_interrupted() {
    let stage = Stage::new();
    let mut demo = stage.demo(&[]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    line_with(&mut out, "leads with the fence");
    send(&demo, Signal::INT);
    line_with(&mut out, " of work");
    line_with(&mut out, "right: ");
    assert_eq!(ended(demo, 0), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn its_processes_do_not_outlive_it() {
    let stage = Stage::new();
    let mut demo = stage.demo(&[]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    line_with(&mut out, "leads with the fence");
    // Three nodes, two candidates, a guard and a worker.
    assert_eq!(stage.processes().len(), 7, "{:#?}", stage.processes());
    send(&demo, Signal::KILL);
    demo.wait().unwrap();
    eventually("all processes are gone", || stage.processes().is_empty());
}

#[test]
fn ends_when_its_reader_leaves() {
    let stage = Stage::new();
    let mut demo = stage.demo(&[]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    line_with(&mut out, "leads with the fence");
    drop(out);
    assert_eq!(ended(demo, 0), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

/// Nobody reads the summary, so what was wrong is told elsewhere.
#[test]
fn says_what_was_wrong_when_its_reader_has_left() {
    let stage = Stage::new();
    let mut demo = stage.demo(&["--json"]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    let opened: Value = serde_json::from_str(&line_with(&mut out, "opened")).unwrap();
    line_with(&mut out, "leads");
    send(&demo, Signal::STOP);
    drop(out);
    eve_writes(&opened);
    send(&demo, Signal::CONT);
    let err = ended(demo, 1);
    assert!(err.starts_with("error: the demo went wrong: line "), "{err}");
    assert!(err.contains(": eve with the fence 0 wrote after somebody with the newer"), "{err}");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

/// Nobody's child here. Dropping it kills it.
struct Stranger(Pid);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// As in `tenure demo > >(cat)`: what a shell has started before it becomes the demo.
#[test]
fn does_not_wait_for_children_of_others() {
    let stage = Stage::new();
    let script = "sleep 600 </dev/null >/dev/null 2>&1 & echo $!; exec \"$0\" demo";
    let mut demo = Command::new("sh");
    demo.args(["-c", script, env!("CARGO_BIN_EXE_tenure")]).env("TMPDIR", stage.0.path());
    demo.env_remove("TENURE_LOG").stdin(Stdio::null()).stdout(Stdio::piped());
    let mut demo = demo.stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    let stranger = Stranger(Pid::from_raw(line_with(&mut out, "").parse().unwrap()).unwrap());
    line_with(&mut out, "leads with the fence");
    send(&demo, Signal::INT);
    line_with(&mut out, "right: ");
    assert_eq!(ended(demo, 0), "");
    test_kill_process(stranger.0).unwrap();
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn copes_with_others_who_kill_its_processes() {
    let stage = Stage::new();
    let mut demo = stage.demo(&["--json"]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    let led: Value = serde_json::from_str(&line_with(&mut out, "leads")).unwrap();
    let worker = i32::try_from(led["pid"].as_u64().unwrap()).unwrap();
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    let departed: Value = serde_json::from_str(&line_with(&mut out, "departed")).unwrap();
    assert_eq!(departed["name"], led["id"]);
    assert_eq!(departed["returns"], true);
    line_with(&mut out, "failover");
    send(&demo, Signal::TERM);
    let summary: Value = serde_json::from_str(&line_with(&mut out, "summary")).unwrap();
    assert_eq!(summary["ok"], true, "{summary}");
    assert_eq!(ended(demo, 0), "");
}

/// The judge does not look away.
#[test]
fn a_leader_out_of_turn_is_found_out() {
    let stage = Stage::new();
    let mut demo = stage.demo(&["--json"]).spawn().unwrap();
    let mut out = BufReader::new(demo.stdout.take().unwrap());
    let opened: Value = serde_json::from_str(&line_with(&mut out, "opened")).unwrap();
    line_with(&mut out, "leads");
    eve_writes(&opened);
    let summary: Value = serde_json::from_str(&line_with(&mut out, "summary")).unwrap();
    assert_eq!(summary["ok"], false);
    let wrong = summary["wrong"][0].as_str().unwrap();
    assert!(
        wrong.contains(": eve with the fence 0 wrote after somebody with the newer"),
        "{wrong}"
    );
    assert_eq!(ended(demo, 1), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn says_where_it_cannot_be_played() {
    let stage = Stage::new();
    let nowhere = stage.0.path().join("nowhere");
    let output = stage.demo(&["--for", "5s"]).env("TMPDIR", &nowhere).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    let err = text(&output.stderr);
    let begin = format!("error: the demo's directory cannot be made in {}: ", nowhere.display());
    assert!(err.starts_with(&begin), "{err}");
    assert!(err.ends_with("\nfix: set TMPDIR to a directory where this user may write\n"), "{err}");

    let deep = stage.0.path().join("d".repeat(90));
    fs::create_dir(&deep).unwrap();
    let output = stage.demo(&["--for", "5s"]).env("TMPDIR", &deep).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    assert!(text(&output.stderr).ends_with("\nfix: set TMPDIR to a shorter path\n"));
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
}
