//! The reason why a service is missing or does not run.

use std::io;
use std::process::ExitStatus;

/// The reason why a service could not be fetched, started or stopped, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{what}\n{remedy}")]
    Missing { what: String, remedy: String },
    #[error("`{command}`: {status}\n{said}")]
    Failed {
        command: String,
        status: ExitStatus,
        /// The end of the command's standard output and standard error.
        said: String,
    },
    #[error("{what}: {source}")]
    System {
        /// A file, a command, or a signal to a process.
        what: String,
        source: io::Error,
    },
    #[error("{said}")]
    NotReady {
        /// The server, its failure, and the end of its log.
        said: String,
        /// Whether the server's log says that another process has one of its ports.
        port_taken: bool,
    },
}
