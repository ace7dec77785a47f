//! Errors of state directories, and their remedies.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a state directory was not opened. Its state was not changed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "state directory {path} is in use by {}; stop that process, or give this node a directory \
         of its own",
        user(*.owner)
    )]
    InUse {
        path: PathBuf,
        /// Pid of the other process; `None` if it is in another pid namespace.
        owner: Option<u32>,
    },
    #[error(
        "state directory {path} does not exist and cannot be created: {parent} does not exist; \
         create that directory first (Tenure does not create it, so that a missing mount is \
         noticed)"
    )]
    NoParent { path: PathBuf, parent: PathBuf },
    #[error(
        "state directory {path} is a symbolic link to {target}, which does not exist; create \
         that directory, or correct the link"
    )]
    DanglingLink { path: PathBuf, target: PathBuf },
    #[error("state directory {path}: {found} is not a directory; name another path")]
    NotADirectory { path: PathBuf, found: PathBuf },
    /// The directory belongs to another user, who could remove the state.
    #[error(
        "state directory {path} belongs to user {owner}, and this process runs as user {user}; run \
         the process as user {owner}, or change the owner: chown -R {user} {path}"
    )]
    Owner { path: PathBuf, owner: u32, user: u32 },
    #[error(
        "other users can write to state directory {path}, whose mode is {mode:o}; run chmod go-w \
         {path}, or name a directory below it, which Tenure creates for this user alone"
    )]
    Writable { path: PathBuf, mode: u32 },
    #[error(
        "other users can open {path}, whose mode is {mode:o}, and could keep this node from \
         starting; run chmod 600 {path}"
    )]
    Lockable { path: PathBuf, mode: u32 },
    #[error(
        "{path} is not a state directory: it holds {found:?}; name a directory that is empty or \
         missing"
    )]
    Foreign { path: PathBuf, found: String },
    #[error(
        "{path} is damaged: {damage}; Tenure left it unchanged. The promises in it are lost: check \
         the disk, move the whole directory away and start{relearn}"
    )]
    Damaged {
        path: PathBuf,
        damage: Damage,
        /// See [`Layout::relearn`](super::Layout::relearn).
        relearn: &'static str,
    },
    #[error(
        "{path} is not a file of Tenure: it {found}; Tenure left it unchanged. Move it away, or \
         name another directory"
    )]
    ForeignFile { path: PathBuf, found: Found },
    #[error(
        "{path} has the format {found}, but this release reads {known}; start the release that \
         wrote the file"
    )]
    Version { path: PathBuf, found: u32, known: u32 },
    #[error(
        "cannot read {path}: {source}; this file says whether records on disk are of this boot of \
         the machine: mount /proc"
    )]
    Boot { path: PathBuf, source: io::Error },
    #[error("cannot {action} {path}: {source}{}", hint(.source))]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl StateError {
    /// The system refused to do `action` to the file or directory at `path`.
    #[must_use]
    pub fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { action, path: path.to_owned(), source: source.into() }
    }
}

/// The reason why a record was not written. The earlier record on disk is intact and readable; a
/// later write may succeed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {path}: {source}{}", hint(.source))]
    Io { path: PathBuf, source: io::Error },
    /// The next start would not find the records, because the directory or a file in it has lost
    /// its name. The node writes nothing until the name is back.
    #[error(
        "state directory {path} is lost: {loss}; {}start this node again{caution}", loss.cure()
    )]
    Lost {
        path: PathBuf,
        loss: PathLoss,
        /// See [`Layout::caution`](super::Layout::caution).
        caution: &'static str,
    },
}

/// The ways in which a state directory in use was lost.
#[derive(Debug, thiserror::Error)]
pub enum PathLoss {
    #[error("{path} cannot be found any more: {source}")]
    Missing { path: PathBuf, source: io::Error },
    #[error("another file or directory is at {path} now")]
    Replaced { path: PathBuf },
    #[error("{why}; this node removed the file, so that no later start uses it")]
    Removed { why: String },
    #[error("{path} was cut off: it has {bytes} bytes, and had {before}")]
    CutOff { path: PathBuf, bytes: u64, before: u64 },
}

impl PathLoss {
    /// The beginning of the remedy: an alternative to starting the node again.
    const fn cure(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::Replaced { .. } => {
                "put the original back (never a copy), or "
            }
            Self::Removed { .. } | Self::CutOff { .. } => "",
        }
    }
}

/// The damage of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// The file has another length than it declares.
    Length {
        bytes: u64,
        expected: u64,
    },
    /// Bytes of the file changed.
    Checksum {
        stored: u32,
        computed: u32,
    },
    Content,
}

/// The thing that was found in the place of a file of Tenure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Begins(String),
    /// A directory, a symbolic link, a pipe or a device.
    NotAFile,
}

fn user(owner: Option<u32>) -> String {
    match owner {
        Some(pid) if pid == std::process::id() => format!("this process ({pid}) already"),
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; run this process as the owner of that path, or change the owner (chown)"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space on its file system"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; mount it for writing, or name another directory",
        io::ErrorKind::FileTooLarge => "; raise the limit on the size of files (ulimit -f)",
        io::ErrorKind::NotFound => "; it was removed while in use: restart this node",
        _ => "",
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { bytes, expected } => {
                write!(f, "it has {bytes} bytes instead of {expected}")
            }
            Self::Checksum { stored, computed } => {
                write!(f, "its checksum is {computed:08x}, but {stored:08x} was stored")
            }
            Self::Content => f.write_str("its checksum holds, but its content makes no sense"),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins(text) => write!(f, "begins with \"{text}\""),
            Self::NotAFile => f.write_str("is not a regular file"),
        }
    }
}
