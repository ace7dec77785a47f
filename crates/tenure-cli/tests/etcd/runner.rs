//! Real processes of the command.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure_services::etcd::Cluster;

use crate::wait;
pub(crate) use crate::wait::eventually as soon;

/// A machine with a user whose processes take part in elections on one etcd.
pub(crate) struct Host {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A command that goes on. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    log: PathBuf,
}

impl Host {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let endpoints = cluster.endpoints().join(",");
        let host = Self { dir: tempfile::tempdir().unwrap(), variables: Vec::new() };
        host.with("TENURE_PROTOCOL", "etcd").with("TENURE_ENDPOINTS", &endpoints)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_RUNTIME_DIR", self.dir.path())
            .envs(variables)
            .stdin(Stdio::null());
        command
    }

    /// The control socket of the only runner.
    pub(crate) fn socket(&self) -> String {
        let entries = fs::read_dir(self.dir.path().join("tenure")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
        paths.into_iter().find(|path| path.ends_with(".sock")).unwrap()
    }

    /// Runs a command to its end.
    pub(crate) fn ask(&self, words: &[&str]) -> Answer {
        let output = wait::output(&mut self.command(words));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        Answer { code: output.status.code(), out, err }
    }

    /// Starts a command; both outputs go to one log.
    pub(crate) fn start(&self, name: &str, words: &[&str]) -> Running {
        let log = self.dir.path().join(format!("{name}.log"));
        let file = File::create(&log).unwrap();
        let mut command = self.command(words);
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Running { child, log }
    }

    /// Starts a candidate of the election `billing`.
    pub(crate) fn run(&self, id: &str, flags: &[&str], cmd: &str) -> Running {
        let own = ["run", "--election", "billing", "--id", id, "--value", id];
        self.start(id, &[&own, flags, &["--", "sh", "-c", cmd]].concat())
    }
}

impl Running {
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until the log has `times` lines with this text, and returns the last of them.
    pub(crate) fn line(&self, text: &str, times: usize) -> String {
        soon(text, || {
            let log = self.log();
            log.lines().filter(|line| line.contains(text)).nth(times - 1).map(str::to_owned)
        })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The exit code, once it has ended by itself.
    pub(crate) fn ended(mut self) -> Option<i32> {
        wait::ended("it has ended", &mut self.child).code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended by itself cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
