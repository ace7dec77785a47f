//! Processes of one test, including those that left their group or session.
//!
//! A test marks the environment of each process that it starts, and all descendants inherit the
//! mark. The kernel reuses process ids, so a signal goes through a pidfd that was opened before the
//! mark was read.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable of the mark: the folder of the test.
pub const MARK: &str = "CHAOS_TEST";

/// A living process of this test.
pub struct Marked {
    pub pid: i32,
    handle: OwnedFd,
}

impl Marked {
    /// The process `pid`, if it carries the mark of `folder`.
    pub fn find(pid: i32, folder: &Path) -> Option<Self> {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mark = format!("{MARK}={}", folder.display());
        let entries = &mut environment.split(|byte| *byte == 0);
        entries.any(|entry| entry == mark.as_bytes()).then_some(Self { pid, handle })
    }

    /// All marked processes, without zombies.
    pub fn all(folder: &Path) -> Vec<Self> {
        let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        let pids = names.filter_map(|name| name.to_str()?.parse().ok());
        pids.filter_map(|pid| Self::find(pid, folder)).collect()
    }

    /// Signals the process, or does nothing if the process has ended.
    pub fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.handle, signal).ok();
    }

    /// Process id of the parent, or 0.
    pub fn parent(&self) -> i32 {
        stat(self.pid).and_then(|fields| fields[1].parse().ok()).unwrap_or(0)
    }

    /// Arguments, with the program's name first.
    pub fn arguments(&self) -> Vec<String> {
        let line = fs::read(PathBuf::from(format!("/proc/{}/cmdline", self.pid)));
        let line = String::from_utf8_lossy(&line.unwrap_or_default()).into_owned();
        line.split_terminator('\0').map(str::to_owned).collect()
    }
}

/// Whether SIGSTOP has taken effect on the first thread.
pub fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] == "T")
}

/// State, parent, and the other fields of `/proc/PID/stat` after the name.
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit(')').next()?.split_whitespace().map(str::to_owned).collect())
}
