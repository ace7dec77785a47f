//! One grantor and its candidates: `tenure run` that is asked to end while it gives its leadership
//! up, and what a service manager is told.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod reader;
mod service_manager;
mod signals;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::clock;
use tenure_testkit::processes::{Hanging, HangingLibrary, Members, print_logs_of_a_failure, wait};

use service_manager::Manager;

const POLL: Duration = Duration::from_millis(20);

/// What the candidates run: it notes that it runs and that it was asked to end, and ends when it
/// is let go.
const CMD: &str = r#"
    trap 'echo asked >"$0/$TENURE_ID.asked"' TERM
    echo runs >"$0/$TENURE_ID.runs"
    while [ ! -e "$0/$TENURE_ID.asked" ] || [ ! -e "$0/go" ]; do sleep 0.02; done
"#;

/// One grantor and its candidates. Dropping it kills them; their guards end what they ran.
struct Stage {
    directory: TempDir,
    processes: Vec<Child>,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self::without_node("60s", "20s");
        stage.node();
        stage
    }

    fn without_node(lease: &str, grace: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let stage = Self { directory, processes: Vec::new() };
        let members = Members::new(["n"]);
        let members = format!("cluster = \"t\"\nelection = \"e\"\nmembers = \"{members}\"\n");
        let times = format!("lease = \"{lease}\"\ngrace = \"{grace}\"\n");
        fs::write(stage.path("tenure.toml"), members + &times).unwrap();
        stage
    }

    fn node(&mut self) {
        let state = self.path("state");
        let args = ["node", "--name", "n", "--new", "--state", state.to_str().unwrap()];
        self.start("n", &args, &[]);
        self.says("n", "granting leases");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn tenure(&self, name: &str, args: &[&str], more: &[&str]) -> Command {
        self.tenure_under(&["env"], name, args, more)
    }

    /// Started by `starter`, which becomes the command.
    fn tenure_under(&self, starter: &[&str], name: &str, args: &[&str], more: &[&str]) -> Command {
        let mut command = Command::new("env");
        // Whoever started the tests may ignore signals, as `nohup` and `&` in a script do.
        command.arg("--default-signal").args(starter).arg(env!("CARGO_BIN_EXE_tenure"));
        command.args(args).arg("--config").arg(self.path("tenure.toml"));
        command.arg("--control").arg(self.path(&format!("{name}.sock"))).args(more);
        let log = File::options().create(true).append(true).open(self.path(&format!("{name}.log")));
        let log = log.unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.env_remove("TENURE_LOG");
        command
    }

    fn start(&mut self, name: &str, args: &[&str], more: &[&str]) -> usize {
        self.spawn(self.tenure(name, args, more))
    }

    fn spawn(&mut self, mut command: Command) -> usize {
        self.processes.push(command.spawn().unwrap());
        self.processes.len() - 1
    }

    /// What a command prints that is given a control socket.
    fn told(&self, name: &str, args: &[&str]) -> String {
        let output = wait::output(&mut self.tenure(name, args, &[]));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A candidate whose CMD hangs at `execve`.
    fn hanging(&mut self, name: &str, hanging: &Hanging) -> usize {
        let command = hanging.command().into_string().unwrap();
        self.start(name, &["run", "--id", name], &["--", &command])
    }

    fn candidate(&mut self, name: &str) -> usize {
        self.spawn(self.candidate_command(name))
    }

    fn candidate_command(&self, name: &str) -> Command {
        let directory = self.directory.path().to_str().unwrap();
        self.tenure(name, &["run", "--id", name], &["--", "sh", "-c", CMD, directory])
    }

    fn has(&self, file: &str) {
        eventually(file, || self.path(file).exists());
    }

    fn says(&self, name: &str, text: &str) {
        self.says_times(name, text, 1);
    }

    fn says_times(&self, name: &str, text: &str, times: usize) {
        let what = format!("{name} says {times} times {text}");
        eventually(&what, || self.log(name).matches(text).count() >= times);
    }

    /// Sends SIGTERM to one under `manager`, and lets all commands end when it has taken that in.
    fn end(&mut self, nth: usize, manager: &mut Manager) -> ExitStatus {
        self.asked_to_end(nth);
        manager.hears("STOPPING=1");
        File::create(self.directory.path().join("go")).unwrap();
        self.ended(nth)
    }

    /// Waits until one ends that was asked to.
    fn ended(&mut self, nth: usize) -> ExitStatus {
        wait::ended("it ends when it is asked to", &mut self.processes[nth])
    }

    /// Sends SIGTERM.
    fn asked_to_end(&self, nth: usize) {
        kill_process(Pid::from_child(&self.processes[nth]), Signal::TERM).unwrap();
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        print_logs_of_a_failure(self.directory.path());
        // Commands that wait for this would end only after their grace.
        let _ = File::create(self.path("go"));
        for child in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
        let runs = || {
            let numbers = fs::read_dir("/proc").unwrap().flatten();
            let lines = numbers.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            let directory = self.directory.path().to_str().unwrap().as_bytes().to_owned();
            lines
                .into_iter()
                .any(|line| line.windows(directory.len()).any(|part| part == directory))
        };
        let give_up = clock::now().after(wait::PATIENCE);
        while runs() && clock::now() < give_up {
            thread::sleep(POLL);
        }
        assert!(thread::panicking() || !runs(), "a process was left behind");
    }
}

/// Waits until a launcher is at `execve`: it has taken over standard input. One that is stopped
/// earlier is not said to have hung.
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
fn ends_when_asked_to_while_it_resigns() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    let ann = stage.managed(&manager, stage.candidate_command("ann"));
    stage.has("ann.runs");
    let mut resign = stage.tenure("ann", &["resign"], &[]).spawn().unwrap();
    stage.has("ann.asked");
    let status = stage.end(ann, &mut manager);
    assert_eq!(status.code(), Some(128 + 15), "{}", stage.log("ann"));
    // Whoever had it resign is told so all the same.
    let told = wait::ended("it is told", &mut resign);
    assert_eq!(told.code(), Some(0), "{}", stage.log("ann"));
    assert_eq!(stage.log("ann").matches("ann leads e").count(), 1, "{}", stage.log("ann"));
}

#[test]
fn ends_when_asked_to_while_it_hands_over() {
    let mut stage = Stage::new();
    let mut manager = Manager::new(&stage);
    let ann = stage.managed(&manager, stage.candidate_command("ann"));
    stage.has("ann.runs");
    stage.candidate("ben");
    // `ben` must have been heard of first.
    let mut transfer = None;
    eventually("the transfer begins", || {
        let left =
            transfer.as_mut().is_none_or(|child: &mut Child| child.try_wait().unwrap().is_some());
        if left {
            let args = ["transfer", "--to", "ben"];
            transfer = Some(stage.tenure("ann", &args, &[]).spawn().unwrap());
        }
        stage.path("ann.asked").exists()
    });
    let status = stage.end(ann, &mut manager);
    assert_eq!(status.code(), Some(128 + 15), "{}", stage.log("ann"));
    let told = wait::ended("it is told", &mut transfer.unwrap());
    assert_eq!(told.code(), Some(0), "{}", stage.log("ann"));
    stage.has("ben.runs");
    assert_eq!(stage.log("ann").matches("ann leads e").count(), 1, "{}", stage.log("ann"));
}

/// The lease has 60 s.
#[test]
fn a_command_whose_execve_hangs_keeps_every_signal_heard() {
    let hanging = Hanging::script();
    let mut stage = Stage::new();
    let ann = stage.hanging("ann", &hanging);
    at_execve(&hanging);
    assert_eq!(stage.told("ann", &["resign"]), "ann resigned (e)\n");
    // It campaigns again, wins, and starts CMD once more.
    stage.says_times("ann", "ann leads e", 2);
    at_execve(&hanging);
    stage.asked_to_end(ann);
    let status = stage.ended(ann);
    let log = stage.log("ann");
    assert_eq!(status.code(), Some(128 + 15), "{log}");
    assert_eq!(log.matches("tenure: CMD ended before it ran: ").count(), 2, "{log}");
    assert_eq!(log.matches("execve has not returned").count(), 2, "{log}");
    assert!(!log.contains("CMD runs"), "{log}");
}

/// A deployment replaced CMD while the runner waited.
#[test]
fn changed_script_is_told_its_fault() {
    let mut stage = Stage::without_node("60s", "20s");
    let script = stage.path("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let args = ["run", "--id", "ann"];
    let ann = stage.start("ann", &args, &["--", script.to_str().unwrap()]);
    stage.says("ann", "ann campaigns for e");
    fs::write(&script, "#!/bin/sh\r\n").unwrap();
    stage.node();
    let (status, log) = (stage.ended(ann), stage.log("ann"));
    assert_eq!(status.code(), Some(127), "{log}");
    assert!(log.contains("its lines end with CR LF"), "{log}");
    assert!(log.contains("fix: mend that file, or give another CMD"), "{log}");
}

/// A slow guard says that the machine is busy, not that its limits are wrong.
#[test]
fn a_guard_that_does_nothing_for_a_short_lease_costs_that_lease() {
    let library = HangingLibrary::missing();
    let mut stage = Stage::without_node("2s", "500ms");
    let mut runner = stage.candidate_command("ann");
    runner.env("LD_PRELOAD", library.path());
    let ann = stage.spawn(runner);
    stage.says("ann", "ann campaigns for e");
    // The runner has started without it; no guard comes so far.
    library.make();
    stage.node();
    stage.says("ann", "the lease was almost over before CMD was started");
    stage.says_times("ann", "ann leads e", 2);
    stage.asked_to_end(ann);
    assert_eq!(stage.ended(ann).code(), Some(128 + 15), "{}", stage.log("ann"));
    assert!(!stage.path("ann.runs").exists());
}
