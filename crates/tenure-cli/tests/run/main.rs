//! A grantor and its candidates: a `tenure run` that must end while it gives up its leadership, and
//! messages to a service manager.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod reader;
mod service_manager;
mod signals;

use std::fs::{self, File, Permissions};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_testkit::processes::{Cluster, Hanging, HangingLibrary, RunningCommand, wait};

use service_manager::Manager;

const POLL: Duration = Duration::from_millis(20);

/// The candidates' CMD notes its start and its SIGTERM, and ends when a file lets it go.
const CMD: &str = r#"
    trap 'echo asked >"$0/$TENURE_ID.asked"' TERM
    echo runs >"$0/$TENURE_ID.runs"
    while [ ! -e "$0/$TENURE_ID.asked" ] || [ ! -e "$0/go" ]; do sleep 0.02; done
"#;

/// A grantor and its candidates. Dropping this kills them; their guards end the CMDs.
struct Stage(Cluster);

impl Deref for Stage {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0
    }
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self::without_node("60s", "20s");
        stage.node();
        stage
    }

    fn without_node(lease: &str, grace: &str) -> Self {
        let settings =
            format!("cluster = \"t\"\nelection = \"e\"\nlease = \"{lease}\"\ngrace = \"{grace}\"");
        Self(Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["n"], &settings))
    }

    fn node(&mut self) {
        self.0.node("n", &["--new"]);
        self.says("n", "granting leases");
    }

    /// The folder of this stage, as CMD gets it.
    fn directory(&self) -> String {
        self.path("").to_str().unwrap().to_owned()
    }

    fn tenure(&self, name: &str, words: &[&str]) -> Command {
        self.tenure_under(&[], name, words)
    }

    /// A command that starts `starter`, which then becomes `tenure`.
    fn tenure_under(&self, starter: &[&str], name: &str, words: &[&str]) -> Command {
        // The parent of the tests may ignore signals, as `nohup` and `&` in a script do.
        self.command_of(&[&["env", "--default-signal"], starter].concat(), name, words)
    }

    /// A candidate whose CMD hangs at `execve`.
    fn hanging(&mut self, name: &str, hanging: &Hanging) {
        let command = hanging.command().into_string().unwrap();
        self.0.candidate(name, &[], &[&command]);
    }

    fn candidate(&mut self, name: &str) {
        let command = self.candidate_command(name);
        self.spawn(name, command);
    }

    fn candidate_command(&self, name: &str) -> Command {
        let directory = self.directory();
        self.tenure(name, &["run", "--id", name, "--", "sh", "-c", CMD, &directory])
    }

    fn has(&self, file: &str) {
        eventually(file, || self.path(file).exists());
    }

    /// Sends SIGTERM to a process under `manager`, and lets all CMDs end once the process has
    /// handled the signal.
    fn end(&mut self, name: &str, manager: &mut Manager) -> ExitStatus {
        self.asked_to_end(name);
        manager.hears("STOPPING=1");
        File::create(self.path("go")).unwrap();
        self.ended(name)
    }

    fn asked_to_end(&self, name: &str) {
        self[name].signal(Signal::TERM);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Let waiting CMDs end now: without this file they would end only after their grace.
        let _ = File::create(self.path("go"));
        self.kill_all();
        let directory = self.directory().into_bytes();
        let runs = || {
            let numbers = fs::read_dir("/proc").unwrap().flatten();
            let mut lines = numbers.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines.any(|line| line.windows(directory.len()).any(|part| part == directory))
        };
        let give_up = clock::now().after(wait::PATIENCE);
        while runs() && clock::now() < give_up {
            thread::sleep(POLL);
        }
        assert!(thread::panicking() || !runs(), "a process was left behind");
    }
}

/// Waits until a launcher is at `execve`, after it took over standard input. A launcher that stops
/// earlier is not reported as hung.
fn at_execve(hanging: &Hanging) {
    let command = hanging.command().into_string().unwrap();
    eventually("CMD is at execve", || {
        let mut processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes.any(|process| {
            let line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
            let stdin = fs::read_link(process.join("fd/0"));
            line.contains("__launch")
                && line.contains(&command)
                && stdin.is_ok_and(|stdin| stdin == Path::new("/dev/null"))
        })
    });
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    wait::eventually(what, || holds().then_some(()));
}

#[test]
fn a_resigning_runner_ends_on_request() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    let command = stage.candidate_command("ann");
    stage.managed("ann", &manager, command);
    stage.has("ann.runs");
    let resign = stage.machine.spawn("resign", stage.tenure("ann", &["resign"]));
    stage.has("ann.asked");
    let status = stage.end("ann", &mut manager);
    assert_eq!(status.code(), Some(128 + 15), "{}", stage.log("ann"));
    // The client that asked for the resignation still gets its answer.
    assert_eq!(resign.ended(), Some(0), "{}", stage.log("resign"));
    assert_eq!(stage.log("ann").matches("ann leads e").count(), 1, "{}", stage.log("ann"));
}

#[test]
fn a_transferring_runner_ends_on_request() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    let command = stage.candidate_command("ann");
    stage.managed("ann", &manager, command);
    stage.has("ann.runs");
    stage.candidate("ben");
    // A transfer is refused until the runner has heard of `ben`.
    let mut transfer = None;
    eventually("the transfer begins", || {
        if transfer.as_mut().is_none_or(RunningCommand::has_ended) {
            let command = stage.tenure("ann", &["transfer", "--to", "ben"]);
            transfer = Some(stage.machine.spawn("transfer", command));
        }
        stage.path("ann.asked").exists()
    });
    let status = stage.end("ann", &mut manager);
    assert_eq!(status.code(), Some(128 + 15), "{}", stage.log("ann"));
    assert_eq!(transfer.unwrap().ended(), Some(0), "{}", stage.log("transfer"));
    stage.has("ben.runs");
    assert_eq!(stage.log("ann").matches("ann leads e").count(), 1, "{}", stage.log("ann"));
}

/// CMD hangs at `execve`. A runner that waited for CMD would end only with its lease of 60 s.
#[test]
fn hanging_execve_blocks_no_signal() {
    let hanging = Hanging::script();
    let mut stage = Stage::new();
    stage.hanging("ann", &hanging);
    at_execve(&hanging);
    assert_eq!(stage.tell("ann", &["resign"]).out, "ann resigned (e)\n");
    // The runner campaigns again, wins, and starts CMD once more.
    stage.says_times("ann", "ann leads e", 2);
    at_execve(&hanging);
    stage.asked_to_end("ann");
    let status = stage.ended("ann");
    let log = stage.log("ann");
    assert_eq!(status.code(), Some(128 + 15), "{log}");
    assert_eq!(log.matches("tenure: CMD was stopped before it ran: ").count(), 2, "{log}");
    assert_eq!(log.matches("execve had not returned").count(), 2, "{log}");
    assert!(!log.contains("CMD runs"), "{log}");
}

/// A deployment replaced CMD while the runner waited.
#[test]
fn changed_script_is_told_its_fault() {
    let mut stage = Stage::without_node("60s", "20s");
    let script = stage.path("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    stage.0.candidate("ann", &[], &[script.to_str().unwrap()]);
    stage.says("ann", "ann campaigns for e");
    fs::write(&script, "#!/bin/sh\r\n").unwrap();
    stage.node();
    let (status, log) = (stage.ended("ann"), stage.log("ann"));
    assert_eq!(status.code(), Some(127), "{log}");
    assert!(log.contains("its lines end with CR LF"), "{log}");
    assert!(log.contains("fix: mend the file of CMD, or give another CMD"), "{log}");
}

/// A guard that starts slowly is a sign of a busy machine: the runner gives up its lease, and goes
/// on.
#[test]
fn idle_guard_costs_only_its_lease() {
    let library = HangingLibrary::missing();
    let mut stage = Stage::without_node("2s", "500ms");
    let mut runner = stage.candidate_command("ann");
    runner.env("LD_PRELOAD", library.path());
    stage.spawn("ann", runner);
    stage.says("ann", "ann campaigns for e");
    // The runner has started without the library, and no guard has started yet.
    library.make();
    stage.node();
    stage.says("ann", "CMD was not started: the lease was almost over");
    stage.says_times("ann", "ann leads e", 2);
    stage.asked_to_end("ann");
    assert_eq!(stage.ended("ann").code(), Some(128 + 15), "{}", stage.log("ann"));
    assert!(!stage.path("ann.runs").exists());
}
