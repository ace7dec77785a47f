//! Errors of supervising a command.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::frame::Why;

/// The reason why a command was not started, or why its guard did not carry out an order. After a
/// failed start nothing is left running, except as [`Stuck`](Self::Stuck) says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuperviseError {
    #[error("{}: command not found; looked {}", .command.display(), .searched)]
    NotFound { command: OsString, searched: String },
    #[error("{}: not executable: {reason}", .path.display())]
    NotExecutable { path: PathBuf, reason: &'static str },
    #[error("{}: cannot be executed: {source}", .path.display())]
    Exec { path: PathBuf, source: io::Error },
    #[error(
        "the grace of {grace:?} is shorter than the kill margin of {kill_margin:?}: SIGTERM would \
         come after SIGKILL; set the grace to the kill margin or more"
    )]
    Plan {
        /// Time between SIGTERM and the end of the lease.
        grace: Duration,
        /// Time between SIGKILL and the end of the lease.
        kill_margin: Duration,
    },
    #[error(
        "not started: with {remaining:?} of the lease left and a grace of {grace:?}, SIGTERM would \
         come at once; lengthen the lease or shorten the grace"
    )]
    TooLate { remaining: Duration, grace: Duration },
    #[error("the command was not started: a request to stop came first")]
    Stopped,
    #[error(
        "{}: cannot write the file that tells the command its deadline: {source}", .path.display()
    )]
    UntilFile { path: PathBuf, source: io::Error },
    /// `execve` had not returned when the command had to end, by a stop or by the end of the lease
    /// under which it was started. The command's code has not run.
    #[error(
        "{}: the command did not start: execve had not returned after {waited:.1?}, when {why}; \
         check that the file system of this path still answers", .path.display()
    )]
    Hung { path: PathBuf, waited: Duration, why: Why },
    /// A killed process that had not become the command still exists at the end of the lease: it is
    /// in uninterruptible sleep. When that sleep ends the process ends, and never runs the command.
    #[error(
        "{}: not started in {waited:.1?}, and its killed process has not ended yet; check that \
         the file system of this path still answers", .path.display()
    )]
    Stuck { path: PathBuf, waited: Duration },
    #[error("the command was not started: {doing} failed: {source}")]
    Setup { doing: String, source: io::Error },
    /// The guard ended, or did nothing until the lease was nearly over, before it reported that the
    /// command runs. Nothing is left running.
    #[error("the guard process was lost before it reported that the command runs")]
    GuardLost,
    /// The deadline cannot be written for the guard to read. The guard keeps the earlier deadline,
    /// so the command ends early rather than late.
    #[error("the guard process keeps the old deadline: the new deadline cannot be written: {0}")]
    Deadline(io::Error),
    /// The guard has ended; [`Supervised::wait`](crate::Supervised::wait) returns the end of the
    /// command.
    #[error("the guard process has ended")]
    GuardGone,
}

impl SuperviseError {
    /// The exit code of `tenure run`, by the convention of shells and `env`: 127 for a command that
    /// does not exist, 126 for one that cannot be executed, else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Exec { .. } | Self::NotExecutable { .. } => 126,
            Self::Hung { .. } | Self::Stuck { .. } => 126,
            _ => 1,
        }
    }

    /// The command's file at `path` has no interpreter, for the reason `why`.
    pub(crate) fn no_interpreter(path: PathBuf, why: String) -> Self {
        Self::Exec { path, source: io::Error::new(io::ErrorKind::NotFound, why) }
    }

    pub(crate) fn setup(doing: &str, source: impl Into<io::Error>) -> Self {
        Self::Setup { doing: doing.to_owned(), source: source.into() }
    }
}
