//! A command to run. Its `Display` is a line for a shell.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::workspace::root;

/// Beginnings of variables that a command gets only from [`Cmd::env`], and never from the
/// environment.
const LEFT_OUT: [&str; 5] = ["CARGO_PKG_", "CARGO_MANIFEST_", "PROPTEST_", "TENURE_", "TESTS_"];

/// A command with its variables, run in the root of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    variables: Vec<(String, String)>,
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
        Self { variables: Vec::new(), program: program.into(), arguments: Vec::new() }
            .args(arguments)
    }

    /// Adds an argument, which may hold spaces.
    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments, which are separated by spaces.
    pub(crate) fn args(self, arguments: &str) -> Self {
        arguments.split_whitespace().fold(self, Self::arg)
    }

    /// Sets a variable for this command.
    pub(crate) fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Runs the command with its output passed through.
    pub(crate) fn run(&self) -> Result<(), Error> {
        let ended = self.command().status();
        let status = ended.map_err(|source| Error::Spawn { command: self.to_string(), source })?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed { command: self.to_string(), status })
    }

    /// Runs the command in silence, and returns its standard output; `None` if the command failed
    /// or does not exist.
    pub(crate) fn ask(&self) -> Option<String> {
        let output = self.command().stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn command(&self) -> Command {
        // Cargo sets a variable to its own path, so that all commands use this cargo.
        let same = (self.program == "cargo").then(|| env::var_os("CARGO")).flatten();
        let mut command = Command::new(same.unwrap_or_else(|| OsString::from(&self.program)));
        // Remove the variables that Cargo sets for this package. The build script of ring reads
        // them: with other values, Cargo compiles ring and all its dependents again. Remove the
        // variables that change tests, too: the result of a test must not depend on the caller's
        // shell.
        let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let left_out = |name: &String| LEFT_OUT.iter().any(|begin| name.starts_with(begin));
        for name in names.filter(left_out) {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.args(&self.arguments).current_dir(root());
        command
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

fn quoted(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_print_as_shells_read() {
        let command = Cmd::cargo("test --release").env("RUSTFLAGS", "--cfg x").arg("two words");
        assert_eq!(command.to_string(), "RUSTFLAGS='--cfg x' cargo test --release 'two words'");
    }

    /// `.cargo/config.toml` sets the seed, and the caller's environment may set another seed. A
    /// command inherits neither.
    #[test]
    fn seeds_of_callers_are_ignored() {
        let seed = |command: Cmd| {
            let command = command.command();
            let set = command.get_envs().find(|(name, _)| *name == "PROPTEST_RNG_SEED");
            set.map(|(_, value)| value.map(|value| value.to_os_string()))
        };
        assert_eq!(seed(Cmd::cargo("test")), Some(None));
        let own = Cmd::cargo("test").env("PROPTEST_RNG_SEED", "7");
        assert_eq!(seed(own), Some(Some("7".into())));
    }
}
