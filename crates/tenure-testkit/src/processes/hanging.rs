//! A command whose `execve` does not return, and a command that never reaches `main`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A file that no process can open or execute, like a file on a mount that does not answer. A
/// helper process holds a file lease on the file, and does not give the lease back when the kernel
/// asks. The kernel waits for `/proc/sys/fs/lease-break-time`, which is 45 s, from the first
/// attempt to open the file.
pub struct Hanging {
    folder: TempDir,
    holder: Child,
}

impl Hanging {
    /// Perl calls `fcntl`, because the system call has no safe wrapper in Rust; every Debian has
    /// Perl.
    const HOLDER: &str = "use Fcntl; $SIG{IO} = 'IGNORE'; open(F, '<', $ARGV[0]) or die;
        fcntl(F, 1024, F_WRLCK) or die $!; $| = 1; print qq(held\\n); <STDIN>";

    /// A script that sleeps for a minute, once it runs.
    pub fn script() -> Self {
        Self::with(b"#!/bin/sh\nexec sleep 60\n", 0o755)
    }

    /// A file with this content and this mode.
    pub fn with(content: &[u8], mode: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = folder.path().join("command");
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let mut holder = Command::new("perl");
        holder.args(["-e", Self::HOLDER]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("perl is needed");
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self { folder, holder }
    }

    /// Lets waiting and later calls of `execve` return.
    pub fn release(&mut self) {
        self.holder.kill().unwrap();
        self.holder.wait().unwrap();
    }

    /// The path of the file.
    pub fn command(&self) -> OsString {
        self.folder.path().join("command").into()
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.holder.kill().ok();
        self.holder.wait().ok();
    }
}

/// A library for `LD_PRELOAD`. The loader skips the library until it is [made](Self::make), and
/// later waits for it without end: the library is a named pipe without a writer.
pub struct HangingLibrary(TempDir);

impl HangingLibrary {
    /// A library that does not exist yet.
    pub fn missing() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Makes the library. Programs that start with it after this call never reach their `main`.
    pub fn make(&self) {
        mknodat(CWD, self.path(), FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("library")
    }
}

impl Drop for HangingLibrary {
    /// Opens the pipe for writing once, which releases the programs that wait for it.
    fn drop(&mut self) {
        File::options().read(true).write(true).open(self.path()).ok();
    }
}
