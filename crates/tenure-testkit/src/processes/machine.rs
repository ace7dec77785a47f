//! A folder and an environment in which tests run commands.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure_services::last_lines;

use super::wait::{ended, eventually, output};

/// A folder in which commands run, and their environment: only variables that the test sets.
pub struct Machine {
    /// The program of commands that start later.
    pub tenure: PathBuf,
    folder: Arc<TempDir>,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A running command. Dropping it kills the command.
#[must_use]
pub struct RunningCommand {
    child: Child,
    log: PathBuf,
    /// Keeps the folder until the command ends, because a running command makes its control socket
    /// again.
    _folder: Arc<TempDir>,
}

impl Answer {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = output(command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Machine {
    /// An empty machine. `tenure` is the command, `env!("CARGO_BIN_EXE_tenure")`.
    pub fn new(tenure: &str) -> Self {
        let folder = tempfile::tempdir().unwrap().into();
        Self { tenure: tenure.into(), folder, variables: Vec::new() }
    }

    /// Adds a variable to the environment of all commands.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tenure` with these arguments.
    pub fn command(&self, words: &[&str]) -> Command {
        self.command_in(&[], words)
    }

    /// As [`command`](Self::command), but as an argument of `around`, which executes the command.
    pub fn command_in(&self, around: &[&str], words: &[&str]) -> Command {
        let tenure = self.tenure.as_os_str();
        let mut line = around.iter().map(OsStr::new).chain([tenure]);
        let mut command = Command::new(line.next().unwrap_or(tenure));
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command
            .args(line)
            .args(words)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .envs(variables)
            .stdin(Stdio::null());
        command
    }

    /// Runs `tenure` with these arguments to its end.
    pub fn ask(&self, words: &[&str]) -> Answer {
        Answer::of(&mut self.command(words))
    }

    /// Starts `tenure` with these arguments; both outputs go to the log of this name.
    pub fn start(&self, name: &str, words: &[&str]) -> RunningCommand {
        self.spawn(name, self.command(words))
    }

    /// Starts a command that the test has built; both outputs go to the log of this name.
    pub fn spawn(&self, name: &str, mut command: Command) -> RunningCommand {
        let log = self.path(&format!("{name}.log"));
        let file = File::create(&log).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        self.run(name, command)
    }

    /// Starts a command whose outputs go elsewhere.
    pub fn run(&self, name: &str, mut command: Command) -> RunningCommand {
        let log = self.path(&format!("{name}.log"));
        RunningCommand { child: command.spawn().unwrap(), log, _folder: self.folder.clone() }
    }

    /// Log of the last process that was started under this name.
    pub fn log(&self, name: &str) -> String {
        let log = fs::read(self.path(&format!("{name}.log"))).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        print_logs_of_a_failure(self.folder.path());
    }
}

/// Prints the last lines of each log in `folder` while a test fails.
pub(super) fn print_logs_of_a_failure(folder: &Path) {
    let entries = thread::panicking().then(|| fs::read_dir(folder));
    let mut files: Vec<_> =
        entries.into_iter().flatten().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort();
    for path in files {
        let log = fs::read(&path).unwrap_or_default();
        let last = last_lines(&String::from_utf8_lossy(&log));
        let name = path.file_name().unwrap_or_default().display();
        eprintln!("--- the last lines of {name}\n{last}");
    }
}

impl RunningCommand {
    /// Output of the process so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until the log has `times` lines with this text, and returns the last of them.
    pub fn line(&self, text: &str, times: usize) -> String {
        eventually(text, || {
            let log = self.log();
            log.lines().filter(|line| line.contains(text)).nth(times - 1).map(str::to_owned)
        })
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until the process ends by itself.
    pub fn status(mut self) -> ExitStatus {
        ended("it has ended", &mut self.child)
    }

    /// Waits as [`status`](Self::status) does, and returns the exit code.
    pub fn ended(self) -> Option<i32> {
        self.status().code()
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // The kill fails if the process has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_outlives_running_commands() {
        let machine = Machine::new("sleep");
        let folder = machine.path("");
        let running = machine.start("sleep", &["1000"]);
        drop(machine);
        assert!(folder.exists());
        drop(running);
        assert!(!folder.exists());
    }
}
