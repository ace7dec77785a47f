//! Helpers that the tests share.

use std::fs;
use std::path::Path;

/// Nothing of a cluster is left: neither its folder nor its processes.
pub(crate) fn gone(folder: &Path, pids: &[u32]) -> bool {
    let running = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
    };
    !folder.exists() && !pids.iter().any(running)
}
