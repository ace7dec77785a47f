//! Why a service is not there.

use std::io;
use std::process::ExitStatus;

/// Why a service could not be got, started or stopped, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that has to be there is not.
    #[error("{what}\n{remedy}")]
    Missing {
        /// The missing tool, and its purpose.
        what: String,
        /// Advice.
        remedy: String,
    },
    /// A command ran and did not succeed.
    #[error("`{command}`: {status}\n{said}")]
    Failed {
        command: String,
        status: ExitStatus,
        /// The end of its standard output and standard error.
        said: String,
    },
    /// The system refuses something.
    #[error("{what}: {source}")]
    System {
        /// A file, a command that is to be started, a signal to a process.
        what: String,
        source: io::Error,
    },
    /// A member did not answer within the time that it was given, or ended.
    #[error("{said}")]
    NotReady {
        /// Which one, how, and the end of its log.
        said: String,
        /// Whether its log says that somebody else has one of its ports.
        port_taken: bool,
    },
}
