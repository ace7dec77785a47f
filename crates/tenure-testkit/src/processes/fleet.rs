//! Real processes of the command `tenure`: runners with a worker as CMD, and the nodes and
//! observers of a deployment.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::clock;
use tenure_core::{Fence, Time};

use super::machine::print_logs_of_a_failure;
use super::marked::{MARK, is_stopped};
use super::{
    Deployment, Host, Journal, Judge, Leadership, Manner, Marked, PATIENCE, ROLE, Violation, ended,
    eventually, output,
};

/// The election in which all runners campaign.
pub const ELECTION: &str = "chaos";

/// A deployment with all its processes and one journal. Dropping the fleet ends all processes.
pub struct Fleet<D> {
    pub deployment: D,
    tenure: &'static str,
    /// The folder of the fleet; `None` only during the drop.
    folder: Option<TempDir>,
    /// Processes by the names of their logs.
    processes: BTreeMap<&'static str, Child>,
    journal: Journal,
}

impl<D: Deployment> Fleet<D> {
    /// Starts the nodes. `tenure` is the command, `env!("CARGO_BIN_EXE_tenure")`.
    pub fn start(tenure: &'static str, deployment: D) -> Self {
        let folder = tempfile::Builder::new().prefix("tenure-chaos-").tempdir().unwrap();
        let judge = match D::OVERLAP {
            None => Judge::default(),
            Some(_) => Judge::of_leaders_that_may_overlap(),
        };
        let journal = Journal::judged_by(judge, folder.path().join("journal"));
        let folder = Some(folder);
        let processes = BTreeMap::new();
        let mut fleet = Self { deployment, tenure, folder, processes, journal };
        D::start(&mut fleet);
        D::await_ready(&fleet);
        fleet
    }

    /// The folder of logs and sockets, whose path marks all processes.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// The control socket of a process.
    pub(crate) fn control(&self, host: Host) -> PathBuf {
        self.folder().join(format!("{host}.sock"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.log"))
    }

    /// Output of a process so far.
    pub fn said(&self, name: impl Into<&'static str>) -> String {
        fs::read_to_string(self.log(name.into())).unwrap()
    }

    /// `tenure` on `host`, without the `TENURE_` variables of this process.
    pub fn tenure(&self, host: Host, words: &[&str]) -> Command {
        let mut command = match self.deployment.network() {
            Some(network) => network.command(host, self.tenure),
            None => Command::new(self.tenure),
        };
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TENURE_") {
                command.env_remove(name);
            }
        }
        command.env("XDG_RUNTIME_DIR", self.folder()).env(MARK, self.folder());
        command.env("TENURE_ELECTION", ELECTION).envs(self.deployment.environment());
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Starts `tenure run` with a worker as CMD.
    pub fn start_runner(&mut self, runner: Host, manner: Manner) {
        let mut command = self.tenure(runner, &["run", "--id", runner.name(), "--log", "debug"]);
        command.args(self.deployment.flags());
        self.deployment.participate(runner, &mut command);
        command.arg("--control").arg(self.control(runner));
        command.arg("--").arg(env::current_exe().unwrap()).arg(ROLE);
        command.arg(self.journal.path()).arg(manner.word());
        self.spawn(runner, command);
    }

    /// Starts a process, and appends its output to its log.
    pub(crate) fn spawn(&mut self, name: impl Into<&'static str>, mut command: Command) {
        let name = name.into();
        let log = File::options().append(true).create(true).open(self.log(name)).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let before = self.processes.insert(name, command.spawn().unwrap());
        assert!(before.is_none(), "{name} runs already");
    }

    /// Whether the process was started and its end not yet collected.
    pub fn runs(&self, name: impl Into<&'static str>) -> bool {
        self.processes.contains_key(name.into())
    }

    fn process(&mut self, name: &'static str) -> &mut Child {
        self.processes.get_mut(name).unwrap_or_else(|| panic!("{name} does not run"))
    }

    /// Signals the process that was started under this name. The process has not been reaped, so
    /// its pid belongs to no other process.
    pub fn signal(&mut self, name: impl Into<&'static str>, signal: Signal) {
        kill_process(Pid::from_child(self.process(name.into())), signal).unwrap();
    }

    /// Stops a process by SIGSTOP, and waits until it stands still.
    pub fn freeze(&mut self, name: impl Into<&'static str>) {
        let name = name.into();
        let pid = Pid::from_child(self.process(name)).as_raw_pid();
        self.signal(name, Signal::STOP);
        eventually("a process stands still", || is_stopped(pid).then_some(()));
    }

    /// Kills a process, as by `kill -9`, and waits for its end.
    pub fn kill(&mut self, name: impl Into<&'static str>) {
        let name = name.into();
        self.process(name).kill().unwrap();
        self.ended(name);
    }

    /// Waits until the process ends.
    pub fn ended(&mut self, name: impl Into<&'static str>) -> ExitStatus {
        let name = name.into();
        let status = ended(&format!("{name} ends"), self.process(name));
        self.processes.remove(name);
        status
    }

    /// Collects the processes that have ended by themselves.
    pub fn departed(&mut self) -> Vec<(&'static str, ExitStatus)> {
        let status =
            |(name, child): (&&'static str, &mut Child)| Some((*name, child.try_wait().unwrap()?));
        let departed: Vec<_> = self.processes.iter_mut().filter_map(status).collect();
        departed.iter().for_each(|(name, _)| drop(self.processes.remove(name)));
        departed
    }

    /// Runs a command at the control socket of a runner, and returns its exit code.
    pub fn tell(&mut self, runner: Host, words: &[&str]) -> Option<i32> {
        let control = self.control(runner);
        let mut command = self.tenure(runner, words);
        command.arg("--control").arg(control);
        let told = output(&mut command);
        let log = File::options().append(true).create(true).open(self.folder().join("tell.log"));
        log.unwrap().write_all(&[told.stdout, told.stderr].concat()).unwrap();
        told.status.code()
    }

    /// Reads the lines that were written after the last call, and returns the judge or its
    /// violation.
    pub fn verdict(&mut self) -> Result<&Judge, Violation> {
        self.journal.read_on()
    }

    /// Reads on as [`verdict`](Self::verdict) does, and panics at a violation.
    #[track_caller]
    pub fn judged(&mut self) -> &Judge {
        self.verdict().unwrap_or_else(|violation| panic!("{violation}"))
    }

    /// Waits until a leader with a fence above `fence` works, after `since`.
    #[track_caller]
    pub fn await_leader(&mut self, fence: Fence, since: Time) -> Leadership {
        let give_up = clock::now().after(PATIENCE);
        loop {
            let leader = self.judged().current();
            if let Some(leader) =
                leader.filter(|l| l.fence > fence && l.ticks > 0 && l.last > since)
            {
                return leader.clone();
            }
            let leader = leader.map_or("nobody".to_owned(), Leadership::to_string);
            assert!(
                clock::now() < give_up,
                "no leader with a fence above {fence} in {PATIENCE:?}; the last was {leader}"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for any leader.
    #[track_caller]
    pub fn await_any(&mut self) -> Leadership {
        self.await_leader(Fence::NONE, clock::now())
    }

    /// The first process of CMD, and its guard.
    pub fn work_of(&self, leader: &Leadership) -> Option<(Marked, Marked)> {
        let command = Marked::find(leader.pid, self.folder())?;
        let guard = Marked::find(command.parent(), self.folder())?;
        guard.arguments().iter().any(|word| word == "__guard").then_some((command, guard))
    }

    /// Checks that no log has a panic.
    #[track_caller]
    pub fn expect_no_panics(&self) {
        for host in Host::all() {
            let Ok(log) = fs::read_to_string(self.log(host.name())) else { continue };
            let panic = log.lines().find(|line| line.contains("panicked at"));
            assert!(panic.is_none(), "{host}: {}", panic.unwrap_or_default());
        }
    }
}

impl<D> Drop for Fleet<D> {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        // Kill by the handles first: a process in the middle of `execve` shows no environment, and
        // so no mark.
        for child in self.processes.values_mut() {
            child.kill().ok();
        }
        let give_up = clock::now().after(PATIENCE);
        loop {
            let alive = Marked::all(folder.path());
            for child in self.processes.values_mut() {
                child.try_wait().ok();
            }
            if alive.is_empty() || clock::now() > give_up {
                break;
            }
            alive.iter().for_each(|process| process.signal(Signal::KILL));
            thread::sleep(Duration::from_millis(1));
        }
        if thread::panicking() {
            print_logs_of_a_failure(folder.path());
            println!("journal, logs and state are kept in {}", folder.keep().display());
        }
    }
}
