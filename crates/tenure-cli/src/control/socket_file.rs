//! The files of a control socket. They are in a directory that only its owner can change, closed to
//! other users, and used by one process at a time.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use tenure::state::FileId;
use tenure::{Time, clock};
use tokio::net::{UnixListener, UnixStream};

use super::{RUNTIME_DIRECTORY, SOCKET, until_file};
use crate::exit::Exit;
use crate::failure::{Failure, shell_word};

/// The suffix of a lock's name, after the name of its socket.
const LOCK: &str = ".lock";

/// The longest path of a socket: `sockaddr_un` has 108 bytes, the last of which is zero.
pub(super) const PATH_MAX: usize = 107;

/// The number of attempts to open a lock that other processes remove meanwhile.
const ATTEMPTS: u32 = 100;

/// The pause between attempts to take a lock, and the number of attempts. Another process that
/// removes leftovers holds the lock for a moment.
const SWEPT: Duration = Duration::from_millis(10);
const SWEPT_MAX: u32 = 10;

/// More bytes than any file with a deadline has.
const UNTIL_MAX: u64 = 32;

/// The files of a socket that this process has locked. Dropping this unlocks and removes them.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    socket: FileId,
    /// The lock beside the socket, held as long as the process has the place.
    lock: File,
}

impl SocketFile {
    /// Takes the place at `path`, and listens there with mode 0600. Creates a missing directory,
    /// which must be safe from other users, and replaces a socket without a listener.
    pub(super) async fn take(path: &Path) -> Result<(Self, UnixListener), Failure> {
        let lock = lock(path).await?;
        sweep(path).await;
        let (listener, socket) = listen(path).await?;
        Ok((Self { path: path.to_owned(), socket, lock }, listener))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the socket and the lock are still in their places.
    pub(super) fn is_there(&self) -> bool {
        self.has_lock() && FileId::at(&self.path) == Some(self.socket)
    }

    fn has_lock(&self) -> bool {
        let own = FileId::open(&self.lock);
        own.is_some() && own == FileId::at(&lock_file(&self.path))
    }

    /// Makes missing files again, by the rules of [`take`](Self::take), and returns a new listener
    /// if there is one. If a later step fails, the files that were already made stay.
    pub(super) async fn mend(&mut self) -> Result<Option<UnixListener>, Failure> {
        if !self.has_lock() {
            self.lock = lock(&self.path).await?;
        }
        if self.is_there() {
            return Ok(None);
        }
        let (listener, socket) = listen(&self.path).await?;
        self.socket = socket;
        Ok(Some(listener))
    }
}

/// Takes the lock of the place at `path`, in a directory that is created if it is missing.
async fn lock(path: &Path) -> Result<File, Failure> {
    check_length(path)?;
    let directory = directory_of(path);
    make_directory(directory)?;
    check_directory(directory)?;
    for _ in 0..SWEPT_MAX {
        if let Some(lock) = lock_socket(path, OFlags::CREATE)? {
            return Ok(lock);
        }
        tokio::time::sleep(SWEPT).await;
    }
    Err(taken(path))
}

/// Removes the files that killed processes left beside a socket at `path` in the default directory.
/// Other directories may hold files of other programs.
async fn sweep(path: &Path) {
    let default = super::directory(std::env::var_os(RUNTIME_DIRECTORY).as_deref());
    if directory_of(path) == default {
        sweep_all(&default).await;
    }
}

/// Removes the files of dead processes from the directory of this user's sockets. A process is dead
/// if its lock is free, its socket has no listener, and its deadline is over. Files without a lock
/// stay.
pub(crate) async fn sweep_all(directory: &Path) {
    if check_directory(directory).is_err() {
        return;
    }
    let names = |directory: &Path| {
        let entries = directory.read_dir().into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    };
    for lock in names(directory) {
        let Some(name) = lock.strip_suffix(LOCK).filter(|name| is_ours(name)) else { continue };
        let path = directory.join(name);
        let Ok(Some(held)) = lock_socket(&path, OFlags::empty()) else { continue };
        if may_answer(&path).await || deadline(&until_file(&path)).is_some() {
            continue;
        }
        clear(&private(&path));
        for file in names(directory).filter(|file| is_until(file, name)) {
            let _ = fs::remove_file(directory.join(file));
        }
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(lock_file(&path));
        drop(held);
    }
}

/// Whether `name` has the form of a socket's name in the default directory: a kind, a hash, and a
/// name.
fn is_ours(name: &str) -> bool {
    let rest = name.strip_prefix("run-").or_else(|| name.strip_prefix("node-"));
    let parts = rest.and_then(|rest| rest.strip_suffix(SOCKET)?.split_once('-'));
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    parts.is_some_and(|(hash, _)| hash.len() == 16 && hash.bytes().all(is_hex))
}

/// Whether `file` is the file with the deadline of the runner with the socket `name`, or a
/// temporary form of that file.
fn is_until(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix(".until"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_new = |rest: &str| {
        let writer = rest.strip_prefix('.')?.strip_suffix(".new")?.split_once('-')?;
        Some(is_number(writer.0) && is_number(writer.1))
    };
    rest.is_some_and(|rest| matches!(rest, "" | ".try") || is_new(rest) == Some(true))
}

/// Reads the deadline in this file, if the deadline is in the future. CMD of a killed runner may
/// read the file until the grace of CMD is over.
pub(crate) fn deadline(until: &Path) -> Option<Time> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::open(until, flags, Mode::empty()).ok()?;
    let mut text = String::new();
    let _ = File::from(file).take(UNTIL_MAX).read_to_string(&mut text);
    let until = text.trim_end().parse().ok().map(Time::from_nanos)?;
    (until > clock::now()).then_some(until)
}

/// Whether a process listens at `path`, or may listen there.
async fn may_answer(path: &Path) -> bool {
    UnixStream::connect(path).await.map_or_else(|error| !is_gone(&error), |_| true)
}

/// Whether the error means that a socket has no listener.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

/// Listens at `path`; the caller has the lock.
async fn listen(path: &Path) -> Result<(UnixListener, FileId), Failure> {
    if let Ok(about) = path.symlink_metadata() {
        if !about.file_type().is_socket() {
            return Err(refused(path, "another file has this name"));
        }
        if UnixStream::connect(path).await.is_ok() {
            return Err(taken(path));
        }
    }
    bind(path).map_err(|error| refused(path, &error.to_string()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Without the lock the socket may belong to another process, even if the file has the same
        // inode number. The next process replaces a file that is left behind.
        if self.has_lock() {
            if FileId::at(&self.path) == Some(self.socket) {
                let _ = fs::remove_file(&self.path);
            }
            let _ = fs::remove_file(lock_file(&self.path));
        }
        // Unlock first: a child between fork and exec shares the lock, and would keep a lock that
        // is only closed.
        let _ = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
    }
}

pub(crate) fn check_length(path: &Path) -> Result<(), Failure> {
    let bytes = path.as_os_str().as_bytes().len();
    if bytes <= PATH_MAX {
        return Ok(());
    }
    let what = format!(
        "the path of the control socket has {bytes} bytes, and the system allows {PATH_MAX}"
    );
    let fix = "give a shorter --control PATH, --id or XDG_RUNTIME_DIR";
    Err(Failure::new(Exit::System, what, fix))
}

fn refused(path: &Path, why: &str) -> Failure {
    let what = format!("the control socket {} cannot be made: {why}", path.display());
    let fix = "give --control PATH with a free name, in a directory where this user may write";
    Failure::new(Exit::System, what, fix)
}

fn taken(path: &Path) -> Failure {
    let what = format!("another process has the control socket {}", path.display());
    let fix = "end the other process, or give this process another name or --control";
    Failure::new(Exit::System, what, fix)
}

fn lock_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(LOCK);
    name.into()
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn make_directory(directory: &Path) -> Result<(), Failure> {
    if directory.exists() {
        return Ok(());
    }
    // Only the last directory is created, so that a missing mount is noticed.
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = directory_of(directory).display();
            let why = format!(" cannot be made: {parent} does not exist");
            Err(unusable(directory, &why, &format!(", or make the directory {parent} first")))
        }
        made => made.map_err(|error| unusable(directory, &format!(" cannot be made: {error}"), "")),
    }
}

/// Refuses a directory in which another user can replace the socket.
fn check_directory(directory: &Path) -> Result<(), Failure> {
    let cannot = |error: io::Error| unusable(directory, &format!(" cannot be used: {error}"), "");
    let about = directory.metadata().map_err(cannot)?;
    match unsafe_because(about.uid(), about.mode(), user()) {
        None => Ok(()),
        Some(unsafe_because) => Err(not_safe(directory, &unsafe_because)),
    }
}

fn not_safe(directory: &Path, UnsafePath { why, cure }: &UnsafePath) -> Failure {
    let named = directory.display().to_string();
    let cure = format!(", or change this directory: {cure} {}", shell_word(&named));
    unusable(directory, &format!(", the directory of the control socket, {why}"), &cure)
}

/// The failure for an unusable directory; `or` is a further remedy.
fn unusable(directory: &Path, why: &str, or: &str) -> Failure {
    let what = format!("{}{why}", directory.display());
    let fix = format!("give --control PATH in a directory to which only this user can write{or}");
    Failure::new(Exit::System, what, fix)
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Connects to the socket at `path`, if only this user or root can have made the socket. Root also
/// connects to the socket of another user in a directory of that user.
pub(crate) async fn connect(path: &Path) -> Result<io::Result<UnixStream>, Failure> {
    let directory = directory_of(path);
    let Ok(about) = directory.metadata() else { return Ok(UnixStream::connect(path).await) };
    let owner = about.uid();
    let asks_as = if user() == 0 { owner } else { user() };
    if let Some(unsafe_because) = unsafe_because(owner, about.mode(), asks_as) {
        return Err(not_safe(directory, &unsafe_because));
    }
    let connected = async {
        let stream = UnixStream::connect(path).await?;
        let peer = stream.peer_cred()?.uid();
        Ok((stream, peer))
    };
    Ok(match connected.await {
        Ok((stream, peer)) if peer == 0 || peer == asks_as => Ok(stream),
        Ok((_, peer)) => {
            let what = format!("user {peer} listens at this socket, and not user {asks_as}");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
        }
        Err(error) => Err(error),
    })
}

/// The reason for which a directory is unsafe, and the command that mends it, without the path.
#[derive(PartialEq, Eq, Debug)]
struct UnsafePath {
    why: String,
    cure: String,
}

/// Returns why a directory of `owner` with this `mode` is unsafe for sockets of `user`. A directory
/// of root is as safe as the user's own, because root can do anything anyway. In a sticky directory
/// such as `/tmp` only the owners of files can remove them.
fn unsafe_because(owner: u32, mode: u32, user: u32) -> Option<UnsafePath> {
    if owner != user && owner != 0 {
        let why = format!("belongs to user {owner}, and this process runs as user {user}");
        return Some(UnsafePath { why, cure: format!("chown {user}") });
    }
    let sticky = mode & 0o1000 != 0;
    let why = || format!("has the mode {:03o}: others can write to it", mode & 0o7777);
    (mode & 0o022 != 0 && !sticky).then(|| UnsafePath { why: why(), cure: "chmod go-w".into() })
}

/// Locks the file beside the socket; returns `None` if another process has the lock. The lock ends
/// with the process.
fn lock_socket(path: &Path, create: OFlags) -> Result<Option<File>, Failure> {
    let lock = lock_file(path);
    let cannot = |error: Errno| refused(path, &format!("{}: {error}", lock.display()));
    let flags = OFlags::RDWR | create | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    for _ in 0..ATTEMPTS {
        // No other user may open the file, so that no other user can hold the lock.
        let fd = rustix::fs::open(&lock, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o600));
        let file = File::from(fd.map_err(cannot)?);
        let about = file.metadata().map_err(|error| refused(path, &error.to_string()))?;
        if let Some(why) = foreign(&about) {
            return Err(refused(path, &format!("{} {why}", lock.display())));
        }
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(cannot(error)),
        }
        // The previous holder may have removed this file meanwhile, and a third process may have
        // made a new file.
        if FileId::at(&lock) == Some(FileId::of(&about)) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// The fault of a lock's file: other users that own the file, or can open it, can hold the lock.
fn foreign(about: &fs::Metadata) -> Option<String> {
    let owner = about.uid();
    let mode = about.mode() & 0o7777;
    if owner != user() {
        return Some(format!("belongs to user {owner}, and this process runs as user {}", user()));
    }
    (mode & 0o077 != 0).then(|| format!("has the mode {mode:03o}: others can open it"))
}

/// Binds in a private directory, and renames the socket once its mode is right. The bind uses a
/// path below `/proc`, which is always short enough for a socket. The private directory has a fixed
/// name, so that the next start finds leftovers of a crash. If another user owns a directory of
/// this name, the bind fails.
fn bind(path: &Path) -> io::Result<(UnixListener, FileId)> {
    let private = private(path);
    clear(&private);
    fs::DirBuilder::new().mode(0o700).create(&private)?;
    let bound = bind_within(&private, path);
    clear(&private);
    bound
}

/// The directory in which the socket for `path` is made.
fn private(path: &Path) -> PathBuf {
    let mut private = path.as_os_str().to_owned();
    private.push(".new");
    private.into()
}

fn bind_within(private: &Path, path: &Path) -> io::Result<(UnixListener, FileId)> {
    let inside = private.join("socket");
    let opened = File::open(private)?;
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/socket", opened.as_raw_fd()))?;
    fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
    let socket = FileId::of(&inside.symlink_metadata()?);
    fs::rename(&inside, path)?;
    Ok((listener, socket))
}

/// Removes the directory in which a socket was made, if it belongs to this user.
fn clear(private: &Path) {
    let Ok(about) = private.symlink_metadata() else { return };
    if !about.is_dir() || about.uid() != user() {
        return;
    }
    let _ = fs::remove_file(private.join("socket"));
    let _ = fs::remove_dir(private);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    #[test]
    fn writable_directories_are_unsafe() {
        for (owner, mode) in [(7, 0o700), (7, 0o755), (0, 0o755), (0, 0o1777), (7, 0o1777)] {
            assert_eq!(unsafe_because(owner, mode, 7), None, "{owner} {mode:o}");
        }
        for (owner, mode) in [(7, 0o777), (7, 0o720), (0, 0o757)] {
            let why = format!("has the mode {mode:o}: others can write to it");
            let cure = "chmod go-w".to_owned();
            assert_eq!(unsafe_because(owner, mode, 7), Some(UnsafePath { why, cure }));
        }
        for mode in [0o700, 0o1777] {
            let why = "belongs to user 8, and this process runs as user 7".to_owned();
            assert_eq!(
                unsafe_because(8, mode, 7),
                Some(UnsafePath { why, cure: "chown 7".into() })
            );
        }
    }

    #[tokio::test]
    async fn place_has_one_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let (first, listener) = SocketFile::take(&path).await.unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(lock_file(&path).metadata().unwrap().mode() & 0o777, 0o600);
        // The second process is refused even while the first does not answer.
        let refusal = SocketFile::take(&path).await.unwrap_err().what;
        assert_eq!(refusal, format!("another process has the control socket {}", path.display()));
        drop(listener);
        assert_eq!(SocketFile::take(&path).await.unwrap_err().what, refusal);
        // The files that a killed process would leave.
        let stale = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(stale, 2, "the socket and its lock");
        drop(std::mem::replace(&mut { first }.lock, File::open("/dev/null").unwrap()));
        let (_second, _listener) = SocketFile::take(&path).await.unwrap();
    }

    #[tokio::test]
    async fn successors_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let (first, listener) = SocketFile::take(&path).await.unwrap();
        // Another program removes the files; the second process does not see the first.
        fs::remove_file(&path).unwrap();
        fs::remove_file(lock_file(&path)).unwrap();
        let (second, _listener) = SocketFile::take(&path).await.unwrap();
        drop((first, listener));
        assert!(UnixStream::connect(&path).await.is_ok(), "the second one's socket is gone");
        assert!(SocketFile::take(&path).await.is_err(), "the second one's lock is gone");
        drop(second);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn owner_makes_removed_files_again() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("sockets");
        let path = folder.join("control");
        let (mut place, _before) = SocketFile::take(&path).await.unwrap();
        assert!(place.is_there() && place.mend().await.unwrap().is_none());
        for _ in 0..2 {
            fs::remove_dir_all(&folder).unwrap();
            assert!(!place.is_there());
            let _listener = place.mend().await.unwrap().unwrap();
            assert!(place.is_there() && UnixStream::connect(&path).await.is_ok());
            assert!(SocketFile::take(&path).await.is_err(), "a second one is let in");
        }
        fs::remove_file(lock_file(&path)).unwrap();
        assert!(!place.is_there());
        place.mend().await.unwrap();
        assert!(place.is_there());
        fs::remove_file(&path).unwrap();
        assert!(place.mend().await.unwrap().is_some() && place.is_there());

        // Another process was faster, and has the place.
        fs::remove_dir_all(&folder).unwrap();
        let (other, _listener) = SocketFile::take(&path).await.unwrap();
        let what = place.mend().await.unwrap_err().what;
        assert_eq!(what, format!("another process has the control socket {}", path.display()));
        drop(place);
        assert!(other.is_there(), "what is another one's was removed");
    }

    #[tokio::test]
    async fn leftovers_of_a_crash_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let private = folder.path().join("control.new");
        fs::create_dir(&private).unwrap();
        drop(UnixListener::bind(private.join("socket")).unwrap());
        let (place, _listener) = SocketFile::take(&path).await.unwrap();
        assert!(!private.exists());
        drop(place);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Leaves the files of a killed process.
    fn die(folder: &Path, name: &str) {
        drop(UnixListener::bind(folder.join(name)).unwrap());
        for file in [".until", ".until.try", ".until.7-0.new", ".lock"] {
            fs::write(folder.join(format!("{name}{file}")), "").unwrap();
        }
        let lock = folder.join(format!("{name}.lock"));
        fs::set_permissions(lock, Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(folder.join(format!("{name}.new"))).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = folder.read_dir().unwrap().flatten();
        let mut names: Vec<_> =
            names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    const RUN: &str = "run-0123456789abcdef-";
    const NODE: &str = "node-0123456789abcdef-";

    #[tokio::test]
    async fn dead_sockets_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let lives = [format!("{RUN}a.sock"), format!("{NODE}a.sock")];
        let _one = SocketFile::take(&at(&lives[0])).await.unwrap();
        let _two = SocketFile::take(&at(&lives[1])).await.unwrap();
        // A name that begins like the file with the deadline of the dead process below.
        let alike = format!("{RUN}b.sock.until.7-0.sock");
        let _three = SocketFile::take(&at(&alike)).await.unwrap();
        for name in ["other", lives[0].as_str(), alike.as_str()] {
            fs::write(at(&format!("{name}.until")), "").unwrap();
        }
        // The socket answers, and its lock is free: the process of another program, or a process
        // that lost its lock.
        let heard = format!("{RUN}heard.sock");
        die(folder.path(), &heard);
        fs::remove_file(at(&heard)).unwrap();
        let _listens = UnixListener::bind(at(&heard)).unwrap();
        // Names that other programs may use.
        die(folder.path(), "node-x.sock");
        die(folder.path(), "run-0123456789ABCDEF-a.sock");
        let kept = names(folder.path());
        for dead in ["b.sock", "a-1.sock", "a.sock.sock"] {
            die(folder.path(), &format!("{RUN}{dead}"));
        }
        die(folder.path(), &format!("{NODE}b.sock"));
        // A directory other than the default directory.
        let before = names(folder.path());
        drop(SocketFile::take(&at(&format!("{RUN}c.sock"))).await.unwrap());
        assert_eq!(names(folder.path()), before);
        sweep_all(folder.path()).await;
        assert_eq!(names(folder.path()), kept);
        assert!(UnixStream::connect(at(&lives[0])).await.is_ok());
    }

    /// After the end of a runner, its guard and CMD may live on for the grace.
    #[tokio::test]
    async fn deadline_stays_until_over() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("{RUN}a.sock");
        die(folder.path(), &name);
        let until = folder.path().join(format!("{name}.until"));
        let deadline = clock::now().after(Duration::from_secs(1_000_000));
        fs::write(&until, format!("{}\n", deadline.as_nanos())).unwrap();
        let kept = names(folder.path());
        sweep_all(folder.path()).await;
        assert_eq!(names(folder.path()), kept);
        fs::write(&until, format!("{}\n", clock::now().as_nanos())).unwrap();
        sweep_all(folder.path()).await;
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }

    /// In a directory like `/tmp` other users can add files, but not remove ours.
    #[tokio::test]
    async fn files_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let path = folder.path().join("control");
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), folder.path().join("control.new")).unwrap();
        fs::write(elsewhere.path().join("socket"), "").unwrap();
        assert!(SocketFile::take(&path).await.is_err(), "a link in the place of the directory");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
        fs::remove_file(folder.path().join("control.new")).unwrap();

        let lock = lock_file(&path);
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, Permissions::from_mode(0o644)).unwrap();
        let what = SocketFile::take(&path).await.unwrap_err().what;
        assert!(what.ends_with("control.lock has the mode 644: others can open it"), "{what}");
        fs::remove_file(&lock).unwrap();

        let refused = connect(&path).await.unwrap().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let what = connect(&path).await.unwrap_err().what;
        assert!(what.ends_with("has the mode 777: others can write to it"), "{what}");
    }

    /// Giving a file to another user needs root.
    #[tokio::test]
    async fn lock_of_others_is_refused() {
        if user() != 0 {
            return eprintln!("not run: only root can give a file to somebody else");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        fs::write(lock_file(&path), "").unwrap();
        fs::set_permissions(lock_file(&path), Permissions::from_mode(0o600)).unwrap();
        chown(lock_file(&path), Some(65534), None).unwrap();
        let what = SocketFile::take(&path).await.unwrap_err().what;
        assert!(what.ends_with("belongs to user 65534, and this process runs as user 0"), "{what}");
        fs::remove_file(lock_file(&path)).unwrap();

        // Root listens in a directory that another user now owns, which is allowed.
        let (_place, _listener) = SocketFile::take(&path).await.unwrap();
        chown(folder.path(), Some(65534), None).unwrap();
        assert!(connect(&path).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn other_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        fs::write(&path, "precious").unwrap();
        let what = SocketFile::take(&path).await.unwrap_err().what;
        assert!(what.ends_with("cannot be made: another file has this name"), "{what}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}
