//! A thread that looks whether the state directory is still in its place for the next start, and
//! tries after a failed write whether the directory can be written again. A disk that hangs must
//! not keep the voter from its heartbeats.

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
/// The number of looks between tries to write without a failure before: so a full disk is reported
/// before a write is needed.
const TRIES_EACH: u32 = 10;
/// The longest wait for the end of the thread, so that the next start finds the directory unlocked.
const LAST: Duration = Duration::from_secs(1);

/// The file that a try to write makes and removes.
pub(crate) const TRIAL: &str = "trial";
/// The bytes of a memory with many voters.
const TRIAL_BYTES: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Lookout {
    /// Whether a write has failed, without a try since.
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
            tracing::error!(%error, "no thread watches the state directory");
        }
        Self { failed, looks: spawned.is_ok(), ends: Some(ends), ended }
    }

    /// A write has failed: the thread tries from now on whether a write could succeed, and tells
    /// the loop when it could. Returns whether the thread does so.
    pub(crate) fn try_out(&self) -> bool {
        self.failed.store(true, Ordering::Relaxed);
        self.looks
    }
}

/// Reports each change of the directory, and after a failed write that the next one may succeed.
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

/// No other thread writes at the same time, as the loop waits for the result.
fn write_trial(directory: &Directory) -> io::Result<()> {
    let path = directory.at(TRIAL);
    let mut file = File::create(&path)?;
    let written = file.write_all(&[0; TRIAL_BYTES]).and_then(|()| file.sync_all());
    // The trial may take the last room. A file that stays does no harm.
    let _ = fs::remove_file(&path);
    written
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.ends.take());
        // Without an answer by then the thread hangs in the disk; the directory stays locked until
        // it returns.
        let _ = self.ended.recv_timeout(LAST);
    }
}
