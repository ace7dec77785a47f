//! Why a task stopped.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a task stopped, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A command ran and failed; it has already printed why.
    #[error("{status}\nTo repeat it, in the root of the repository:\n\n    {command}\n")]
    Failed { command: String, status: ExitStatus },
    /// A command could not be started at all.
    #[error("`{command}` could not be started: {source}")]
    Spawn { command: String, source: io::Error },
    /// Commands of the soak failed; each has printed why.
    #[error("{count} failed. To repeat them, in the root of the repository:\n\n    {commands}\n")]
    Soaked { count: usize, commands: String },
    /// A file or folder could not be read.
    #[error("{path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Something that has to be there is not.
    #[error("{what}\n{remedy}")]
    Missing { what: String, remedy: String },
    /// A service could not be got, started or stopped.
    #[error(transparent)]
    Service(#[from] tenure_services::Error),
    /// A check that runs inside this program complained; each complaint has been printed.
    #[error(
        "{count} to correct\nTo repeat it, in the root of the repository:\n\n    cargo {command}\n"
    )]
    Complaints { count: usize, command: &'static str },
}
