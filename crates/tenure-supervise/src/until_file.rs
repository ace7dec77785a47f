//! The file in which a command reads the end of its lease.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use tenure::state::FileId;
use tenure_core::Time;

/// Keeps a file current without making its caller wait for the disk: a thread writes the newest
/// instant, and skips instants that were replaced meanwhile. Dropping the value removes the file,
/// and waits for that as long as disks usually take.
pub(crate) struct UntilFile {
    shared: Arc<Shared>,
}

/// The longest wait for the end of the writer. A writer that is stuck leaves the file behind.
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
    over: bool,
}

impl UntilFile {
    /// Writes the file, if it is still `wanted` by then, and starts the thread.
    pub(crate) fn create(path: &Path, until: Time, wanted: &dyn Fn() -> bool) -> io::Result<Self> {
        let mut writer = Writer::new(path);
        writer.write(until, wanted)?;
        let shared = Arc::<Shared>::default();
        let for_writer = Arc::clone(&shared);
        let thread = thread::Builder::new().name("tenure-until".to_owned());
        let (hand, taken) = mpsc::sync_channel(1);
        let work = move || taken.recv().map_or((), |writer| for_writer.run(writer));
        let spawned = thread.spawn(work);
        match spawned {
            Ok(_) => {
                // The thread takes the writer, however late.
                hand.send(writer).ok();
                Ok(Self { shared })
            }
            Err(error) => {
                writer.remove();
                Err(error)
            }
        }
    }

    pub(crate) fn set(&self, until: Time) {
        self.shared.lock().until = Some(until);
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Next> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut writer: Writer) {
        let mut failing = false;
        while let Some(until) = self.newest() {
            let written = writer.write(until, &|| !self.lock().closed);
            match &written {
                Err(error) if !failing && !self.lock().closed => {
                    let path = writer.path.display();
                    tracing::warn!(
                        %path, %error,
                        "the until file cannot be renewed: its readers see an earlier deadline"
                    );
                }
                Ok(()) | Err(_) => {}
            }
            failing = written.is_err();
        }
        writer.remove();
        self.lock().over = true;
        self.changed.notify_one();
    }

    /// Waits for an instant to write; `None` if the file is no longer wanted.
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

static WRITERS: AtomicU64 = AtomicU64::new(0);

/// Writes the file. A writer that hangs may continue after its caller has given up, when the path
/// belongs to the next leadership. So a writer touches only files that it wrote itself. A writer
/// that hangs in the rename cannot be stopped: it puts an older instant at the path, and then
/// removes that file. The next renewal writes the file anew. Until then readers find no file, and
/// stop too early, not too late.
struct Writer {
    path: PathBuf,
    name: OsString,
    /// Name under which the next content is written before it replaces the present one.
    new: OsString,
    /// File that was put at `path` last; open, so that no other file gets its inode.
    last: Option<File>,
}

impl Writer {
    fn new(path: &Path) -> Self {
        let number = WRITERS.fetch_add(1, Ordering::Relaxed);
        let name = path.file_name().unwrap_or_default().to_owned();
        let mut new = name.clone();
        new.push(format!(".{}-{number}.new", std::process::id()));
        Self { path: path.to_owned(), name, new, last: None }
    }

    fn write(&mut self, until: Time, wanted: &dyn Fn() -> bool) -> io::Result<()> {
        let directory = own_directory(&self.path)?;
        let written = self.replace(&directory, until, wanted);
        if written.is_err() {
            rustix::fs::unlinkat(&directory, &self.new, AtFlags::empty()).ok();
        }
        written
    }

    /// Replaces the file: readers see the old content or the new, never half of it. The file need
    /// not survive a crash of the machine, so nothing is flushed.
    fn replace(
        &mut self,
        directory: &OwnedFd,
        until: Time,
        wanted: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        // A process with the same number may have left a file behind. If another user puts a file
        // or a link at this name, the two flags below make the open fail.
        rustix::fs::unlinkat(directory, &self.new, AtFlags::empty()).ok();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(directory, &self.new, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(file);
        let ends = until < Time::MAX;
        let text = if ends { until.as_nanos().to_string() } else { "none".to_owned() };
        file.write_all(format!("{text}\n").as_bytes())?;
        if !wanted() {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        rustix::fs::renameat(directory, &self.new, directory, &self.name)?;
        self.last = Some(file);
        Ok(())
    }

    fn remove(&self) {
        let own = self.last.as_ref().and_then(FileId::open);
        if own.is_some() && own == FileId::at(&self.path) {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The directory of the file at `path`. If other users can change its entries, the path may lead to
/// another directory than at the start. Nothing is written there, because another user could show
/// CMD any deadline.
fn own_directory(path: &Path) -> io::Result<OwnedFd> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    let about = rustix::fs::fstat(&opened)?;
    let owner = about.st_uid;
    let mode = about.st_mode & 0o7777;
    let user = rustix::process::geteuid().as_raw();
    let refused = |why: String| {
        let text = format!("its directory {why}: nothing is written there");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    if owner != user && owner != 0 {
        return refused(format!("belongs to user {owner}, and this process runs as user {user}"));
    }
    if mode & 0o022 != 0 && mode & 0o1000 == 0 {
        return refused(format!("has the mode {mode:03o}, so that others can write to it"));
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually::eventually;

    const WANTED: &dyn Fn() -> bool = &|| true;

    #[test]
    fn file_holds_newest_instant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("until");
        let file = UntilFile::create(&path, Time::from_nanos(7), WANTED).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "7\n");
        for nanos in 8..=500 {
            file.set(Time::from_nanos(nanos));
        }
        eventually("the newest instant", || fs::read_to_string(&path).unwrap() == "500\n");
        file.set(Time::MAX);
        eventually("no end", || fs::read_to_string(&path).unwrap() == "none\n");
        drop(file);
        eventually("nothing is left", || fs::read_dir(folder.path()).unwrap().count() == 0);
    }

    #[test]
    fn missing_folder_is_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("until");
        assert!(UntilFile::create(&path, Time::ZERO, WANTED).is_err());
    }

    /// If other users may write to the folder, its path may lead to another folder by now.
    #[test]
    fn writable_folder_is_refused() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("d");
        fs::create_dir(&directory).unwrap();
        let mut writer = Writer::new(&directory.join("until"));
        writer.write(Time::from_nanos(1), WANTED).unwrap();
        let mode = |mode| fs::set_permissions(&directory, fs::Permissions::from_mode(mode));
        let refused = |writer: &mut Writer, why: &str| {
            let error = writer.write(Time::from_nanos(2), WANTED).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
            assert_eq!(fs::read_to_string(&writer.path).unwrap(), "1\n");
        };
        mode(0o777).unwrap();
        refused(&mut writer, "its directory has the mode 777, so that others can write to it");
        if rustix::process::geteuid().is_root() {
            mode(0o755).unwrap();
            chown(&directory, Some(65_534), None).unwrap();
            refused(&mut writer, "its directory belongs to user 65534, and this process runs as");
            chown(&directory, Some(0), None).unwrap();
        }
        mode(0o1777).unwrap();
        writer.write(Time::from_nanos(3), WANTED).unwrap();
        assert_eq!(fs::read_to_string(&writer.path).unwrap(), "3\n");
    }

    #[test]
    fn abandoned_file_is_not_placed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("until");
        assert!(UntilFile::create(&path, Time::ZERO, &|| false).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// The writer of an ended leadership hangs in the middle of a write, and continues later.
    #[test]
    fn abandoned_writer_keeps_successors_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("until");
        let mut writer = Writer::new(&path);
        writer.write(Time::from_nanos(1), WANTED).unwrap();
        let mut successor = Writer::new(&path);
        let mut hangs = || {
            successor.write(Time::from_nanos(3), WANTED).unwrap();
            false
        };
        let hangs = std::cell::RefCell::new(&mut hangs);
        assert!(writer.write(Time::from_nanos(2), &|| (hangs.borrow_mut())()).is_err());
        writer.remove();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        successor.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn foreign_files_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        let mut writer = Writer::new(&folder.path().join("until"));
        let new = folder.path().join(&writer.new);
        std::os::unix::fs::symlink(&precious, &new).unwrap();
        writer.write(Time::from_nanos(1), WANTED).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        fs::create_dir(&new).unwrap();
        assert!(writer.write(Time::from_nanos(2), WANTED).is_err(), "not ours to remove");
        assert_eq!(fs::read_to_string(&writer.path).unwrap(), "1\n");
    }
}
