//! Certificates of both sides, read anew when their files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::digest;
use tokio::sync::mpsc;

use crate::incoming::Incoming;
use crate::notice::Notice;

/// The pause between two checks of the files.
const REREAD: Duration = Duration::from_secs(30);

/// Digests of the files' contents; `None` for files that cannot be read.
type Contents = Vec<Option<[u8; digest::SHA256_OUTPUT_LEN]>>;

/// A value made of files. The value is made again when the contents change, so that a renewed
/// certificate is used without a restart. After a failure the earlier value stays.
pub(crate) struct Reread<T> {
    files: Vec<PathBuf>,
    make: Box<dyn Fn() -> Result<T, Arc<str>> + Send + Sync>,
    made: Mutex<Arc<T>>,
    digests: Mutex<Contents>,
}

impl<T: Send + Sync + 'static> Reread<T> {
    pub(crate) fn new(
        files: Vec<PathBuf>,
        make: impl Fn() -> Result<T, Arc<str>> + Send + Sync + 'static,
    ) -> Result<Self, Arc<str>> {
        // Digest the files before making the value. The next check then notices a change between
        // these two steps.
        let digests = Mutex::new(contents(&files));
        let made = Mutex::new(Arc::new(make()?));
        Ok(Self { files, make: Box::new(make), made, digests })
    }

    pub(crate) fn get(&self) -> Arc<T> {
        lock(&self.made).clone()
    }

    /// Makes the value again if a file has changed. Fails once for each change that makes no value.
    fn refresh(&self) -> Result<(), Arc<str>> {
        let mut digests = lock(&self.digests);
        let now = contents(&self.files);
        if *digests != now {
            *digests = now;
            let anew = Arc::new((self.make)()?);
            *lock(&self.made) = anew;
        }
        Ok(())
    }

    /// Checks the files now and then, on threads where reading delays no other task. Returns at
    /// once without files.
    pub(crate) async fn watch(self: Arc<Self>, to_loop: mpsc::UnboundedSender<Incoming>) {
        while !self.files.is_empty() {
            tokio::time::sleep(REREAD).await;
            let this = self.clone();
            let refreshed = tokio::task::spawn_blocking(move || this.refresh()).await;
            if let Ok(Err(why)) = refreshed
                && to_loop.send(Incoming::Notice(Notice::Certificates { why })).is_err()
            {
                return;
            }
        }
    }
}

fn contents(files: &[PathBuf]) -> Contents {
    let one = |file: &PathBuf| {
        let digest = digest::digest(&digest::SHA256, &std::fs::read(file).ok()?);
        digest.as_ref().try_into().ok()
    };
    files.iter().map(one).collect()
}

/// Only whole values are assigned under the lock, so a panic elsewhere leaves the value intact.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_reread() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("number");
        let read = file.clone();
        let make = move || {
            let text = std::fs::read_to_string(&read).unwrap();
            text.parse::<u32>().map_err(|error| error.to_string().into())
        };
        std::fs::write(&file, "1").unwrap();
        let reread = Reread::new(vec![file.clone()], make).unwrap();
        let first = reread.get();
        reread.refresh().unwrap();
        std::fs::write(&file, "1").unwrap();
        reread.refresh().unwrap();
        // The value is the very same, so its connections stay.
        assert!(Arc::ptr_eq(&first, &reread.get()));
        std::fs::write(&file, "2").unwrap();
        reread.refresh().unwrap();
        assert_eq!(*reread.get(), 2);
        std::fs::write(&file, "no number").unwrap();
        assert!(reread.refresh().is_err());
        assert_eq!(*reread.get(), 2);
        reread.refresh().unwrap();
        std::fs::write(&file, "3").unwrap();
        reread.refresh().unwrap();
        assert_eq!(*reread.get(), 3);
    }

    #[tokio::test]
    async fn no_files_need_no_reread() {
        let reread = Arc::new(Reread::new(Vec::new(), || Ok(1)).unwrap());
        let (to_loop, _from_tasks) = mpsc::unbounded_channel();
        tenure_testkit::handles::soon(reread.watch(to_loop)).await;
    }
}
