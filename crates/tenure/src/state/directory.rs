//! The directory itself: found or created, locked, and its files.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::disk::{Disk, Linux};
use super::error::{Found, PathLoss, StateError, WriteError};

/// File with the pid of the process that has the directory, for people and error messages.
const LOCK: &str = "lock";

/// File that the process locks that has the directory. The name does not look like a leftover to
/// people, and `rm *` does not remove it.
const HELD: &str = ".held";

/// Attempts to open that file, which another process may remove meanwhile.
const ATTEMPTS: u32 = 100;

const HELD_TEXT: &[u8] =
    b"The process that uses this directory holds a lock on this file: leave it\n";

/// Files that a protocol keeps in a state directory.
#[derive(Debug)]
pub struct Layout {
    /// Name of the [`Document`](super::Document) without which there is no memory.
    pub document: &'static str,
    pub others: &'static [&'static str],
    /// Way to start without a lost memory, and its effect, as the end of a sentence.
    pub relearn: &'static str,
    /// Way to start again after the loss of a directory under a running node, as the end of a
    /// sentence.
    pub caution: &'static str,
}

impl Layout {
    /// Whether the name belongs to a memory whose document may be lost.
    fn remains(&self, name: &str) -> bool {
        self.others.iter().any(|other| name == *other || name == temporary(other))
    }

    /// Whether the name belongs to a state directory. `lost+found` comes with a file system of
    /// one's own.
    fn has(&self, name: &str) -> bool {
        [LOCK, HELD, "lost+found", self.document].contains(&name)
            || name == temporary(self.document)
            || self.remains(name)
    }
}

/// An open directory that no other [`Directory`] has, in this or another process.
///
/// The lock is the kernel's, on a file that only the owner can open: it ends with the process,
/// however that ends, and no other process can take it. Removing other files does not break it. All
/// files are reached through the open directory, so that a directory put in its place later is
/// never written to by mistake.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
    layout: &'static Layout,
    /// Locked file, from [`lock`](Self::lock) on.
    held: Option<File>,
    own: FileId,
    /// Locked file, and files of the memory, once each was found or written.
    in_use: Mutex<BTreeMap<String, Binding>>,
    /// Names of files that this process removed, with the reasons.
    removed: Mutex<BTreeMap<String, String>>,
    disk: Arc<dyn Disk>,
}

/// Identity of a file, whatever its name: its device and its number there.
type FileId = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Binding {
    own: FileSize,
    next: Option<FileSize>,
}

/// A file, and the least number of bytes that it has unless it was cut off.
#[derive(Clone, Copy, Debug)]
struct FileSize {
    id: FileId,
    bytes: u64,
}

impl FileSize {
    fn of(stat: &Stat) -> Self {
        Self { id: file_id(stat), bytes: u64::try_from(stat.st_size).unwrap_or_default() }
    }
}

impl Directory {
    /// Opens `path`, which is created with mode 0700 when it is missing, but not its parents, and
    /// locks it: from now on no other process has it. A directory that holds anything foreign and
    /// no document is refused, and nothing is put there.
    ///
    /// Blocks for as long as the disk takes; the call never waits for the lock.
    pub fn open(path: &Path, layout: &'static Layout) -> Result<Self, StateError> {
        Self::open_on(path, layout, Arc::new(Linux))
    }

    /// Opens like [`open`](Self::open), on a disk of the caller's, for tests.
    pub fn open_on(
        path: &Path,
        layout: &'static Layout,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, StateError> {
        let mut this = Self::find(path, layout, disk)?;
        this.refuse_foreign()?;
        this.lock()?;
        Ok(this)
    }

    /// Opens `path`, and changes nothing in it.
    fn find(path: &Path, layout: &'static Layout, disk: Arc<dyn Disk>) -> Result<Self, StateError> {
        let fd = match open_directory(path) {
            Err(Errno::NOENT) => {
                create(path, &*disk)?;
                open_directory(path)
            }
            other => other,
        };
        let fd = fd.map_err(|errno| match errno {
            Errno::NOTDIR => not_a_directory(path),
            errno => StateError::io("open state directory", path, errno),
        })?;
        check_directory(&fd, path)?;
        let stat = rustix::fs::fstat(&fd)
            .map_err(|errno| StateError::io("open state directory", path, errno))?;
        let path = path.to_owned();
        let own = file_id(&stat);
        Ok(Self {
            fd,
            path,
            layout,
            held: None,
            own,
            in_use: Mutex::default(),
            removed: Mutex::default(),
            disk,
        })
    }

    fn refuse_foreign(&self) -> Result<(), StateError> {
        let names = self.names()?;
        match names.iter().find(|name| !self.layout.has(name)) {
            Some(found) if !names.iter().any(|name| name == self.layout.document) => {
                Err(StateError::Foreign { path: self.path.clone(), found: found.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The first file of a memory beside its document.
    pub fn remains(&self) -> Result<Option<String>, StateError> {
        let names = self.names()?;
        Ok(names.into_iter().find(|name| self.layout.remains(name)))
    }

    /// The files of the memory.
    #[must_use]
    pub const fn layout(&self) -> &'static Layout {
        self.layout
    }

    fn lock(&mut self) -> Result<(), StateError> {
        for _ in 0..ATTEMPTS {
            let held = open_held(&self.fd, &self.path)?;
            match lock_now(held.as_fd()) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(StateError::InUse {
                        path: self.path.clone(),
                        owner: owner(&self.fd),
                    });
                }
                Err(errno) => return Err(StateError::io("lock", &self.at(HELD), errno)),
            }
            // Another process may have removed the file since it was opened, and may have made
            // another one.
            let there = rustix::fs::statat(&self.fd, HELD, AtFlags::SYMLINK_NOFOLLOW);
            let same = |there: &Stat, about: &Metadata| {
                (there.st_dev, there.st_ino) == (about.dev(), about.ino())
            };
            if there.is_ok_and(|there| held.metadata().is_ok_and(|about| same(&there, &about))) {
                let failed = |source| StateError::io("lock", &self.at(HELD), source);
                self.remember(HELD, &held).map_err(failed)?;
                self.held = Some(held);
                return Ok(());
            }
        }
        Err(StateError::io("lock", &self.at(HELD), Errno::AGAIN))
    }

    /// Writes down that this process has the directory.
    pub fn sign(&self) -> Result<(), StateError> {
        // The text always has one length, so that no reader finds it half written or with an older
        // one's tail.
        let pid = format!("{:<10}\n", std::process::id());
        self.file(LOCK, OFlags::WRONLY | OFlags::CREATE)
            .and_then(|mut file| self.disk.write(&mut file, pid.as_bytes()))
            .map_err(|source| StateError::io("write", &self.at(LOCK), source))
    }

    /// The path of the file `name`, for messages.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of the directory, as the caller gave it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> Result<Vec<String>, StateError> {
        let failed = |errno| StateError::io("list", &self.path, errno);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens the regular file `name`, created with mode 0600 if the flags say so.
    pub fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        self.disk.open(self.fd.as_fd(), name, flags)
    }

    /// Checks whether the next start would find this directory, and those files in use that are
    /// `wanted`. Takes one system call for the directory and one for each file, along their paths.
    pub fn check(&self, wanted: impl Fn(&str) -> bool) -> Result<(), WriteError> {
        // A directory has no length to compare.
        let own = Binding { own: FileSize { id: self.own, bytes: 0 }, next: None };
        self.same(|| self.path.clone(), own, rustix::fs::stat(&self.path))?;
        let in_use = self.in_use().clone();
        in_use.keys().filter(|name| wanted(name)).try_for_each(|name| self.check_file(name))
    }

    /// Checks one file in use: one system call, in a directory that is open.
    pub fn check_file(&self, name: &str) -> Result<(), WriteError> {
        // Hold no lock meanwhile: a disk that hangs must not keep another thread from its own
        // check.
        let look = || {
            let known = self.in_use().get(name).copied();
            let there = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
            let is_gone = there.as_ref().is_err_and(|errno| *errno == Errno::NOENT);
            let same = known.map_or(Ok(()), |known| self.same(|| self.at(name), known, there));
            same.map_err(|lost| if is_gone { self.why_removed(name).unwrap_or(lost) } else { lost })
        };
        // Another thread may have put a new file there between the two.
        look().or_else(|_| look())
    }

    /// Whether the open `file` is the one that is in use under `name`, and no shorter than it was,
    /// wherever the name leads: one system call.
    pub fn is_whole(&self, name: &str, file: &File) -> bool {
        let known = self.in_use().get(name).map(|known| known.own);
        let there = rustix::fs::fstat(file).map(|stat| FileSize::of(&stat));
        known
            .zip(there.ok())
            .is_some_and(|(known, there)| known.id == there.id && known.bytes <= there.bytes)
    }

    /// Removes the name of a file that differs from the written one: the next start must not
    /// believe it. If anything else is missing, as the lock, the name stays: another process may
    /// have put the file there for itself.
    pub fn distrust(&self, name: &str) {
        if self.check(|file| file != name).is_err() {
            return;
        }
        let Err(WriteError::Lost { loss, .. }) = self.check_file(name) else { return };
        if !matches!(loss, PathLoss::Replaced { .. } | PathLoss::CutOff { .. }) {
            return;
        }
        if rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()).is_ok() {
            let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
            removed.insert(name.to_owned(), loss.to_string());
        }
    }

    /// The error if this process has removed the file.
    fn why_removed(&self, name: &str) -> Option<WriteError> {
        let removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let loss = PathLoss::Removed { why: removed.get(name)?.clone() };
        let path = self.path.clone();
        let caution = self.layout.caution;
        Some(WriteError::Lost { path, loss, caution })
    }

    fn in_use(&self) -> MutexGuard<'_, BTreeMap<String, Binding>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn same(
        &self,
        path: impl Fn() -> PathBuf,
        in_use: Binding,
        there: rustix::io::Result<Stat>,
    ) -> Result<(), WriteError> {
        let loss = match there.map(|there| FileSize::of(&there)) {
            Ok(there) => {
                let mut known = [Some(in_use.own), in_use.next].into_iter().flatten();
                match known.find(|known| known.id == there.id) {
                    Some(known) if there.bytes >= known.bytes => return Ok(()),
                    Some(FileSize { bytes, .. }) => {
                        PathLoss::CutOff { path: path(), bytes: there.bytes, before: bytes }
                    }
                    None => PathLoss::Replaced { path: path() },
                }
            }
            Err(errno) => PathLoss::Missing { path: path(), source: errno.into() },
        };
        Err(WriteError::Lost { path: self.path.clone(), loss, caution: self.layout.caution })
    }

    /// Notes that from now on `file` must be found under `name`, and no shorter than it is.
    pub fn remember(&self, name: &str, file: &File) -> io::Result<()> {
        let stat = rustix::fs::fstat(file)?;
        let mut in_use = self.in_use();
        in_use.insert(name.to_owned(), Binding { own: FileSize::of(&stat), next: None });
        Ok(())
    }

    /// Notes that `file` is about to take this name: until [`remember`](Self::remember) a check on
    /// another thread may find the file before or this one. A lock over the rename would do, too,
    /// but a rename that hangs in the disk must not keep the driver from its own check.
    fn expect(&self, name: &str, file: &File) -> io::Result<()> {
        let stat = rustix::fs::fstat(file)?;
        let mut in_use = self.in_use();
        if let Some(in_use) = in_use.get_mut(name) {
            in_use.next = Some(FileSize::of(&stat));
        }
        Ok(())
    }

    /// Opens the stored file `name`, if there is one.
    pub fn stored(&self, name: &str, flags: OFlags) -> Result<Option<File>, StateError> {
        let failed = |source: io::Error| StateError::io("read", &self.at(name), source);
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed(errno.into())),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                Err(StateError::ForeignFile { path: self.at(name), found: Found::NotAFile })
            }
            Ok(_) => {
                let file = self.file(name, flags).map_err(failed)?;
                self.remember(name, &file).map_err(failed)?;
                Ok(Some(file))
            }
        }
    }

    /// Puts `bytes` under `name`, whole or not at all, in sight of this boot of the machine.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        self.put_with(name, bytes, |_| Ok(()))
    }

    /// Puts `bytes` under `name`, whole or not at all, even if the machine stops at any moment.
    pub fn put_durably(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put_with(name, bytes, |file| self.disk.flush(file.as_fd()))?;
        self.disk.flush(self.fd.as_fd())
    }

    fn put_with(
        &self,
        name: &str,
        bytes: &[u8],
        settle: impl Fn(&File) -> io::Result<()>,
    ) -> io::Result<File> {
        let temporary = temporary(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        let mut file = self.file(&temporary, flags)?;
        let at = self.fd.as_fd();
        let written = (self.disk.write(&mut file, bytes))
            .and_then(|()| settle(&file))
            .and_then(|()| self.expect(name, &file))
            .and_then(|()| self.disk.rename(at, &temporary, name))
            .and_then(|()| self.remember(name, &file));
        if written.is_err() {
            // The room that the file takes may be needed. A file left behind does no harm.
            let _ = self.disk.remove(at, &temporary);
        }
        written.map(|()| file)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A child between fork and exec has the same lock: closing alone would leave it held.
        if let Some(held) = &self.held {
            let _ = rustix::fs::flock(held, FlockOperation::Unlock);
        }
    }
}

fn file_id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}

fn lock_now(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// The name under which a file is prepared before it takes its own.
fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The living process that signed.
fn owner(directory: &OwnedFd) -> Option<u32> {
    let file = Linux.open(directory.as_fd(), LOCK, OFlags::RDONLY).ok()?;
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    let pid: u32 = text.trim().parse().ok()?;
    Path::new("/proc").join(pid.to_string()).exists().then_some(pid)
}

/// Checks the mode: a process that can write into the directory can put another memory in its
/// place.
fn check_directory(directory: &OwnedFd, path: &Path) -> Result<(), StateError> {
    let stat = rustix::fs::fstat(directory)
        .map_err(|errno| StateError::io("open state directory", path, errno))?;
    let user = rustix::process::geteuid().as_raw();
    let owner = stat.st_uid;
    if owner != user {
        return Err(StateError::Owner { path: path.to_owned(), owner, user });
    }
    match stat.st_mode & 0o7777 {
        mode if mode & 0o022 != 0 => Err(StateError::Writable { path: path.to_owned(), mode }),
        _ => Ok(()),
    }
}

/// Opens the file to be locked, or makes it. Every process that can open the file, even to read,
/// can lock it.
fn open_held(directory: &OwnedFd, path: &Path) -> Result<File, StateError> {
    let path = path.join(HELD);
    let failed = |source: io::Error| StateError::io("open", &path, source);
    let mut file =
        Linux.open(directory.as_fd(), HELD, OFlags::RDWR | OFlags::CREATE).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(StateError::ForeignFile { path, found: Found::NotAFile });
    }
    let mode = about.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(StateError::Lockable { path, mode });
    }
    if about.len() == 0 {
        // The text is for people: the lock holds without it.
        let _ = file.write_all(HELD_TEXT);
    }
    Ok(file)
}

fn create(path: &Path, disk: &dyn Disk) -> Result<(), StateError> {
    if let Ok(target) = std::fs::read_link(path) {
        return Err(StateError::DanglingLink { path: path.to_owned(), target });
    }
    let failed = |source: io::Error| StateError::io("create state directory", path, source);
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    match disk.make_directory(path).map_err(|error| (error.kind(), error)) {
        Ok(()) | Err((io::ErrorKind::AlreadyExists, _)) => {}
        Err((io::ErrorKind::NotFound, _)) => {
            return Err(StateError::NoParent { path: path.to_owned(), parent: parent.to_owned() });
        }
        Err((_, error)) => return Err(failed(error)),
    }
    File::open(parent).and_then(|parent| disk.flush(parent.as_fd())).map_err(failed)
}

fn not_a_directory(path: &Path) -> StateError {
    // Find the file in the way: no path exists below it.
    let found = path.ancestors().find(|part| part.exists()).unwrap_or(path).to_owned();
    StateError::NotADirectory { path: path.to_owned(), found }
}
