//! Certificates of both sides, read anew when their files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::digest;
use tokio::sync::mpsc;

use crate::incoming::Incoming;
use crate::notice::Notice;

/// The pause between looks at the files.
const REREAD: Duration = Duration::from_secs(30);

/// Digests of the files' contents; `None` for files that cannot be read.
type Contents = Vec<Option<[u8; digest::SHA256_OUTPUT_LEN]>>;

/// A value that is made of files, and made anew when their contents change, so that a renewed
/// certificate is used without a restart. After a failure the earlier value stays.
pub(crate) struct Reread<T> {
    files: Vec<PathBuf>,
    make: Box<dyn Fn() -> Result<T, Arc<str>> + Send + Sync>,
    made: Mutex<Arc<T>>,
    of: Mutex<Contents>,
}

impl<T: Send + Sync + 'static> Reread<T> {
    pub(crate) fn new(
        files: Vec<PathBuf>,
        make: impl Fn() -> Result<T, Arc<str>> + Send + Sync + 'static,
    ) -> Result<Self, Arc<str>> {
        // The digests are from before the value: the next look notices a change in between.
        let of = Mutex::new(contents(&files));
        let made = Mutex::new(Arc::new(make()?));
        Ok(Self { files, make: Box::new(make), made, of })
    }

    pub(crate) fn get(&self) -> Arc<T> {
        lock(&self.made).clone()
    }

    /// Makes the value anew if a file has changed; fails once for each change that does not work.
    fn look(&self) -> Result<(), Arc<str>> {
        let mut of = lock(&self.of);
        let now = contents(&self.files);
        if *of != now {
            *of = now;
            let anew = Arc::new((self.make)()?);
            *lock(&self.made) = anew;
        }
        Ok(())
    }

    /// Looks now and then, on threads where reading delays no other task. Ends at once without
    /// files.
    pub(crate) async fn watch(self: Arc<Self>, to_loop: mpsc::UnboundedSender<Incoming>) {
        while !self.files.is_empty() {
            tokio::time::sleep(REREAD).await;
            let this = self.clone();
            let looked = tokio::task::spawn_blocking(move || this.look()).await;
            if let Ok(Err(why)) = looked
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

/// The value is assigned whole.
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
        reread.look().unwrap();
        std::fs::write(&file, "1").unwrap();
        reread.look().unwrap();
        // The value is the very same, so its connections stay.
        assert!(Arc::ptr_eq(&first, &reread.get()));
        std::fs::write(&file, "2").unwrap();
        reread.look().unwrap();
        assert_eq!(*reread.get(), 2);
        std::fs::write(&file, "no number").unwrap();
        assert!(reread.look().is_err());
        assert_eq!(*reread.get(), 2);
        reread.look().unwrap();
        std::fs::write(&file, "3").unwrap();
        reread.look().unwrap();
        assert_eq!(*reread.get(), 3);
    }

    #[tokio::test]
    async fn no_files_need_no_reread() {
        let reread = Arc::new(Reread::new(Vec::new(), || Ok(1)).unwrap());
        let (to_loop, _from_tasks) = mpsc::unbounded_channel();
        tenure_testkit::handles::soon(reread.watch(to_loop)).await;
    }
}
