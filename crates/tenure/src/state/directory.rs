//! A state directory: found or created, locked, with its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;

use super::disk::{Disk, Linux};
use super::error::{Found, PathLoss, StateError, WriteError};
use super::file_id::FileId;

/// File with the pid of the process that uses the directory, for people and error messages.
const LOCK: &str = "lock";

/// File that the using process locks. Its name does not look like a leftover to people, and `rm *`
/// does not remove it.
const HELD: &str = ".held";

/// Attempts to lock [`HELD`], which another process may remove in between.
const ATTEMPTS: u32 = 100;

const HELD_TEXT: &[u8] =
    b"The process that uses this directory holds a lock on this file: leave it\n";

/// Files that a protocol keeps in a state directory.
#[derive(Debug)]
pub struct Layout {
    /// Name of the [`Document`](super::Document). A directory without it has no state.
    pub document: &'static str,
    pub others: &'static [&'static str],
    /// The end of an error's sentence: how to start after the state was lost, and the effect of
    /// such a start.
    pub relearn: &'static str,
    /// The end of an error's sentence: how to start again after the directory was lost under a
    /// running node.
    pub caution: &'static str,
}

impl Layout {
    /// Whether the name belongs to a file of the state other than the document. Such a file without
    /// the document shows that the document was lost.
    fn remains(&self, name: &str) -> bool {
        self.others.iter().any(|other| name == *other || name == temporary(other))
    }

    /// Whether the name belongs to a state directory. The root of a file system has a `lost+found`.
    fn has(&self, name: &str) -> bool {
        [LOCK, HELD, "lost+found", self.document].contains(&name)
            || name == temporary(self.document)
            || self.remains(name)
    }
}

/// An open directory that no other [`Directory`] uses, in this or another process.
///
/// The kernel holds the lock, on a file that only the owner can open. The lock ends with the
/// process, whatever ends it, and no other process can take it. Removing other files does not break
/// it. All files are reached through the open directory: if another directory takes its path, this
/// process does not write into the other directory.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
    layout: &'static Layout,
    /// The locked file, from [`lock`](Self::lock) on.
    held: Option<File>,
    own: FileId,
    /// The locked file, and files of the state, each from its first read or write on.
    in_use: Mutex<BTreeMap<String, Binding>>,
    /// Names of files that this process removed, with the reasons.
    removed: Mutex<BTreeMap<String, String>>,
    disk: Arc<dyn Disk>,
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    own: FileSize,
    next: Option<FileSize>,
}

/// A file, and its size: a smaller size means that the file was cut off.
#[derive(Clone, Copy, Debug)]
struct FileSize {
    id: FileId,
    bytes: u64,
}

impl FileSize {
    fn of(stat: &Stat) -> Self {
        Self { id: FileId::from(stat), bytes: u64::try_from(stat.st_size).unwrap_or_default() }
    }

    /// Reads the file `name` in the directory `at`, or with [`AtFlags::EMPTY_PATH`] the open file
    /// `at`. Does not read the file's times: since Linux 6.13 each write after such a read makes
    /// the file system journal the inode. Without such reads only the first write in a tick of the
    /// clock does so.
    fn read(at: BorrowedFd<'_>, name: &str, flags: AtFlags) -> rustix::io::Result<Self> {
        match rustix::fs::statx(at, name, flags, StatxFlags::INO | StatxFlags::SIZE) {
            Ok(there) => {
                let device = rustix::fs::makedev(there.stx_dev_major, there.stx_dev_minor);
                Ok(Self { id: FileId::new(device, there.stx_ino), bytes: there.stx_size })
            }
            // Old kernels and some containers have no `statx`.
            Err(Errno::NOSYS) => Ok(Self::of(&rustix::fs::statat(at, name, flags)?)),
            Err(errno) => Err(errno),
        }
    }
}

impl Directory {
    /// Opens `path` and locks it: from now on no other process can use it. If `path` is missing, it
    /// is created with mode 0700, but not its parents. A directory with foreign files and no
    /// document is refused, and nothing is put there.
    ///
    /// The call blocks for as long as the disk takes, but never waits for the lock.
    pub fn open(path: &Path, layout: &'static Layout) -> Result<Self, StateError> {
        Self::open_on(path, layout, Arc::new(Linux))
    }

    /// Opens like [`open`](Self::open), on another disk, for tests.
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

    /// Opens `path`, and changes nothing there.
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
        let own = FileId::from(&stat);
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

    /// The first file of the state besides its document.
    pub fn remains(&self) -> Result<Option<String>, StateError> {
        let names = self.names()?;
        Ok(names.into_iter().find(|name| self.layout.remains(name)))
    }

    /// The files of the state.
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
            // Another process may have replaced the file since it was opened.
            let there = rustix::fs::statat(&self.fd, HELD, AtFlags::SYMLINK_NOFOLLOW);
            let there = there.ok().as_ref().map(FileId::from);
            if there.is_some() && there == FileId::open(&held) {
                let failed = |source| StateError::io("lock", &self.at(HELD), source);
                self.remember(HELD, &held).map_err(failed)?;
                self.held = Some(held);
                return Ok(());
            }
        }
        Err(StateError::io("lock", &self.at(HELD), Errno::AGAIN))
    }

    /// Writes the pid of this process into the directory.
    pub fn sign(&self) -> Result<(), StateError> {
        // The text has a fixed length, so that no reader finds part of it, or the tail of an older
        // text.
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

    /// Opens the regular file `name`; with `CREATE` in the flags a missing file is created with
    /// mode 0600.
    pub fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        self.disk.open(self.fd.as_fd(), name, flags)
    }

    /// Checks whether the next start would find this directory, and those of its files in use that
    /// `wanted` selects. Needs one system call for the directory and one for each file.
    pub fn check(&self, wanted: impl Fn(&str) -> bool) -> Result<(), WriteError> {
        // A directory has no length to compare.
        let own = Binding { own: FileSize { id: self.own, bytes: 0 }, next: None };
        let there = rustix::fs::stat(&self.path).map(|stat| FileSize::of(&stat));
        self.same(|| self.path.clone(), own, there)?;
        let in_use = self.in_use().clone();
        in_use.keys().filter(|name| wanted(name)).try_for_each(|name| self.check_file(name))
    }

    /// Checks one file in use, with one system call in the open directory.
    pub fn check_file(&self, name: &str) -> Result<(), WriteError> {
        // Hold no lock during the system call: a disk that hangs must not block another thread's
        // check.
        let look = || {
            let known = self.in_use().get(name).copied();
            let there = FileSize::read(self.fd.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
            let is_gone = there.as_ref().is_err_and(|errno| *errno == Errno::NOENT);
            let same = known.map_or(Ok(()), |known| self.same(|| self.at(name), known, there));
            same.map_err(|lost| if is_gone { self.why_removed(name).unwrap_or(lost) } else { lost })
        };
        // Another thread may have replaced the file between the two reads, so check again.
        look().or_else(|_| look())
    }

    /// Whether the open `file` is the file in use under `name`, and no shorter than before. The
    /// name itself may lead elsewhere by now. Needs one system call.
    pub fn is_whole(&self, name: &str, file: &File) -> bool {
        let known = self.in_use().get(name).map(|known| known.own);
        let there = FileSize::read(file.as_fd(), "", AtFlags::EMPTY_PATH).ok();
        known
            .zip(there)
            .is_some_and(|(known, there)| known.id == there.id && known.bytes <= there.bytes)
    }

    /// Removes `name` if it leads to another file than the written file, or to a file that was cut
    /// off. The next start must not use such a file. If something else is missing, such as the
    /// lock, the name stays: another process may have put the file there for itself.
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

    /// The error for a file that this process has removed.
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
        there: rustix::io::Result<FileSize>,
    ) -> Result<(), WriteError> {
        let loss = match there {
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

    /// Notes that from now on `file` must be found under `name`, at its present size or longer.
    pub fn remember(&self, name: &str, file: &File) -> io::Result<()> {
        let stat = rustix::fs::fstat(file)?;
        let mut in_use = self.in_use();
        in_use.insert(name.to_owned(), Binding { own: FileSize::of(&stat), next: None });
        Ok(())
    }

    /// Notes that `file` is about to replace the file under `name`. Until the call of
    /// [`remember`](Self::remember), a check on another thread may find either file. A lock during
    /// the rename would block that check if the rename hangs in the disk.
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

    /// Puts `bytes` under `name`, completely or not at all, so that they survive the process.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<File> {
        self.put_with(name, bytes, |_| Ok(()))
    }

    /// Puts `bytes` under `name`, completely or not at all, so that they survive the machine.
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
            // Free the space of the file. If that fails, the file does no harm.
            let _ = self.disk.remove(at, &temporary);
        }
        written.map(|()| file)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Unlock explicitly: a child between fork and exec shares the lock, and keeps it if this
        // process only closes the file.
        if let Some(held) = &self.held {
            let _ = rustix::fs::flock(held, FlockOperation::Unlock);
        }
    }
}

/// The process that has locked the state directory at `path`, as far as this process sees it.
/// Changes nothing and takes no lock: a node that starts meanwhile would be refused.
#[must_use]
pub fn locked_by(path: &Path) -> Option<u32> {
    let inode = path.join(HELD).metadata().ok()?.ino();
    let signed = owner(&open_directory(path).ok()?)?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().any(|line| is_lock_of(line, signed, inode)).then_some(signed)
}

/// Whether a line of `/proc/locks` shows that the process `pid` has locked the file with this
/// inode: `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
fn is_lock_of(line: &str, pid: u32, inode: u64) -> bool {
    let mut words = line.split_whitespace().skip(1);
    let is_flock = words.next() == Some("FLOCK");
    let holder = words.nth(2).and_then(|word| word.parse().ok());
    let file = words.next().and_then(|word| word.rsplit(':').next()?.parse().ok());
    is_flock && holder == Some(pid) && file == Some(inode)
}

fn lock_now(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// The name of a file until it is complete and is renamed.
fn temporary(name: &str) -> String {
    format!("{name}.tmp")
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The pid in the directory, if that process lives.
fn owner(directory: &OwnedFd) -> Option<u32> {
    let file = Linux.open(directory.as_fd(), LOCK, OFlags::RDONLY).ok()?;
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    let pid: u32 = text.trim().parse().ok()?;
    Path::new("/proc").join(pid.to_string()).exists().then_some(pid)
}

/// Checks the mode: a process that can write into the directory can replace the state.
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

/// Opens the file to be locked, or makes it. Every process that can open it, even for reading, can
/// lock it.
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
        // The text is only for people: the lock works without it.
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
    // The deepest part of the path that exists is no directory, so nothing can exist below it.
    let found = path.ancestors().find(|part| part.exists()).unwrap_or(path).to_owned();
    StateError::NotADirectory { path: path.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::*;

    static LAYOUT: Layout = Layout { document: "d", others: &[], relearn: "", caution: "" };

    #[test]
    fn holder_of_lock_is_seen() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("s");
        assert_eq!(locked_by(&path), None);
        let directory = Directory::open(&path, &LAYOUT).unwrap();
        directory.sign().unwrap();
        assert_eq!(locked_by(&path), Some(std::process::id()));
        drop(directory);
        assert_eq!(locked_by(&path), None);
    }

    #[test]
    fn other_locks_are_no_holders() {
        let held = "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF";
        assert!(is_lock_of(held, 1_234, 5_678));
        assert!(!is_lock_of(held, 1_235, 5_678) && !is_lock_of(held, 1_234, 5_679));
        for line in [
            "1: -> FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF",
            "2: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF",
            "3: FLOCK  ADVISORY",
            "",
        ] {
            assert!(!is_lock_of(line, 1_234, 5_678), "{line}");
        }
    }
}
