//! The system calls that change a state directory, one method each. Tests replace these methods to
//! check the order of the calls, and that no call is left out.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};

/// A disk. Names are relative to the open directory `at`.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Makes a directory with mode 0700.
    fn make_directory(&self, path: &Path) -> io::Result<()>;

    /// Opens a file; if it is created, with mode 0600.
    fn open(&self, at: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<File>;

    /// Appends to the bytes already written.
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()>;

    /// Returns once a file's content, or a directory's names, would survive a loss of power.
    fn flush(&self, what: BorrowedFd<'_>) -> io::Result<()>;

    /// Renames `from` to `to`, and replaces a file of that name.
    fn rename(&self, at: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()>;

    /// Removes the name of a file.
    fn remove(&self, at: BorrowedFd<'_>, name: &str) -> io::Result<()>;
}

/// The disks of this machine.
#[derive(Debug)]
pub struct Linux;

impl Disk for Linux {
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, Mode::from_raw_mode(0o700))?)
    }

    fn open(&self, at: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<File> {
        // NONBLOCK: a pipe in the place of a file must not block this process.
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(rustix::fs::openat(at, name, flags, Mode::from_raw_mode(0o600))?.into())
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn flush(&self, what: BorrowedFd<'_>) -> io::Result<()> {
        Ok(rustix::fs::fsync(what)?)
    }

    fn rename(&self, at: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(at, from, at, to)?)
    }

    fn remove(&self, at: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(at, name, AtFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    use super::*;

    /// The kernel refuses to flush this descriptor, and its error proves that the call was made.
    #[test]
    fn a_flush_is_a_system_call() {
        let (pipe, _writer) = io::pipe().unwrap();
        let directory = File::open("/proc/self").unwrap();
        for what in [pipe.as_fd(), directory.as_fd()] {
            let error = Linux.flush(what).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(Errno::INVAL.raw_os_error()));
        }
    }
}
