//! `tenure demo`, as people and programs start it.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tenure::clock;

use tenure_testkit::processes::wait::{self, PATIENCE, eventually, output};

/// A lease that is longer than any pause of a busy machine, so that no leader loses it by a pause.
const LEASE: &str = "12s";

/// A folder for one demo's directory, which identifies its processes.
struct Stage(TempDir);

impl Stage {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix("t").tempdir().unwrap())
    }

    fn demo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["demo", "--lease", LEASE]).args(args).env("TMPDIR", self.0.path());
        command.env_remove("TENURE_LOG").stdin(Stdio::null());
        command
    }

    /// Starts a demo, and returns its output.
    fn start(&self, args: &[&str]) -> (Child, PipeOutput<ChildStdout>) {
        started(&mut self.demo(args))
    }

    fn run(&self, args: &[&str]) -> Output {
        output(&mut self.demo(args))
    }

    /// The command lines of all processes of this stage.
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

fn started(demo: &mut Command) -> (Child, PipeOutput<ChildStdout>) {
    let mut demo = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = PipeOutput::through(demo.stdout.take().unwrap());
    (demo, out)
}

/// The output of a pipe, with a bound on each silence.
struct PipeOutput<P> {
    pipe: P,
    /// The lines that were taken.
    taken: String,
    /// The bytes after the last taken line.
    rest: Vec<u8>,
}

impl<P: Read + AsFd> PipeOutput<P> {
    fn through(pipe: P) -> Self {
        Self { pipe, taken: String::new(), rest: Vec::new() }
    }

    /// Reads more output, waiting if needed; `false` at the end.
    fn more(&mut self) -> bool {
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let ready = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&patience)).unwrap();
        assert!(ready > 0, "in {PATIENCE:?} neither a word nor an end came");
        let mut bytes = [0; 4096];
        let length = self.pipe.read(&mut bytes).unwrap();
        self.rest.extend(&bytes[..length]);
        length > 0
    }

    /// Waits for the line that contains `part`, and returns it.
    fn line_with(&mut self, part: &str) -> String {
        let give_up = clock::now().after(PATIENCE);
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                self.taken += text(&line);
                let line = text(&line).trim_end();
                if line.contains(part) {
                    return line.to_owned();
                }
            }
            assert!(self.more(), "the demo ended before it said {part:?}\n{}", self.taken);
            let in_time = clock::now() < give_up;
            assert!(in_time, "in {PATIENCE:?} the demo did not say {part:?}\n{}", self.taken);
        }
    }

    /// Waits for this JSON event of a demo.
    fn event(&mut self, event: &str) -> Value {
        let line = self.line_with(&format!("\"event\":\"{event}\""));
        serde_json::from_str(&line).unwrap()
    }

    /// The rest of the output.
    fn all(mut self) -> String {
        while self.more() {}
        text(&self.rest).to_owned()
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the end, and returns the demo's standard error.
fn ended(mut demo: Child, code: i32) -> String {
    let status = wait::ended("the demo ends", &mut demo);
    let err = PipeOutput::through(demo.stderr.take().unwrap()).all();
    assert_eq!(status.code(), Some(code), "{err}");
    err
}

/// Writes a line of a leader that was superseded long ago.
fn eve_writes(opened: &Value) {
    let work = Path::new(opened["directory"].as_str().unwrap()).join("work");
    let mut work = fs::OpenOptions::new().append(true).open(work).unwrap();
    work.write_all(format!("1 0 eve 1 {}\n", u64::MAX).as_bytes()).unwrap();
}

#[test]
fn demo_ends_with_a_summary() {
    let stage = Stage::new();
    let output = stage.run(&["--for", "3s"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    // On a machine that stands still, no candidate may lead within this short time. The summary
    // then has only this complaint.
    let nobody = out.contains("\n0 leaderships in ");
    let (code, said) = if nobody { (1, "WRONG: no candidate led within ") } else { (0, "right: ") };
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    for said in ["lines of work", "no failover was measured", said] {
        assert!(out.contains(said), "{said:?} in\n{out}");
    }
    assert!(!out.contains('\x1b'), "{out}");
    assert_eq!(err, "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn demo_sums_up_its_faults() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&[]);
    out.line_with("tenure resign: ");
    out.line_with("leads with the fence");
    send(&demo, Signal::TERM);
    out.line_with(" of work");
    out.line_with("resign  ");
    out.line_with("right: ");
    assert_eq!(ended(demo, 0), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn demo_reports_failovers_in_json() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&["--json", "--keep"]);
    let mut lines: Vec<Value> = Vec::new();
    let mut more = |event: &str, fault: &Value| {
        loop {
            lines.push(serde_json::from_str(&out.line_with("")).unwrap());
            let line = lines.last().unwrap();
            if line["event"] == event && line["fault"] == *fault {
                return;
            }
        }
    };
    more("failover", &"kill".into());
    send(&demo, Signal::TERM);
    more("summary", &Value::Null);
    assert_eq!(ended(demo, 0), "");
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!(first["event"], "opened");
    assert_eq!(last["ok"], true);

    let failovers: Vec<_> = lines.iter().filter(|line| line["event"] == "failover").collect();
    // On a machine that stands still a leader may also lose its lease.
    let struck = failovers.iter().find(|failover| !failover["fault"].is_null()).unwrap();
    assert_eq!(struck["fault"], "resign");
    let mut fence = 0;
    for failover in &failovers {
        assert!(failover["fence"].as_u64().unwrap() > fence);
        fence = failover["fence"].as_u64().unwrap();
        if failover["fault"] == "kill" {
            assert_ne!(failover["from"], failover["to"], "{failover}");
            let (took, idle) = (&failover["took_ms"], &failover["idle_ms"]);
            assert!(took.as_f64().unwrap() > 0.0 && idle.as_f64().unwrap() > 0.0, "{failover}");
        }
    }

    // The kept directory has the same file.
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
fn demo_leaves_no_process() {
    let stage = Stage::new();
    let (mut demo, mut out) = stage.start(&[]);
    out.line_with("leads with the fence");
    // Three nodes, two candidates, a guard and a worker. During `execve` a process has no command
    // line.
    eventually("all play", || (stage.processes().len() == 7).then_some(()));
    send(&demo, Signal::KILL);
    wait::ended("the demo ends", &mut demo);
    eventually("all processes are gone", || stage.processes().is_empty().then_some(()));
}

#[test]
fn demo_ends_with_its_reader() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&[]);
    out.line_with("leads with the fence");
    drop(out);
    assert_eq!(ended(demo, 0), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

/// The summary has no reader, so the fault goes to standard error.
#[test]
fn demo_reports_faults_without_reader() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&["--json"]);
    let opened = out.event("opened");
    out.event("leads");
    send(&demo, Signal::STOP);
    drop(out);
    eve_writes(&opened);
    send(&demo, Signal::CONT);
    let err = ended(demo, 1);
    assert!(err.starts_with("error: the demo went wrong: line "), "{err}");
    assert!(err.contains(": eve with the fence 0 wrote after the leader with the newer"), "{err}");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

/// A process that is no child of this one. Dropping it kills it.
struct Stranger(Pid);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

/// A shell starts a child and then becomes the demo, as in `tenure demo > >(cat)`.
#[test]
fn demo_ignores_inherited_children() {
    let stage = Stage::new();
    let script = "sleep 600 </dev/null >/dev/null 2>&1 & echo $!; exec \"$0\" demo --lease \"$1\"";
    let mut demo = Command::new("sh");
    demo.args(["-c", script, env!("CARGO_BIN_EXE_tenure"), LEASE]).env("TMPDIR", stage.0.path());
    demo.env_remove("TENURE_LOG").stdin(Stdio::null());
    let (demo, mut out) = started(&mut demo);
    let stranger = Stranger(Pid::from_raw(out.line_with("").parse().unwrap()).unwrap());
    out.line_with("leads with the fence");
    send(&demo, Signal::TERM);
    out.line_with("right: ");
    assert_eq!(ended(demo, 0), "");
    test_kill_process(stranger.0).unwrap();
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn demo_survives_kills_by_others() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&["--json"]);
    let led = out.event("leads");
    let worker = i32::try_from(led["pid"].as_u64().unwrap()).unwrap();
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    let departed = out.event("departed");
    assert_eq!(departed["name"], led["id"]);
    assert_eq!(departed["returns"], true);
    out.event("failover");
    send(&demo, Signal::TERM);
    let summary = out.event("summary");
    assert_eq!(summary["ok"], true, "{summary}");
    assert_eq!(ended(demo, 0), "");
}

/// The judge finds the overlap.
#[test]
fn demo_detects_overlapping_leaders() {
    let stage = Stage::new();
    let (demo, mut out) = stage.start(&["--json"]);
    let opened = out.event("opened");
    out.event("leads");
    eve_writes(&opened);
    let summary = out.event("summary");
    assert_eq!(summary["ok"], false);
    let wrong = summary["wrong"][0].as_str().unwrap();
    assert!(
        wrong.contains(": eve with the fence 0 wrote after the leader with the newer"),
        "{wrong}"
    );
    assert_eq!(ended(demo, 1), "");
    assert!(stage.is_clean(), "{:?}", stage.processes());
}

#[test]
fn demo_names_an_unusable_directory() {
    let stage = Stage::new();
    let nowhere = stage.0.path().join("nowhere");
    let refused = output(stage.demo(&["--for", "5s"]).env("TMPDIR", &nowhere));
    assert_eq!(refused.status.code(), Some(74));
    let err = text(&refused.stderr);
    let begin = format!("error: the demo's directory cannot be made in {}: ", nowhere.display());
    assert!(err.starts_with(&begin), "{err}");
    assert!(err.ends_with("\nfix: set TMPDIR to a directory where this user may write\n"), "{err}");

    let deep = stage.0.path().join("d".repeat(90));
    fs::create_dir(&deep).unwrap();
    let refused = output(stage.demo(&["--for", "5s"]).env("TMPDIR", &deep));
    assert_eq!(refused.status.code(), Some(74));
    assert!(text(&refused.stderr).ends_with("\nfix: set TMPDIR to a shorter path\n"));
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
}
