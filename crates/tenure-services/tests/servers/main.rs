//! Clusters of both versions of each service: they start, answer, survive what tests do to them,
//! and are gone. Logins, certificates, snapshots and full disks are shown by the tests of drivers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod etcd;
mod kafka;
mod nats;

use std::fs;
use std::path::Path;

/// Nothing of a cluster is left: neither its folder nor its processes.
fn gone(folder: &Path, pids: &[u32]) -> bool {
    let running = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&*folder.to_string_lossy())
    };
    !folder.exists() && !pids.iter().any(running)
}
