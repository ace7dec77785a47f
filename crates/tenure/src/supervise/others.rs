//! Children of this process that are no command's: those that it had before its first guard, as a
//! shell hands them on with `exec`, and those that the application starts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rustix::process::{Pid, getpid};

use super::{descend, launcher};

/// The children before the first guard, and when each began.
static BEFORE: OnceLock<BTreeMap<i32, u64>> = OnceLock::new();

/// To be called before a guard is spawned.
pub(super) fn remember() {
    BEFORE.get_or_init(|| {
        let children = descend::children(&|_| false).unwrap_or_default();
        let began = |pid: Pid| descend::began(pid).map(|began| (pid.as_raw_pid(), began));
        children.into_iter().filter_map(began).collect()
    });
}

/// Whether `pid`, a child of this process, is none of a guard's. A guard begins a session before
/// it starts anything, so nothing of a command is in the session of this process.
pub(super) fn is_one(pid: Pid) -> bool {
    let was_there = || {
        let began = BEFORE.get().and_then(|before| before.get(&pid.as_raw_pid()));
        began.is_some() && began.copied() == descend::began(pid)
    };
    let is_with_us = || descend::session(pid) == descend::session(getpid());
    was_there() || (is_with_us() && !launcher::is_part_of_us(pid))
}
