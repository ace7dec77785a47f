//! The guards of this process, and the killing of processes that a lost guard left behind.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use rustix::process::{Pid, Signal, kill_process};

use crate::descend;
use crate::frame::Ended;
use crate::others;

/// Guards that were spawned and not reaped, and lost guards whose command may have left processes;
/// each with its start time.
static GUARDS: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

/// Held while a guard is being spawned, and while the processes of a lost guard are being killed.
/// Otherwise the killing would hit a spawned guard that has no entry yet. Spawning may hang, like
/// any `execve`.
static SPAWNING: Mutex<()> = Mutex::new(());

fn guards() -> MutexGuard<'static, BTreeMap<i32, u64>> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spawns `command` as a guard, if it is `wanted` when its turn comes. Also reaps guards for which
/// no caller waited.
pub(crate) fn spawn(command: &mut Command, wanted: &dyn Fn() -> bool) -> io::Result<Option<Pid>> {
    let _spawning = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
    guards().retain(|pid, _| {
        Pid::from_raw(*pid).is_some_and(|pid| !descend::reap_one(pid, &mut |_, _| {}))
    });
    if !wanted() {
        return Ok(None);
    }
    others::look(&guards());
    let child = command.spawn()?;
    let guard = Pid::from_child(&child);
    guards().insert(guard.as_raw_pid(), descend::began(guard).unwrap_or_default());
    Ok(Some(guard))
}

/// Ends a guard that has nothing left to do; true once it is gone and reaped.
pub(crate) fn end(guard: Pid) -> bool {
    let mut guards = guards();
    if !guards.contains_key(&guard.as_raw_pid()) {
        return true;
    }
    let gone = descend::reap_one(guard, &mut |_, _| {});
    if gone {
        guards.remove(&guard.as_raw_pid());
    } else {
        // The guard is not reaped, so no other process has its id. A guard that has ended already
        // causes no error.
        kill_process(guard, Signal::KILL).ok();
    }
    gone
}

/// Sends SIGKILL once to `guard`, and to its descendants, which are children of this process now.
/// These are all processes below this process, except other guards, their processes, and [the
/// others](others). Returns whether any process is left. As with [`descend::reap`], `false` is
/// certain only when it comes twice in a row.
///
/// While a guard is being spawned, this call kills nothing and returns `true`, unless `now` is set.
/// With `now` it also kills the process that is being spawned, which is safe: a killed guard starts
/// nothing.
pub(crate) fn sweep(
    guard: Option<Pid>,
    now: bool,
    ended: &mut dyn FnMut(Pid, Ended),
) -> io::Result<bool> {
    let _spawning = match SPAWNING.try_lock() {
        Err(TryLockError::WouldBlock) if !now => return Ok(true),
        other => other.ok(),
    };
    let guards = guards();
    let spared = |pid: Pid| {
        Some(pid) != guard && (guards.contains_key(&pid.as_raw_pid()) || others::is_one(pid))
    };
    descend::kill(&spared)?;
    descend::reap(&spared, ended)
}

/// The living processes below this one, except `guard`, other guards, and the processes of other
/// guards.
pub(crate) fn left(guard: Option<Pid>) -> io::Result<Vec<Pid>> {
    let guards = guards();
    let spared = |pid: Pid| {
        Some(pid) != guard && (guards.contains_key(&pid.as_raw_pid()) || others::is_one(pid))
    };
    let mut left = descend::living(&spared)?;
    left.retain(|pid| Some(*pid) != guard);
    Ok(left)
}

/// Forgets `guard`: no process is left of it, nor of its command.
pub(crate) fn forget(guard: Option<Pid>) {
    guards().retain(|pid, _| Pid::from_raw(*pid) != guard);
}

/// Reaps orphans: dead children of this process that are neither guards nor processes of a guarded
/// command. A process that joins a PID namespace, as by `nsenter` or `docker exec`, may end before
/// its children. The first process of the namespace then inherits these children. A subreaper also
/// inherits the children of its other children. Returns `false` if nothing was done, because a
/// guard is being spawned.
///
/// Also remembers the living orphans, so that the killing after the loss of a guard spares them. So
/// the call is of use even if no child has ended.
///
/// Call this only in a process that waits for no other children.
pub fn reap_orphans() -> io::Result<bool> {
    let _spawning = match SPAWNING.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(false),
        other => other.ok(),
    };
    let guards = guards();
    // A guard begins a session, which the first process of its command never leaves.
    let ours = |pid: Pid| {
        let session = descend::session(pid);
        guards.contains_key(&pid.as_raw_pid()) || session.is_none_or(|id| guards.contains_key(&id))
    };
    descend::reap(&ours, &mut |_, _| {})?;
    others::look(&guards);
    Ok(true)
}

/// Prevents spawning while the result is held.
#[cfg(test)]
pub(crate) fn lock_spawning() -> MutexGuard<'static, ()> {
    SPAWNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) fn count() -> usize {
    guards().len()
}
