//! The directory itself: found or created, locked, and the files in it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::error::{Found, StateError};

/// Holds the pid of the process that has the directory, for people and error messages.
pub(super) const LOCK: &str = "lock";

/// An open directory that no other [`Directory`] has, in this or another process.
///
/// The lock is the kernel's, on the directory itself: it ends with the process, however that
/// ends, and removing a file does not break it. All files are reached through the open
/// directory, so that one put in its place later is never written to by mistake.
#[derive(Debug)]
pub(super) struct Directory {
    fd: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens and locks `path`, which is created with mode 0700 when it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, StateError> {
        let fd = match open_directory(path) {
            Err(Errno::NOENT) => {
                create(path)?;
                open_directory(path)
            }
            other => other,
        };
        let fd = fd.map_err(|errno| match errno {
            Errno::NOTDIR => not_a_directory(path),
            errno => StateError::io("open state directory", path, errno),
        })?;
        let directory = Self { fd, path: path.to_owned() };
        match rustix::fs::flock(&directory.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(directory),
            Err(Errno::WOULDBLOCK) => {
                let owner = directory.owner();
                Err(StateError::InUse { path: path.to_owned(), owner })
            }
            Err(errno) => Err(StateError::io("lock state directory", path, errno)),
        }
    }

    /// Writes down which process has the directory.
    pub(super) fn sign(&self) -> Result<(), StateError> {
        // Always as long, so that nobody finds it half written or with an older one's tail.
        let pid = format!("{:<10}\n", std::process::id());
        self.file(LOCK, OFlags::WRONLY | OFlags::CREATE)
            .and_then(|mut file| file.write_all(pid.as_bytes()))
            .map_err(|source| StateError::io("write", &self.at(LOCK), source))
    }

    /// The process that signed, while it lives.
    fn owner(&self) -> Option<u32> {
        let file = self.file(LOCK, OFlags::RDONLY).ok()?;
        let mut text = String::new();
        file.take(16).read_to_string(&mut text).ok()?;
        let pid: u32 = text.trim().parse().ok()?;
        Path::new("/proc").join(pid.to_string()).exists().then_some(pid)
    }

    /// The path of the file `name`, for messages.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all that is in the directory, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>, StateError> {
        let failed = |errno| StateError::io("list", &self.path, errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens the regular file `name`, created with mode 0600 if the flags say so.
    pub(super) fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        // NONBLOCK: a pipe in the place of a file must not hang us.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600))?;
        Ok(File::from(fd))
    }

    /// Opens what was stored under `name`, if there is anything.
    pub(super) fn stored(&self, name: &str, flags: OFlags) -> Result<Option<File>, StateError> {
        let failed = |source: io::Error| StateError::io("read", &self.at(name), source);
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(errno.into())),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                let found = Found::NotAFile;
                Err(StateError::ForeignFile { path: self.at(name), found })
            }
            Ok(_) => self.file(name, flags).map(Some).map_err(failed),
        }
    }

    /// Puts `bytes` under `name`, whole or not at all, in sight of this boot of the machine.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        self.put_with(name, bytes, |_| Ok(()))
    }

    /// Puts `bytes` under `name`, whole or not at all, even if the machine stops at any moment.
    pub(super) fn put_durably(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put_with(name, bytes, File::sync_all)?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    fn put_with(
        &self,
        name: &str,
        bytes: &[u8],
        settle: impl Fn(&File) -> io::Result<()>,
    ) -> io::Result<File> {
        let temporary = temporary(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        let mut file = self.file(&temporary, flags)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| settle(&file))
            .and_then(|()| Ok(rustix::fs::renameat(&self.fd, &temporary, &self.fd, name)?));
        if written.is_err() {
            // The room it takes may be what is missing. Left behind, it harms nobody.
            let _ = rustix::fs::unlinkat(&self.fd, &temporary, AtFlags::empty());
        }
        written.map(|()| file)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A child between fork and exec has the same lock: closing alone would leave it held.
        let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
    }
}

/// Where a file is prepared before it takes its name.
pub(super) fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn create(path: &Path) -> Result<(), StateError> {
    if let Ok(target) = std::fs::read_link(path) {
        return Err(StateError::DanglingLink { path: path.to_owned(), target });
    }
    let failed = |source: io::Error| StateError::io("create state directory", path, source);
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(Errno::NOENT) => {
            return Err(StateError::NoParent { path: path.to_owned(), parent: parent.to_owned() });
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
}

fn not_a_directory(path: &Path) -> StateError {
    // Nothing exists below what is not a directory.
    let found = path.ancestors().find(|part| part.exists()).unwrap_or(path).to_owned();
    StateError::NotADirectory { path: path.to_owned(), found }
}
