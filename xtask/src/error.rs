//! The reasons for which a task stops.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// The reason for which a task stopped, and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A command ran and failed; its output has already given the reason.
    #[error("{status}\nTo repeat it, in the root of the repository:\n\n    {command}\n")]
    Failed { command: String, status: ExitStatus },
    /// A command could not be started.
    #[error("`{command}` could not be started: {source}")]
    Spawn { command: String, source: io::Error },
    /// A file or folder could not be read.
    #[error("{path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A service could not be installed, started or stopped.
    #[error(transparent)]
    Service(#[from] tenure_services::Error),
    /// A complaint, with advice.
    #[error("{0}")]
    Said(String),
}
