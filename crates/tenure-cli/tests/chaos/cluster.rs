//! Real processes of the command `tenure`: three nodes, and runners with a worker as CMD.

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

use crate::host::Host;
use crate::journal::Journal;
use crate::judge::{Judge, Leadership, Violation};
use crate::marked::{MARK, Marked, is_stopped};
use crate::network::Network;
use crate::wait::{PATIENCE, ended, eventually, output};
use crate::worker::{self, Manner};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");
pub(crate) const ELECTION: &str = "chaos";
pub(crate) const CLUSTER: &str = "chaos";

/// The timing of all processes. The longest lease is the lease, so that a node that lost its
/// memory is back soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) lease: Duration,
    pub(crate) grace: Duration,
    pub(crate) kill_margin: Duration,
}

pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(20);
pub(crate) const REFRESH: Duration = Duration::from_millis(100);

/// What a node remembers when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// The very first start.
    New,
    /// What is in its state directory; if that is lost, nothing.
    State,
    /// Nothing, and it does not know that: no node may be run so.
    Forgetful,
}

pub(crate) struct Cluster<N> {
    pub(crate) network: N,
    pub(crate) timing: Timing,
    /// Set while this lives.
    folder: Option<TempDir>,
    processes: BTreeMap<Host, Child>,
    journal: Journal,
}

impl<N: Network> Cluster<N> {
    /// Starts the nodes.
    pub(crate) fn start(network: N, timing: Timing, memory: Memory) -> Self {
        let folder = tempfile::Builder::new().prefix("tenure-chaos-").tempdir().unwrap();
        let journal = Journal::create(folder.path().join("journal"));
        let processes = BTreeMap::new();
        let mut cluster = Self { network, timing, folder: Some(folder), processes, journal };
        Host::nodes().for_each(|node| cluster.start_node(node, memory));
        Host::nodes().for_each(|node| cluster.await_serving(node));
        cluster
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    pub(crate) fn state(&self, node: Host) -> PathBuf {
        self.folder().join(format!("state-{node}"))
    }

    fn control(&self, host: Host) -> PathBuf {
        self.folder().join(format!("{host}.sock"))
    }

    /// `tenure` at the place of `host`, so that nobody's environment gets in.
    pub(crate) fn tenure(&self, host: Host, words: &[&str]) -> Command {
        let mut command = self.network.command(host, TENURE);
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TENURE_") {
                command.env_remove(name);
            }
        }
        command.env("XDG_RUNTIME_DIR", self.folder()).env(MARK, self.folder());
        command.args(words).stdin(Stdio::null());
        command
    }

    /// What every process that takes part is told.
    fn participant(&self, host: Host, words: &[&str]) -> Command {
        let mut command = self.tenure(host, words);
        let millis = |span: Duration| format!("{}ms", span.as_millis());
        let Timing { lease, grace, kill_margin } = self.timing;
        for (flag, value) in [
            ("--members", self.network.members()),
            ("--listen", self.network.listen(host).to_string()),
            ("--cluster", CLUSTER.to_owned()),
            ("--lease", millis(lease)),
            ("--lease-max", millis(lease)),
            ("--grace", millis(grace)),
            ("--kill-margin", millis(kill_margin)),
            ("--round-trip", millis(ROUND_TRIP)),
            ("--refresh", millis(REFRESH)),
            ("--log", "debug".to_owned()),
        ] {
            command.arg(flag).arg(value);
        }
        if !self.network.listen(host).ip().is_loopback() {
            command.arg("--insecure-any-address");
        }
        command.arg("--control").arg(self.control(host));
        command
    }

    pub(crate) fn start_node(&mut self, node: Host, memory: Memory) {
        let mut command = self.participant(node, &["node", "--name", node.name()]);
        let state = self.state(node);
        match memory {
            Memory::New => command.arg("--new").arg("--state").arg(state),
            Memory::State => command.arg("--state").arg(state),
            Memory::Forgetful => command.args(["--memory", "--new"]),
        };
        self.spawn(node, command);
    }

    pub(crate) fn start_runner(&mut self, runner: Host, manner: Manner) {
        let words = ["run", "--election", ELECTION, "--id", runner.name()];
        let mut command = self.participant(runner, &words);
        let worker = env::current_exe().unwrap();
        command
            .arg("--")
            .arg(worker)
            .args([worker::ROLE.as_ref(), self.journal.path().as_os_str()]);
        command.arg(manner.word());
        self.spawn(runner, command);
    }

    fn spawn(&mut self, host: Host, mut command: Command) {
        let path = self.folder().join(format!("{host}.log"));
        let log = File::options().append(true).create(true).open(path).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let before = self.processes.insert(host, command.spawn().unwrap());
        assert!(before.is_none(), "{host} runs already");
    }

    pub(crate) fn runs(&self, host: Host) -> bool {
        self.processes.contains_key(&host)
    }

    fn process(&mut self, host: Host) -> &mut Child {
        self.processes.get_mut(&host).unwrap_or_else(|| panic!("{host} does not run"))
    }

    /// To the process that was started for `host`. It is not reaped, so its number is its own.
    pub(crate) fn signal(&mut self, host: Host, signal: Signal) {
        kill_process(Pid::from_child(self.process(host)), signal).unwrap();
    }

    /// Stops it, and waits until it stands still.
    pub(crate) fn freeze(&mut self, host: Host) {
        let pid = Pid::from_child(self.process(host)).as_raw_pid();
        self.signal(host, Signal::STOP);
        eventually("a process stands still", || is_stopped(pid).then_some(()));
    }

    /// As by `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self, host: Host) {
        self.process(host).kill().unwrap();
        self.ended(host);
    }

    /// Waits until the process ends.
    pub(crate) fn ended(&mut self, host: Host) -> ExitStatus {
        let status = ended(&format!("{host} ends"), self.process(host));
        self.processes.remove(&host);
        status
    }

    /// Those that have ended by themselves.
    pub(crate) fn departed(&mut self) -> Vec<(Host, ExitStatus)> {
        let status = |(host, child): (&Host, &mut Child)| Some((*host, child.try_wait().unwrap()?));
        let departed: Vec<_> = self.processes.iter_mut().filter_map(status).collect();
        departed.iter().for_each(|(host, _)| drop(self.processes.remove(host)));
        departed
    }

    /// What the node says of itself; null while it does not answer.
    pub(crate) fn status(&self, node: Host) -> serde_json::Value {
        let mut status = self.tenure(node, &["node", "status", "--json", "--name", node.name()]);
        status.args(["--cluster", CLUSTER, "--control"]).arg(self.control(node));
        serde_json::from_slice(&output(&mut status).stdout).unwrap_or_default()
    }

    /// Waits until the node grants.
    #[track_caller]
    pub(crate) fn await_serving(&self, node: Host) {
        eventually(&format!("node {node} serves"), || {
            (self.status(node)["service"] == "serving").then_some(())
        });
    }

    /// Tells the runner something, and gives the code of the one who told it.
    pub(crate) fn tell(&mut self, runner: Host, words: &[&str]) -> Option<i32> {
        let control = self.control(runner);
        let mut command = self.tenure(runner, words);
        command.args(["--election", ELECTION, "--cluster", CLUSTER, "--control"]).arg(control);
        let told = output(&mut command);
        let log = File::options().append(true).create(true).open(self.folder().join("tell.log"));
        log.unwrap().write_all(&[told.stdout, told.stderr].concat()).unwrap();
        told.status.code()
    }

    /// Judges all that was written since the last time.
    pub(crate) fn verdict(&mut self) -> Result<&Judge, Violation> {
        self.journal.read_on()
    }

    /// The same, if nothing is wrong.
    #[track_caller]
    pub(crate) fn judged(&mut self) -> &Judge {
        self.verdict().unwrap_or_else(|violation| panic!("{violation}"))
    }

    /// Waits until a leader with a fence above `fence` works, after `since`.
    #[track_caller]
    pub(crate) fn await_leader(&mut self, fence: Fence, since: Time) -> Leadership {
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

    /// Waits until somebody leads.
    #[track_caller]
    pub(crate) fn await_any(&mut self) -> Leadership {
        self.await_leader(Fence::NONE, clock::now())
    }

    /// The first process of CMD, and its guard.
    pub(crate) fn work_of(&self, leader: &Leadership) -> Option<(Marked, Marked)> {
        let command = Marked::find(leader.pid, self.folder())?;
        let guard = Marked::find(command.parent(), self.folder())?;
        guard.arguments().iter().any(|word| word == "__guard").then_some((command, guard))
    }

    /// All processes of all CMDs.
    pub(crate) fn workers(&self) -> Vec<Marked> {
        let mut all = Marked::all(self.folder());
        all.retain(|process| process.arguments().get(1).is_some_and(|word| word == worker::ROLE));
        all
    }

    /// That no process has panicked, as far as its log says.
    #[track_caller]
    pub(crate) fn expect_no_panics(&mut self) {
        for host in Host::all() {
            let path = self.folder().join(format!("{host}.log"));
            let Ok(log) = fs::read_to_string(&path) else { continue };
            let panic = log.lines().find(|line| line.contains("panicked at"));
            assert!(panic.is_none(), "{host}: {}", panic.unwrap_or_default());
        }
    }
}

impl<N> Drop for Cluster<N> {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        // First by their handles: in the middle of `execve` a process shows no environment, and
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
            println!("journal, logs and state are kept in {}", folder.keep().display());
        }
    }
}
