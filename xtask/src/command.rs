//! A command that can be run, and printed so that it can be pasted into a shell.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::workspace::Workspace;

/// How variables begin that a command has only if it sets them.
const LEFT_OUT: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "PROPTEST_", "TESTS_"];

/// One command with its variables, run in the root of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    variables: Vec<(&'static str, String)>,
    program: String,
    arguments: Vec<String>,
}

impl Cmd {
    /// `cargo` with `arguments`, which are separated by spaces.
    pub(crate) fn cargo(arguments: &str) -> Self {
        Self::new("cargo", arguments)
    }

    /// `program` with `arguments`, which are separated by spaces.
    pub(crate) fn new(program: impl Into<String>, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { variables: Vec::new(), program: program.into(), arguments }
    }

    /// One more argument, which may hold spaces.
    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments, which are separated by spaces.
    pub(crate) fn args(self, arguments: &str) -> Self {
        arguments.split_whitespace().fold(self, Self::arg)
    }

    /// Sets a variable for this command.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Runs it with its output passed through.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<(), Error> {
        let ended = self.command(workspace).status();
        let status = ended.map_err(|source| Error::Spawn { command: self.to_string(), source })?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed { command: self.to_string(), status })
    }

    /// Runs it in silence: its standard output, or nothing if it did not succeed or does not
    /// exist.
    pub(crate) fn ask(&self, workspace: &Workspace) -> Option<String> {
        let output = self.command(workspace).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn command(&self, workspace: &Workspace) -> Command {
        let mut command = self.prepared(self.executable());
        command.args(&self.arguments).current_dir(&workspace.root);
        command
    }

    /// Some program with the variables of this command.
    pub(crate) fn prepared(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // Not what Cargo has said of this package. Build scripts that ask for it (ring's) would run
        // anew here and after each run by hand, and all that needs them would be compiled again.
        // And nothing that changes what tests do: a commit has one verdict, whoever asks for it.
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let left_out = |name: &String| LEFT_OUT.iter().any(|begin| name.starts_with(begin));
        for name in names.filter(left_out) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Cargo says in a variable which cargo it is: the same one is used for everything.
    fn executable(&self) -> OsString {
        let same = (self.program == "cargo").then(|| env::var_os("CARGO")).flatten();
        same.unwrap_or_else(|| OsString::from(&self.program))
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_as_a_shell_reads_it() {
        let command = Cmd::cargo("test --release").env("RUSTFLAGS", "--cfg x").arg("it's");
        assert_eq!(command.to_string(), r"RUSTFLAGS='--cfg x' cargo test --release 'it'\''s'");
    }

    /// `.cargo/config.toml` sets it where this runs, and would again below; whoever calls could.
    #[test]
    fn what_changes_tests_is_not_taken_from_the_caller() {
        let sets = |command: Cmd| {
            let prepared = command.prepared("true");
            let seeds = prepared.get_envs().filter(|(name, _)| *name == "PROPTEST_RNG_SEED");
            seeds.map(|(_, value)| value.map(OsStr::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(sets(Cmd::cargo("test")), [None::<OsString>]);
        let own = Cmd::cargo("test").env("PROPTEST_RNG_SEED", "7");
        assert_eq!(sets(own), [Some(OsString::from("7"))]);
    }
}
