//! The processes of the demo: three nodes, two candidates, and the command that resigns.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitStatus, kill_process};
use tenure::{Time, clock};

use super::children::Children;
use super::roles::{self, MYSELF, WORKER};
use super::workdir::{CANDIDATES, GRANTORS, WorkDir};
use crate::exit::Exit;
use crate::failure::{Failure, clipped};

/// The pause before the demo restarts a process that ended by itself.
const RESTART: Duration = Duration::from_secs(1);
/// The longest wait for processes to end: once after SIGTERM, in addition to a candidate's grace,
/// and once more after SIGKILL.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Grantor,
    Candidate,
}

struct Process {
    name: &'static str,
    role: Role,
    pid: Option<Pid>,
    /// Whether the script has killed the process. The script then starts the process again.
    killed: bool,
    /// Time of the next start, after the process ended by itself.
    restart_at: Option<Time>,
}

/// A process that ended by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Departure {
    pub(super) name: &'static str,
    /// Description of the end.
    pub(super) how: String,
    /// Whether the demo starts the process again; after an error it does not.
    pub(super) returns: bool,
}

/// All processes. Dropping this kills them, and waits until they are gone.
pub(super) struct Processes {
    all: Vec<Process>,
    messenger: Option<Pid>,
    children: Children,
    grace: Duration,
}

impl Processes {
    pub(super) fn start(workdir: &WorkDir, grace: Duration) -> Result<Self, Failure> {
        let children = Children::adopt().map_err(|error| system("looking for children", error))?;
        let mut processes = Self { all: Vec::new(), messenger: None, children, grace };
        let all = GRANTORS.map(|name| (name, Role::Grantor)).into_iter();
        for (name, role) in all.chain(CANDIDATES.map(|name| (name, Role::Candidate))) {
            let pid = spawn(workdir, name, process(workdir, name, role, true))?;
            let pid = Some(pid);
            processes.all.push(Process { name, role, pid, killed: false, restart_at: None });
        }
        Ok(processes)
    }

    /// Makes the leader `name` resign, by `tenure resign`.
    pub(super) fn resign(&mut self, workdir: &WorkDir, name: &str) -> Result<(), Failure> {
        let mut args = words(&["resign", "--config"], &workdir.settings());
        args.extend(words(&["--control"], &workdir.control(name)));
        self.messenger = Some(spawn(workdir, "resign", args)?);
        Ok(())
    }

    /// Kills a candidate's `tenure run`, which stays dead until [`mend`](Self::mend).
    pub(super) fn kill(&mut self, name: &str) {
        if let Some(process) = self.process(name) {
            process.killed = true;
            signal(process.pid, Signal::KILL);
        }
    }

    /// Stops a candidate's `tenure run` by SIGSTOP.
    pub(super) fn stop(&mut self, name: &str) {
        if let Some(process) = self.process(name) {
            signal(process.pid, Signal::STOP);
        }
    }

    /// Continues a stopped candidate, or starts a killed candidate again.
    pub(super) fn mend(&mut self, workdir: &WorkDir, name: &str) -> Result<(), Failure> {
        let Some(process) = self.process(name) else { return Ok(()) };
        signal(process.pid, Signal::CONT);
        if process.pid.is_none() {
            let args = self::process(workdir, process.name, process.role, false);
            process.pid = Some(spawn(workdir, process.name, args)?);
        }
        (process.killed, process.restart_at) = (false, None);
        Ok(())
    }

    /// Restarts the processes whose pause is over at `now`.
    pub(super) fn restart(&mut self, workdir: &WorkDir, now: Time) -> Result<(), Failure> {
        let due = |process: &Process| process.restart_at.is_some_and(|at| at <= now);
        let due: Vec<_> = self.all.iter().filter(|p| due(p)).map(|p| p.name).collect();
        due.into_iter().try_for_each(|name| self.mend(workdir, name))
    }

    /// Reaps ended processes, and returns the processes that ended by themselves.
    pub(super) fn reap(&mut self, workdir: &WorkDir) -> Vec<Departure> {
        let mut departed = Vec::new();
        while let Some((pid, status)) = self.children.reap() {
            if self.messenger == Some(pid) {
                self.messenger = None;
                if status.exit_status() != Some(0) {
                    let how = how(workdir, "resign", status);
                    departed.push(Departure { name: "tenure resign", how, returns: false });
                }
                continue;
            }
            let all = &mut self.all;
            // A process that is not in the list is a part of CMD: a candidate left it behind, and
            // the guard has ended it.
            let Some(process) = all.iter_mut().find(|p| p.pid == Some(pid)) else { continue };
            process.pid = None;
            if process.killed {
                continue;
            }
            // If a signal ended CMD, `tenure run` ends with 128 plus the number of the signal.
            let returns = status.signaled() || status.exit_status().is_some_and(|code| code > 128);
            process.restart_at = Some(clock::now().after(RESTART));
            let how = how(workdir, process.name, status);
            departed.push(Departure { name: process.name, how, returns });
        }
        departed
    }

    fn process(&mut self, name: &str) -> Option<&mut Process> {
        self.all.iter_mut().find(|process| process.name == name)
    }

    /// Asks all processes to end, candidates first, and waits until none is left. Returns the
    /// processes that did not end when asked.
    pub(super) async fn end(&mut self) -> Vec<String> {
        let mut unwilling = Vec::new();
        self.tell(|_| true, Signal::CONT);
        for role in [Role::Candidate, Role::Grantor] {
            let theirs = |process: &Process| process.role == role && process.pid.is_some();
            let gone = |processes: &Self| !processes.all.iter().any(theirs);
            self.tell(theirs, Signal::TERM);
            if !self.wait(self.grace + PATIENCE, gone).await {
                let names = self.all.iter().filter(|process| theirs(process));
                unwilling.extend(names.map(|process| process.name.to_owned()));
                self.tell(theirs, Signal::KILL);
                self.wait(PATIENCE, gone).await;
            }
        }
        signal(self.messenger, Signal::TERM);
        if !self.wait(self.grace + PATIENCE, Self::is_alone).await {
            unwilling.extend(self.children.names());
        }
        unwilling
    }

    /// Reaps processes until `holds` is true, or `patience` is over. Returns whether `holds` is
    /// true.
    async fn wait(&mut self, patience: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let limit = clock::now().after(patience);
        loop {
            self.collect();
            if holds(self) {
                return true;
            }
            if clock::now() >= limit {
                return false;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn tell(&self, whom: impl Fn(&Process) -> bool, what: Signal) {
        self.all.iter().filter(|p| whom(p)).for_each(|process| signal(process.pid, what));
    }

    fn collect(&mut self) {
        while let Some((pid, _)) = self.children.reap() {
            for process in self.all.iter_mut().filter(|p| p.pid == Some(pid)) {
                process.pid = None;
            }
            self.messenger = self.messenger.filter(|messenger| *messenger != pid);
        }
    }

    /// Whether all processes of the demo, and all their orphans, have ended.
    fn is_alone(&self) -> bool {
        self.children.left().is_ok_and(|left| left.is_empty())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.tell(|_| true, Signal::KILL);
        signal(self.messenger, Signal::KILL);
        // The guards see that their candidates are gone, and end the work.
        let limit = clock::now().after(self.grace + PATIENCE);
        self.collect();
        while !self.is_alone() && clock::now() < limit {
            std::thread::sleep(POLL);
            self.collect();
        }
    }
}

fn process(workdir: &WorkDir, name: &str, role: Role, first: bool) -> Vec<OsString> {
    let mut args = match role {
        Role::Grantor => {
            let mut args = words(&["node", "--name", name, "--state"], &workdir.state(name));
            args.extend(first.then(|| "--new".into()));
            args
        }
        Role::Candidate => words(&["run", "--id", name], Path::new("--value=demo")),
    };
    args.extend(words(&["--config"], &workdir.settings()));
    args.extend(words(&["--control"], &workdir.control(name)));
    if role == Role::Candidate {
        args.extend(words(&["--", MYSELF, WORKER], &workdir.work()));
    }
    args
}

fn words(words: &[&str], last: &Path) -> Vec<OsString> {
    words.iter().map(OsString::from).chain([last.into()]).collect()
}

/// Starts `tenure args`, which logs into the file of `name`.
fn spawn(workdir: &WorkDir, name: &str, args: Vec<OsString>) -> Result<Pid, Failure> {
    let log = OpenOptions::new().create(true).append(true).open(workdir.log(name));
    let child = log.and_then(|log| {
        let mut command = roles::tenure(args);
        command.stdout(log.try_clone()?).stderr(log).spawn()
    });
    // `collect` and `reap` wait for this process.
    child.map(|child| Pid::from_child(&child)).map_err(|error| system("starting a process", error))
}

/// Sends a signal. The caller has not reaped the process yet, so no other process has the number.
fn signal(pid: Option<Pid>, signal: Signal) {
    // The process may have ended already.
    let _ = pid.map(|pid| kill_process(pid, signal));
}

/// Describes the end of a process, with the last error in its log.
fn how(workdir: &WorkDir, name: &str, status: WaitStatus) -> String {
    let log = fs::read(workdir.log(name)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let errors = log.lines().rfind(|line| line.starts_with("error: "));
    let said = errors.map_or_else(String::new, |line| format!(" ({})", clipped(line)));
    match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("signal {signal}"),
        (_, Some(code)) => format!("exit code {code}{said}"),
        (None, None) => "no known end".to_owned(),
    }
}

fn system(doing: &str, error: impl Into<io::Error>) -> Failure {
    let what = format!("{doing} failed: {}", error.into());
    Failure::new(Exit::System, what, "check the limits of this process (ulimit -a), and /proc")
}
