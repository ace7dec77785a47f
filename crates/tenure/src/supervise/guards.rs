//! The guards of this process, and the ending of what one of them left behind.

use std::collections::BTreeSet;
use std::io;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use rustix::process::{Pid, Signal, kill_process};

use super::descend;
use super::frame::Ended;
use super::others;

/// Those that were spawned and not reaped.
static GUARDS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Held while a guard is being spawned and while strays are being killed: a guard that is not
/// entered yet would be taken for a stray. Spawning may hang, as any `execve`.
static SPAWNING: Mutex<()> = Mutex::new(());

fn guards() -> MutexGuard<'static, BTreeSet<i32>> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spawns `command` as a guard, if it is `wanted` when its turn comes. Guards that nobody waited
/// for are reaped on this occasion.
pub(super) fn spawn(command: &mut Command, wanted: &dyn Fn() -> bool) -> io::Result<Option<Pid>> {
    let _spawning = SPAWNING.lock().unwrap_or_else(PoisonError::into_inner);
    guards().retain(|pid| {
        Pid::from_raw(*pid).is_some_and(|pid| !descend::reap_one(pid, &mut |_, _| {}))
    });
    if !wanted() {
        return Ok(None);
    }
    others::remember();
    let child = command.spawn()?;
    let guard = Pid::from_child(&child);
    guards().insert(guard.as_raw_pid());
    Ok(Some(guard))
}

/// Ends a guard that has nothing left to do; `true` when it is gone and reaped.
pub(super) fn end(guard: Pid) -> bool {
    let mut guards = guards();
    if !guards.contains(&guard.as_raw_pid()) {
        return true;
    }
    let gone = descend::reap_one(guard, &mut |_, _| {});
    if gone {
        guards.remove(&guard.as_raw_pid());
    } else {
        // Not reaped, so the number is still its own. That it is gone already is no error.
        kill_process(guard, Signal::KILL).ok();
    }
    gone
}

/// Kills once everything below this process that is neither another guard's nor [one of the
/// others](others): `guard` itself, and its descendants, who became children of this process.
/// Returns whether anything is left, with the certainty of [`descend::reap`].
///
/// While a guard is being spawned nothing is done, as if something were left; `now` takes what is
/// being spawned for a stray instead. That guard then starts nothing, which is safe.
pub(super) fn sweep(
    guard: Option<Pid>,
    now: bool,
    ended: &mut dyn FnMut(Pid, Ended),
) -> io::Result<bool> {
    let _spawning = match SPAWNING.try_lock() {
        Err(TryLockError::WouldBlock) if !now => return Ok(true),
        other => other.ok(),
    };
    let mut guards = guards();
    if let Some(guard) = guard {
        guards.remove(&guard.as_raw_pid());
    }
    let spared = |pid: Pid| {
        guards.contains(&pid.as_raw_pid()) || (Some(pid) != guard && others::is_one(pid))
    };
    descend::kill(&spared)?;
    descend::reap(&spared, ended)
}

/// The living processes below this one, but for `guard` and for other guards and what is theirs.
pub(super) fn left(guard: Option<Pid>) -> io::Result<Vec<Pid>> {
    let guards = guards();
    let spared = |pid: Pid| guards.contains(&pid.as_raw_pid()) || others::is_one(pid);
    let mut left = descend::living(&spared)?;
    left.retain(|pid| Some(*pid) != guard);
    Ok(left)
}

/// From now on `guard`, which was killed and has nothing below it, counts as one of the others:
/// it is reaped when a next one is spawned.
pub(super) fn abandon(guard: Option<Pid>) {
    guards().extend(guard.map(Pid::as_raw_pid));
}

/// Nothing is spawned while this is held.
#[cfg(test)]
pub(super) fn hold() -> MutexGuard<'static, ()> {
    SPAWNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many are not reaped.
#[cfg(test)]
pub(super) fn count() -> usize {
    guards().len()
}
