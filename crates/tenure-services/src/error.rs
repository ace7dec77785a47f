//! Why a service is not there.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a service could not be got, started or stopped, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that has to be there is not.
    #[error("{what}\n{remedy}")]
    Missing {
        /// What is missing, and for what it is needed.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// A command ran and did not succeed.
    #[error("`{command}`: {status}\n{said}")]
    Failed {
        /// The command, with its arguments.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of its standard output and standard error.
        said: String,
    },
    /// A command could not be started at all.
    #[error("`{command}` could not be started: {source}")]
    Spawn {
        /// The command, with its arguments.
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file or folder could not be read, written or locked.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What was installed is of another version than was asked for.
    #[error(
        "wanted \"{wanted}…\", and what was got says \"{got}\"\nThis Debian has another one. \
         Put the wanted one into {place} by hand.",
        place = place.display()
    )]
    OtherVersion {
        /// How what it says of its version has to begin.
        wanted: &'static str,
        /// The first line of what it says.
        got: String,
        /// Where its programs belong.
        place: PathBuf,
    },
    /// A member did not answer within the time that it was given, or ended.
    #[error("{member} {how} (waited {waited:?}). The end of its log:\n{log}")]
    NotReady {
        /// Which one, with its endpoint.
        member: String,
        /// Ended, or only silent.
        how: String,
        /// How long it was waited for.
        waited: Duration,
        /// Whether its log says that somebody else has one of its ports.
        port_taken: bool,
        /// The last lines of its log.
        log: String,
    },
    /// A signal could not be sent.
    #[error("{what}: {source}")]
    Signal {
        /// Which signal to which process.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}
