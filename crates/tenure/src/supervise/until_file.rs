//! The file in which a command reads how long its lease holds.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tenure_core::Time;

/// Keeps a file current without ever making its caller wait for the disk: a thread writes the
/// newest instant, and skips those that were overtaken. Dropping it removes the file, and waits
/// for that as long as disks usually take.
pub(super) struct UntilFile {
    shared: Arc<Shared>,
}

/// How long the end of the writer is waited for. It may be stuck, and then the file is left behind.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Shared {
    next: Mutex<Next>,
    changed: Condvar,
}

#[derive(Default)]
struct Next {
    until: Option<Time>,
    closed: bool,
    /// The file is removed.
    over: bool,
}

impl UntilFile {
    /// Writes the file and starts the thread.
    pub(super) fn create(path: &Path, until: Time) -> io::Result<Self> {
        write(path, until)?;
        let shared = Arc::<Shared>::default();
        let (own, for_writer) = (path.to_owned(), Arc::clone(&shared));
        let writer = thread::Builder::new().name("tenure-until".to_owned());
        match writer.spawn(move || for_writer.run(&own)) {
            Ok(_) => Ok(Self { shared }),
            Err(error) => {
                fs::remove_file(path).ok();
                Err(error)
            }
        }
    }

    pub(super) fn set(&self, until: Time) {
        self.shared.lock().until = Some(until);
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, path: &Path) {
        let mut failing = false;
        while let Some(until) = self.newest() {
            let written = write(path, until);
            match &written {
                Err(error) if !failing => {
                    tracing::warn!(path = %path.display(), %error, "the until file is out of date");
                }
                Ok(()) | Err(_) => {}
            }
            failing = written.is_err();
        }
        fs::remove_file(path).ok();
        self.lock().over = true;
        self.changed.notify_one();
    }

    /// Waits for an instant to write; `None` when the file is no longer wanted.
    fn newest(&self) -> Option<Time> {
        let mut next = self.lock();
        loop {
            if next.closed {
                return None;
            }
            if let Some(until) = next.until.take() {
                return Some(until);
            }
            next = self.changed.wait(next).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for UntilFile {
    fn drop(&mut self) {
        let mut next = self.shared.lock();
        next.closed = true;
        self.shared.changed.notify_one();
        let over = self.shared.changed.wait_timeout_while(next, PATIENCE, |next| !next.over);
        drop(over);
    }
}

/// Readers see the old content or the new, never half of it. Nothing needs to survive a crash of
/// the machine, so nothing is flushed.
fn write(path: &Path, until: Time) -> io::Result<()> {
    let mut new = OsString::from(path);
    new.push(".new");
    let written =
        fs::write(&new, format!("{}\n", until.as_nanos())).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        fs::remove_file(&new).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    #[test]
    fn holds_the_newest_instant_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("until");
        let file = UntilFile::create(&path, Time::from_nanos(7)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "7\n");
        for nanos in 8..=500 {
            file.set(Time::from_nanos(nanos));
        }
        let give_up = clock::now().after(Duration::from_secs(60));
        while fs::read_to_string(&path).unwrap() != "500\n" {
            assert!(clock::now() < give_up, "the newest instant was never written");
            thread::sleep(Duration::from_millis(1));
        }
        drop(file);
        while fs::read_dir(folder.path()).unwrap().count() > 0 {
            assert!(clock::now() < give_up, "the file was never removed");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("until");
        assert!(UntilFile::create(&path, Time::ZERO).is_err());
    }
}
