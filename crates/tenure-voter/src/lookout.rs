//! Whether the state directory is still where the next start looks for it. A thread of its own
//! looks, as a disk that hangs must not keep the voter from its heartbeats.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tenure::state::Directory;
use tokio::sync::mpsc::UnboundedSender;

use crate::incoming::Incoming;

/// How often.
const EVERY: Duration = Duration::from_secs(1);
/// How long its end is waited for, so that the next start finds the directory unlocked.
const LAST: Duration = Duration::from_secs(1);

/// Looks until it is dropped.
#[derive(Debug)]
pub(crate) struct Lookout {
    ends: Option<mpsc::Sender<Infallible>>,
    ended: mpsc::Receiver<Infallible>,
}

impl Lookout {
    pub(crate) fn begin(directory: Arc<Directory>, to_loop: UnboundedSender<Incoming>) -> Self {
        let (ends, end) = mpsc::channel();
        let (ending, ended) = mpsc::channel();
        let work = move || {
            look(&directory, &end, &to_loop);
            drop(directory);
            drop(ending);
        };
        let thread = thread::Builder::new().name("tenure-lookout".to_owned());
        if let Err(error) = thread.spawn(work) {
            tracing::error!(%error, "nobody looks after the state directory");
        }
        Self { ends: Some(ends), ended }
    }
}

/// Tells each change.
fn look(
    directory: &Directory,
    end: &mpsc::Receiver<Infallible>,
    to_loop: &UnboundedSender<Incoming>,
) {
    let mut found = true;
    while end.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        let looked = directory.check(|_| true);
        if looked.is_ok() == found {
            continue;
        }
        found = !found;
        let looked = looked.map_err(|error| error.to_string().into());
        if to_loop.send(Incoming::Directory(looked)).is_err() {
            return;
        }
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        drop(self.ends.take());
        // It hangs in the disk if that takes so long; the directory stays locked until it does not.
        let _ = self.ended.recv_timeout(LAST);
    }
}
