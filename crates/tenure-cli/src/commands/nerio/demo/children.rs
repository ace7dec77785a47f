//! The children of the demo: its processes, what a candidate left behind, and strangers.

use std::fs;
use std::io;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};

/// The children of this process.
pub(super) struct Children {
    /// Children from before the demo began: a shell that becomes the demo by exec leaves its own
    /// children to it, as in `tenure demo > >(cat)`. The demo does not wait for them.
    strangers: Vec<Pid>,
}

impl Children {
    /// Whatever a process below this one leaves behind becomes its child from now on, so that it
    /// is seen to end. To be called before it has children of its own making.
    pub(super) fn adopt() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self { strangers: children()? })
    }

    /// A child that has ended, and how. Strangers are reaped in silence.
    pub(super) fn reap(&mut self) -> Option<(Pid, WaitStatus)> {
        loop {
            let (pid, status) = retry_on_intr(|| wait(WaitOptions::NOHANG)).ok()??;
            match self.strangers.iter().position(|stranger| *stranger == pid) {
                // The number may be used again.
                Some(nth) => drop(self.strangers.swap_remove(nth)),
                None => return Some((pid, status)),
            }
        }
    }

    /// All children but strangers, dead or alive.
    pub(super) fn left(&self) -> io::Result<Vec<Pid>> {
        let mut left = children()?;
        left.retain(|pid| !self.strangers.contains(pid));
        Ok(left)
    }

    /// The remaining children, in words.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |pid: Pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("process {pid} ({})", name.trim_end())
        };
        match self.left() {
            Ok(left) => left.into_iter().map(name).collect(),
            Err(error) => vec![format!("a process that /proc does not show ({error})")],
        }
    }
}

fn children() -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let list = match fs::read_to_string(task.join("children")) {
            Ok(list) => list,
            // A thread that ended meanwhile. Only the first one starts processes.
            Err(_) if !task.exists() => continue,
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => continue,
            Err(error) => return Err(error),
        };
        let numbers = list.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        found.extend(numbers.filter_map(Pid::from_raw));
    }
    Ok(found)
}
