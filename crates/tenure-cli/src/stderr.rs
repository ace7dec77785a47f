//! Standard error. Commands that lead or handle signals write it on a thread of its own. When a
//! reader stops reading, a full pipe blocks a writer forever. A node's standard output is written
//! in the same way.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// The number of texts that wait for a reader; later texts are lost, and counted.
const WAITING_MAX: usize = 1_024;
/// Bound on the wait for unwritten texts, at the end of the process.
const LAST: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(5);

static ASIDE: OnceLock<Aside> = OnceLock::new();

/// A stream on a thread of its own. A drop waits a moment for unwritten texts.
pub(crate) struct Aside {
    texts: SyncSender<String>,
    count: Arc<Count>,
}

#[derive(Default)]
struct Count {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

/// Makes writes to standard error never wait from now on. `lost` makes a text about the number of
/// lost texts.
pub(crate) fn write_aside(lost: fn(u64) -> String) {
    // Without a thread, writers wait as before.
    if let Ok(aside) = Aside::begin("tenure-stderr", lost, || io::stderr().lock()) {
        let _ = ASIDE.set(aside);
    }
}

pub(crate) fn write(text: String) {
    match ASIDE.get() {
        Some(aside) => aside.put(text),
        None => drop(io::stderr().write_all(text.as_bytes())),
    }
}

/// Waits a moment until everything is written.
pub(crate) fn finish() {
    if let Some(aside) = ASIDE.get() {
        aside.finish();
    }
}

/// A writer for the log lines of libraries, one whole line a call.
pub(crate) struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Aside {
    /// Starts the thread. `lost` makes a text about the number of lost texts.
    pub(crate) fn begin<W: Write>(
        thread: &str,
        lost: fn(u64) -> String,
        to: impl FnMut() -> W + Send + 'static,
    ) -> io::Result<Self> {
        let (texts, to_write) = sync_channel(WAITING_MAX);
        let count = Arc::<Count>::default();
        let counted = Arc::clone(&count);
        let work = move || write_all(&to_write, &counted, lost, to);
        thread::Builder::new().name(thread.to_owned()).spawn(work)?;
        Ok(Self { texts, count })
    }

    fn finish(&self) {
        let until = tenure::clock::now().after(LAST);
        while self.count.waiting.load(Ordering::Acquire) > 0 && tenure::clock::now() < until {
            thread::sleep(LOOK_EVERY);
        }
    }

    pub(crate) fn put(&self, text: String) {
        self.count.waiting.fetch_add(1, Ordering::AcqRel);
        if self.texts.try_send(text).is_err() {
            self.count.waiting.fetch_sub(1, Ordering::AcqRel);
            self.count.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Holds the lock for one text only, because other threads write to the stream too.
fn write_all<W: Write>(
    texts: &Receiver<String>,
    count: &Count,
    said: fn(u64) -> String,
    mut to: impl FnMut() -> W,
) {
    while let Ok(text) = texts.recv() {
        let _ = to().write_all(text.as_bytes());
        // The lost texts came after all queued texts.
        if count.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            let lost = count.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let _ = to().write_all(said(lost).as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A reader that reports each text that it takes, and stops until the test lets it go on.
    struct Slow(Receiver<()>, mpsc::Sender<String>);

    impl Write for &Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
            let _ = self.0.recv();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn writers_never_wait_and_losses_count() {
        let (texts, to_write) = sync_channel(WAITING_MAX);
        let count = Arc::<Count>::default();
        let aside = Aside { texts, count: Arc::clone(&count) };
        let ((go, may_go), (read, lines)) = (mpsc::channel(), mpsc::channel());
        let said = |lost| format!("{lost} lost");
        let work = thread::spawn(move || {
            let slow = Slow(may_go, read);
            write_all(&to_write, &count, said, || &slow);
        });
        aside.put("taken".to_owned());
        assert_eq!(lines.recv().unwrap(), "taken");
        let total = 3 * WAITING_MAX;
        for number in 0..total {
            aside.put(number.to_string());
        }
        drop((go, aside));
        work.join().unwrap();
        let lines: Vec<_> = lines.iter().collect();
        let (last, kept) = lines.split_last().unwrap();
        let first: Vec<_> = (0..WAITING_MAX).map(|number| number.to_string()).collect();
        assert_eq!(kept, first);
        assert_eq!(*last, format!("{} lost", total - WAITING_MAX));
    }
}
