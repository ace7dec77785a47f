//! Why a service is not there.

use std::io;
use std::process::ExitStatus;

/// Why a service could not be got, started or stopped, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}\n{remedy}")]
    Missing { what: String, remedy: String },
    #[error("`{command}`: {status}\n{said}")]
    Failed {
        command: String,
        status: ExitStatus,
        /// The end of its standard output and standard error.
        said: String,
    },
    #[error("{what}: {source}")]
    System {
        /// A file, a command that is to be started, a signal to a process.
        what: String,
        source: io::Error,
    },
    #[error("{said}")]
    NotReady {
        /// Which one, how, and the end of its log.
        said: String,
        /// Whether its log says that somebody else has one of its ports.
        port_taken: bool,
    },
}
