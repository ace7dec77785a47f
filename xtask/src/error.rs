//! Why a task stopped.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a task stopped, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A command ran and did not succeed; it has already said why. What failed of its tests is
    /// told again, because much was printed since.
    #[error("{told}{status}\nTo repeat it, in the root of the repository:\n\n    {command}\n")]
    Failed { told: String, command: String, status: ExitStatus },
    /// A command could not be started at all.
    #[error("`{command}` could not be started: {source}")]
    Spawn { command: String, source: io::Error },
    /// A command had to fail for a reason, and did not, or not for that one.
    #[error(
        "this has to be refused with \"{why}\", and was not. In the root of the repository:\n\n    \
         {command}\n"
    )]
    NotRefused { command: String, why: String },
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
