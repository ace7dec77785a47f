//! The processes of the demo and the directory they live in.

use std::fs::{self, File};
use std::io;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure::nerio::{Checked, Config, Member};

use super::worker::WORKER;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::demo::DemoSettings;

/// The names of the grantors.
pub(super) const NODES: [&str; 3] = ["a", "b", "c"];
/// The names of the candidates.
pub(super) const RUNNERS: [&str; 2] = ["one", "two"];
/// The election.
pub(super) const ELECTION: &str = "demo";

/// A process that is killed and reaped when nobody holds it any more.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; then there is only something to reap.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Everything that runs.
pub(super) struct Stage {
    directory: Option<TempDir>,
    path: PathBuf,
    settings: Vec<String>,
    pub(super) config: Checked,
    nodes: Vec<Process>,
    runners: Vec<Option<Process>>,
}

fn refused(doing: &str) -> impl Fn(io::Error) -> Failure {
    let doing = doing.to_owned();
    move |error| {
        let what = format!("{doing}: {error}");
        Failure::new(
            Exit::System,
            what,
            "free some room, or set TMPDIR to where this user may write",
        )
    }
}

impl Stage {
    /// Starts three grantors and two candidates.
    pub(super) fn start(settings: &DemoSettings) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new().prefix("tenure-demo-").tempdir();
        let directory = directory.map_err(refused("the demo's directory cannot be made"))?;
        let path = directory.path().to_owned();
        File::create(path.join("lines")).map_err(refused("a file cannot be made"))?;
        let config = config(settings)?;
        let mut stage = Self {
            directory: Some(directory),
            settings: common(settings, &config),
            path,
            config,
            nodes: Vec::new(),
            runners: Vec::new(),
        };
        for name in NODES {
            let node = stage.node(name)?;
            stage.nodes.push(node);
        }
        for name in RUNNERS {
            let runner = stage.runner(name)?;
            stage.runners.push(Some(runner));
        }
        Ok(stage)
    }

    /// The file that all workers write to.
    pub(super) fn lines(&self) -> PathBuf {
        self.path.join("lines")
    }

    /// Where everything is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The control socket of a candidate.
    pub(super) fn control(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.sock"))
    }

    /// Sends a signal to the `tenure run` of this candidate, and to nothing else.
    pub(super) fn signal(&self, name: &str, signal: Signal) {
        let at = RUNNERS.iter().position(|runner| *runner == name);
        let process = at.and_then(|at| self.runners.get(at)?.as_ref());
        let pid = process.and_then(|process| i32::try_from(process.0.id()).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It is not reaped before it is dropped, so the number is still its own.
            let _ = kill_process(pid, signal);
        }
    }

    /// Reaps the candidate and starts it anew, as a service manager would.
    pub(super) fn restart(&mut self, name: &str) -> Result<(), Failure> {
        let Some(at) = RUNNERS.iter().position(|runner| *runner == name) else { return Ok(()) };
        self.runners[at] = None;
        self.runners[at] = Some(self.runner(name)?);
        Ok(())
    }

    /// Whether a process that should run has ended by itself.
    pub(super) fn fallen(&mut self) -> Option<String> {
        let ended = |process: &mut Process| matches!(process.0.try_wait(), Ok(Some(_)));
        let node = self.nodes.iter_mut().position(ended).map(|at| format!("node {}", NODES[at]));
        let mut runners = self.runners.iter_mut();
        let runner = runners.position(|runner| runner.as_mut().is_some_and(ended));
        node.or_else(|| runner.map(|at| format!("candidate {}", RUNNERS[at])))
    }

    /// Ends the candidates, which end their workers, and then everything else.
    pub(super) fn end(mut self, keep: bool) -> Option<PathBuf> {
        for name in RUNNERS {
            self.signal(name, Signal::CONT);
            self.signal(name, Signal::TERM);
        }
        for runner in self.runners.iter_mut().flatten() {
            // Bounded: a runner ends its CMD within the grace.
            let _ = runner.0.wait();
        }
        self.runners.clear();
        self.nodes.clear();
        let directory = self.directory.take()?;
        keep.then(|| directory.keep())
    }

    fn node(&self, name: &str) -> Result<Process, Failure> {
        let state = self.path.join(name);
        let state = state.to_string_lossy();
        self.spawn(name, &["node", "--name", name, "--state", &state, "--new"], &[])
    }

    fn runner(&self, name: &str) -> Result<Process, Failure> {
        let lines = self.lines();
        let lines = lines.to_string_lossy();
        let run = ["run", "--election", ELECTION, "--id", name];
        self.spawn(name, &run, &["--", "/proc/self/exe", WORKER, &lines])
    }

    /// This very binary again, knowing nothing of any real cluster.
    fn spawn(&self, name: &str, first: &[&str], last: &[&str]) -> Result<Process, Failure> {
        let log = self.path.join(format!("{name}.log"));
        let open = || fs::OpenOptions::new().create(true).append(true).open(&log);
        let log = open().map_err(refused("a log cannot be opened"))?;
        let errors = log.try_clone().map_err(refused("a log cannot be opened"))?;
        let mut command = Command::new("/proc/self/exe");
        command.args(first).args(&self.settings);
        command.arg("--control").arg(self.control(name)).args(last);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("TENURE_") {
                command.env_remove(variable);
            }
        }
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        command.spawn().map(Process).map_err(refused("a process cannot be started"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A stopped runner would never be told by its guard that it may go.
        for name in RUNNERS {
            self.signal(name, Signal::CONT);
        }
    }
}

fn config(settings: &DemoSettings) -> Result<Checked, Failure> {
    let taken = || -> io::Result<Vec<Member>> {
        // Held together, so that they differ.
        let sockets: Vec<UdpSocket> =
            NODES.iter().map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
        let pairs = NODES.iter().zip(&sockets);
        pairs
            .map(|(name, socket)| {
                let name = name.parse().map_err(io::Error::other)?;
                Ok(Member { name, address: socket.local_addr()? })
            })
            .collect()
    };
    let members = taken().map_err(refused("no ports on loopback"))?;
    let bug = |error: String| Failure::new(Exit::Bug, error, "report it");
    let cluster = "tenure-demo".parse().map_err(|error| bug(format!("{error}")))?;
    let mut config = Config::new(cluster, members).with_lease(settings.lease);
    config.grace = settings.grace;
    config.check().map_err(|error| bug(error.to_string()))
}

/// What every process of the demo is told.
fn common(settings: &DemoSettings, config: &Checked) -> Vec<String> {
    let members: Vec<_> =
        config.members.iter().map(|m| format!("{}={}", m.name, m.address)).collect();
    let span = |span: std::time::Duration| format!("{}ms", span.as_millis());
    vec![
        "--cluster".to_owned(),
        config.cluster.to_string(),
        "--members".to_owned(),
        members.join(","),
        "--lease".to_owned(),
        span(settings.lease),
        "--grace".to_owned(),
        span(settings.grace),
    ]
}
