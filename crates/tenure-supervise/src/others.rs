//! Children of this process that belong to no command: children that a shell passes on with `exec`,
//! children that the application starts, and orphans that other processes left.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, getpid};

use crate::{descend, launcher};

/// Children that belong to no command, with their start times.
static SEEN: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

/// Records the children that belong to no command. While a guard lives, orphans of its command
/// become children of the guard. So while all `guards` live, a child of this process that is no
/// guard belongs to no command. No guard may be spawned during this call.
pub(crate) fn look(guards: &BTreeMap<i32, u64>) {
    let is_guard = |pid: Pid| guards.contains_key(&pid.as_raw_pid());
    let Ok(children) = descend::children(&is_guard) else { return };
    // Check the guards after listing the children: a guard that lives now also lived then.
    let lives = |(pid, began): (&i32, &u64)| {
        Pid::from_raw(*pid)
            .is_some_and(|pid| descend::began(pid) == Some(*began) && !descend::is_ending(pid))
    };
    if guards.iter().all(lives) {
        let began = |pid: Pid| descend::began(pid).map(|began| (pid.as_raw_pid(), began));
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|pid, began| Pid::from_raw(*pid).and_then(descend::began) == Some(*began));
        seen.extend(children.into_iter().filter_map(began));
    }
}

/// Whether `pid`, a child of this process, belongs to no command. A guard begins a session before
/// it starts anything, so no process of a command is in the session of this process.
pub(crate) fn is_one(pid: Pid) -> bool {
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner).get(&pid.as_raw_pid()).copied();
    let was_seen = seen.is_some() && seen == descend::began(pid);
    let is_with_us = || descend::session(pid) == descend::session(getpid());
    was_seen || (is_with_us() && !launcher::is_part_of_us(pid))
}
