//! Whether the state directory is still where the next start looks for it, and, after a write has
//! failed, whether anything can be written there. A thread of its own looks and tries, as a disk
//! that hangs must not keep the voter from its heartbeats.

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

/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// How many looks until it is tried whether something can be written, though nothing has failed: a
/// disk that is full is told before a write is needed.
const TRIES_EACH: u32 = 10;
/// How long its end is waited for, so that the next start finds the directory unlocked.
const LAST: Duration = Duration::from_secs(1);

/// The file by which it is tried whether something can be written, and taken away again.
pub(crate) const TRIAL: &str = "trial";
/// As much as a memory of many voters takes.
const TRIAL_BYTES: usize = 4_096;

/// Looks until it is dropped.
#[derive(Debug)]
pub(crate) struct Lookout {
    /// Whether a write has failed, and none was tried since.
    failed: Arc<AtomicBool>,
    looks: bool,
    ends: Option<mpsc::Sender<Infallible>>,
    ended: mpsc::Receiver<Infallible>,
}

impl Lookout {
    pub(crate) fn begin(directory: Arc<Directory>, to_loop: UnboundedSender<Incoming>) -> Self {
        let (ends, end) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let asked = failed.clone();
        let work = move || {
            look(&directory, &asked, &end, &to_loop);
            drop(directory);
            drop(ending);
        };
        let thread = thread::Builder::new().name("tenure-lookout".to_owned());
        let spawned = thread.spawn(work);
        if let Err(error) = &spawned {
            tracing::error!(%error, "nobody looks after the state directory");
        }
        Self { failed, looks: spawned.is_ok(), ends: Some(ends), ended }
    }

    /// A write has failed: from now on it is tried whether one could succeed, and the loop is told
    /// when it could. Whether somebody does.
    pub(crate) fn try_out(&self) -> bool {
        self.failed.store(true, Ordering::Relaxed);
        self.looks
    }
}

/// Tells each change, and after a write has failed that the next one may succeed.
fn look(
    directory: &Directory,
    failed: &AtomicBool,
    end: &mpsc::Receiver<Infallible>,
    to_loop: &UnboundedSender<Incoming>,
) {
    let mut told = Ok(());
    let mut looks = 0_u32;
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let mut looked = directory.check(|_| true).map_err(|error| error.to_string());
        let has_failed = failed.load(Ordering::Relaxed);
        looks = looks.wrapping_add(1);
        if (has_failed || looks.is_multiple_of(TRIES_EACH)) && looked.is_ok() {
            looked = write_trial(directory)
                .map_err(|error| format!("write {}: {error}", directory.at(TRIAL).display()));
        }
        let succeeds = has_failed && looked.is_ok();
        if looked == told && !succeeds {
            continue;
        }
        if succeeds {
            failed.store(false, Ordering::Relaxed);
        }
        told.clone_from(&looked);
        if to_loop.send(Incoming::Directory(looked.map_err(Into::into))).is_err() {
            return;
        }
    }
}

/// No other thread writes meanwhile: the loop waits for the result.
fn write_trial(directory: &Directory) -> io::Result<()> {
    let path = directory.at(TRIAL);
    let mut file = File::create(&path)?;
    let written = file.write_all(&[0; TRIAL_BYTES]).and_then(|()| file.sync_all());
    // The room it takes may be what is missing. Left behind, it harms nobody.
    let _ = fs::remove_file(&path);
    written
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.ends.take());
        // The thread hangs in the disk if that takes so long; the directory stays locked until
        // then.
        let _ = self.ended.recv_timeout(LAST);
    }
}
