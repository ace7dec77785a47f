//! The slow part of a start, on a thread of its own.
//!
//! A start executes this binary and writes the until file. Both wait for file systems, and a file
//! system may not answer for hours. Meanwhile the supervisor must serve signals, control requests
//! and a lease.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;

use rustix::process::Pid;
use tenure_core::Time;
use tokio::sync::oneshot;

use crate::error::SuperviseError;
use crate::guards;
use crate::until_file::UntilFile;

/// A guard process, and the file that its command reads.
pub(crate) struct GuardStart {
    pub(crate) guard: Pid,
    pub(crate) until_file: Option<UntilFile>,
}

/// Receives the result of [`begin`].
pub(crate) type Beginning = oneshot::Receiver<Result<GuardStart, SuperviseError>>;

/// Writes the until file at `path`, if there is one, and spawns `guard`. If the caller stops
/// waiting, no guard is spawned and the file is removed. A guard that was already being spawned
/// sees the end of its link, and starts nothing.
pub(crate) fn begin(
    mut guard: Command,
    path: Option<PathBuf>,
    until: Time,
) -> io::Result<Beginning> {
    let (done, beginning) = oneshot::channel();
    let work = move || {
        let wanted = || !done.is_closed();
        let file = path.map(|path| {
            UntilFile::create(&path, until, &wanted)
                .map_err(|source| SuperviseError::UntilFile { path, source })
        });
        let begun =
            file.transpose().and_then(|until_file| match guards::spawn(&mut guard, &wanted) {
                Ok(Some(guard)) => Ok(GuardStart { guard, until_file }),
                // No caller waits for this error any more.
                Ok(None) => Err(SuperviseError::GuardLost),
                Err(error) => Err(SuperviseError::setup("starting the guard process", error)),
            });
        done.send(begun).ok();
        // Drop our copy of the guard's end of the link, so that the link ends with the guard.
        drop(guard);
    };
    thread::Builder::new().name("tenure-begin".to_owned()).spawn(work)?;
    Ok(beginning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::eventually;

    /// The start hangs after it has written its file, because another guard is being spawned.
    #[test]
    fn abandoned_start_spawns_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("until");
        let ran = folder.path().join("ran");
        let mut command = Command::new("touch");
        command.arg(&ran);
        let spawning = guards::lock_spawning();
        let beginning = begin(command, Some(path.clone()), Time::from_nanos(7)).unwrap();
        eventually("the file is written", || path.exists());
        drop(beginning);
        drop(spawning);
        eventually("the file is removed", || !path.exists());
        assert_eq!(guards::count(), 0);
        assert!(!ran.exists());
    }
}
