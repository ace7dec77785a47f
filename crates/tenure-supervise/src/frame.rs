//! Frames between supervisor, guard and launcher, one to a packet.

use std::fmt;

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

use crate::last_word::LastWord;

/// A message of the supervisor to its guard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The deadline has changed: read it. The first order comes with the command's standard input
    /// and with the deadline.
    Look,
    /// End the command now, gracefully.
    Stop,
    /// Say this when no process of the command is left. The supervisor sends this order before it
    /// starts the guard.
    LastWord(LastWord),
}

/// A message of a guard to its supervisor. A launcher sends its guard only [`Report::Failed`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started(i32),
    Failed(Failure),
    Ended(Ended),
    /// No process of the command is left.
    AllGone(Why),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// SIGTERM would have been due at once.
    TooLate,
    Stopped,
    /// `execve` failed with this error number.
    Exec(i32),
    /// The command's file has no interpreter; the text says why.
    Interpreter(String),
    /// `execve` had not returned when the command was to end.
    Hung,
    Setup {
        doing: String,
        /// 0 without an error number.
        errno: i32,
    },
}

impl Failure {
    pub(crate) fn setup(doing: &str, error: &std::io::Error) -> Self {
        Self::Setup { doing: doing.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ended {
    /// Exit code, 0 to 255.
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// Converts a wait status into the end of the process; `None` for a process that was only
    /// stopped or continued.
    pub(crate) fn from_status(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }

    /// The code that a shell would report: the process's own, or 128 plus the signal.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Causes for the end of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Why {
    /// The first process ended of its own accord.
    Itself,
    /// A caller asked for a stop.
    Stopped,
    Deadline,
    /// The guard was gone, or overdue, and the supervisor killed the remaining processes.
    GuardLost,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "it ended by itself",
            Self::Stopped => "it was stopped",
            Self::Deadline => "the lease came to its end",
            Self::GuardLost => "its guard was lost",
        })
    }
}
