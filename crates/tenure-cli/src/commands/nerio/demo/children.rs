//! The children of the demo: its processes, the remains of a candidate, and strangers.

use std::fs;
use std::io;

use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};

pub(super) struct Children {
    /// Children that the process had before the demo. A shell that becomes the demo by exec leaves
    /// its own children to the demo, as in `tenure demo > >(cat)`. The demo does not wait for these
    /// children.
    strangers: Vec<Pid>,
}

impl Children {
    /// Makes this process inherit orphans from now on, so that it sees their end. Call this
    /// function before the first child is spawned.
    pub(super) fn adopt() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        Ok(Self { strangers: children()? })
    }

    /// Reaps a child that has ended, and returns its status. Reaps strangers without a report.
    pub(super) fn reap(&mut self) -> Option<(Pid, WaitStatus)> {
        loop {
            let (pid, status) = retry_on_intr(|| wait(WaitOptions::NOHANG)).ok()??;
            match self.strangers.iter().position(|stranger| *stranger == pid) {
                // Forget the number of a stranger that has ended: the system may use the number
                // again.
                Some(nth) => drop(self.strangers.swap_remove(nth)),
                None => return Some((pid, status)),
            }
        }
    }

    pub(super) fn left(&self) -> io::Result<Vec<Pid>> {
        let mut left = children()?;
        left.retain(|pid| !self.strangers.contains(pid));
        Ok(left)
    }

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
            // A thread that has ended meanwhile had no children: only the first thread starts
            // processes.
            Err(_) if !task.exists() => continue,
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => continue,
            Err(error) => return Err(error),
        };
        let numbers = list.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        found.extend(numbers.filter_map(Pid::from_raw));
    }
    Ok(found)
}
