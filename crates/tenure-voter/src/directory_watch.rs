//! Checks, on a thread of its own, that the state directory is still in its place. After a failed
//! write the thread also checks whether the directory can be written again. The thread keeps a disk
//! that hangs from delaying the voter's heartbeats.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure::state::Directory;
use tokio::sync::mpsc::UnboundedSender;

use crate::incoming::Incoming;

const EVERY: Duration = Duration::from_secs(1);
/// While no write has failed, each tenth check also writes a trial file. These trials report a full
/// disk before the voter must write.
const TRIES_EACH: u32 = 10;
/// The longest wait for the end of the thread. The next start finds the directory unlocked only
/// after that end.
const LAST: Duration = Duration::from_secs(1);

/// The file that a trial writes and removes.
pub(crate) const TRIAL: &str = "trial";
/// The bytes of a trial, as many as the state with many voters.
const TRIAL_BYTES: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Lookout {
    /// Whether a write has failed and no trial has succeeded after that.
    failed: Arc<AtomicBool>,
    runs: bool,
    ends: Option<mpsc::Sender<Infallible>>,
    ended: mpsc::Receiver<Infallible>,
}

impl Lookout {
    pub(crate) fn begin(directory: Arc<Directory>, to_loop: UnboundedSender<Incoming>) -> Self {
        let (ends, end) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let has_failed = failed.clone();
        let work = move || {
            watch(&directory, &has_failed, &end, &to_loop);
            drop(directory);
            drop(ending);
        };
        let thread = thread::Builder::new().name("tenure-lookout".to_owned());
        let spawned = thread.spawn(work);
        if let Err(error) = &spawned {
            tracing::error!(%error, "no thread watches the state directory");
        }
        Self { failed, runs: spawned.is_ok(), ends: Some(ends), ended }
    }

    /// Notes a failed write. The thread then tries to write, and informs the loop once a trial has
    /// succeeded. Returns whether the thread runs.
    pub(crate) fn try_out(&self) -> bool {
        self.failed.store(true, Ordering::Relaxed);
        self.runs
    }
}

/// Reports each change of the directory, and, after a failed write, that the next write may
/// succeed.
fn watch(
    directory: &Directory,
    failed: &AtomicBool,
    end: &mpsc::Receiver<Infallible>,
    to_loop: &UnboundedSender<Incoming>,
) {
    let mut reported = Ok(());
    let mut checks = 0_u32;
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let mut found = directory.check(|_| true).map_err(|error| error.to_string());
        let has_failed = failed.load(Ordering::Relaxed);
        checks = checks.wrapping_add(1);
        if (has_failed || checks.is_multiple_of(TRIES_EACH)) && found.is_ok() {
            found = write_trial(directory)
                .map_err(|error| format!("write {}: {error}", directory.at(TRIAL).display()));
        }
        let succeeds = has_failed && found.is_ok();
        if found == reported && !succeeds {
            continue;
        }
        if succeeds {
            failed.store(false, Ordering::Relaxed);
        }
        reported.clone_from(&found);
        if to_loop.send(Incoming::Directory(found.map_err(Into::into))).is_err() {
            return;
        }
    }
}

/// Writes and removes a trial file. After a failed write no other thread writes during the trial,
/// because the loop waits for the result.
fn write_trial(directory: &Directory) -> io::Result<()> {
    let path = directory.at(TRIAL);
    let mut file = File::create(&path)?;
    let written = file.write_all(&[0; TRIAL_BYTES]).and_then(|()| file.sync_all());
    // Remove the trial file, which may use the last free space. A file that stays does no harm.
    let _ = fs::remove_file(&path);
    written
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.ends.take());
        // If this wait times out, the thread hangs in the disk. The directory then stays locked
        // until the thread returns.
        let _ = self.ended.recv_timeout(LAST);
    }
}
