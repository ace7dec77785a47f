//! A gate for edicts whose state is a file.
//!
//! The file holds the newest admitted edict. Each check holds a lock beside the file, and replaces
//! the whole file: a crash leaves the state before or after an edict. The edict is on the disk
//! before the check ends, so that a restarted machine admits no earlier edict.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Timespec, Timestamps, UTIME_NOW, flock, futimens};
use rustix::io::Errno;
use tenure::clock;
use tenure::state::FileId;
use tenure_nerio::{EdictGate, EdictRefused, EdictText, EdictTimestamp};

use crate::exit::Exit;
use crate::failure::{Failure, quoted};

/// The first line of the file, with the version of its form.
const HEAD: &str = "tenure edict gate 1\n";

/// More bytes than the longest content of the file.
const CONTENT_MAX: usize = HEAD.len() + EdictText::MAX_BYTES + 2;

/// The longest wait for another check of the same gate.
const PATIENCE: Duration = Duration::from_secs(10);
/// The interval of attempts to take the lock.
const AGAIN: Duration = Duration::from_millis(10);

/// The present time, as the time of access and of change of a file.
const NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};

/// Admits `edict` at the gate in the file at `path`, or fails. The edict is durable on success. A
/// missing file is a lost gate unless the gate `is_new`.
pub(super) async fn admit(
    path: &Path,
    is_new: bool,
    edict: &EdictTimestamp,
) -> Result<(), Failure> {
    let place = Place::of(path)?;
    let _lock = place.lock().await?;
    let mut gate = place.read(is_new)?;
    gate.admit(edict).map_err(|why| refused(&place, &why))?;
    place.replace(edict).map_err(|error| not_written(&place, &error))
}

/// The file of a gate, by a path whose directory has no symbolic links: so each gate has only one
/// lock.
struct Place {
    directory: PathBuf,
    file: PathBuf,
}

impl Place {
    fn of(path: &Path) -> Result<Self, Failure> {
        let unusable = |why: &str| {
            let what = format!("the gate {} cannot be used: {why}", shown(path));
            Failure::new(Exit::System, what, "name a file in an existing directory of this user")
        };
        let Some(name) = path.file_name() else { return Err(unusable("the path names no file")) };
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let directory = directory.canonicalize().map_err(|error| unusable(&error.to_string()))?;
        Ok(Self { file: directory.join(name), directory })
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(end);
        name.into()
    }

    /// Waits for the lock of the gate. The file of the lock stays: after a removal, two checks
    /// could hold a lock each. Each check renews the times of the file, because cleaners remove old
    /// files.
    async fn lock(&self) -> Result<File, Failure> {
        let path = self.beside(".lock");
        let failed = |error: io::Error| {
            let what = format!("the lock of the gate, {}, cannot be used: {error}", shown(&path));
            let fix = "let this user write that file and its directory";
            Failure::new(Exit::System, what, fix)
        };
        let open = || {
            let mut options = File::options();
            // If the path is a pipe, an open for reading and writing does not wait for its other
            // end.
            options.read(true).write(true).create(true).truncate(false);
            options.open(&path).map_err(failed)
        };
        let mut lock = open()?;
        let until = clock::now().after(PATIENCE);
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&lock, &path) => {
                    futimens(&lock, &NOW).map_err(|error| failed(error.into()))?;
                    return Ok(lock);
                }
                // The locked file is no longer at its path. Open the file that is there now, which
                // another check may have locked.
                Ok(()) if clock::now() < until => lock = open()?,
                Err(Errno::WOULDBLOCK | Errno::INTR) if clock::now() < until => {
                    tokio::time::sleep(AGAIN).await;
                }
                Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    let what = format!(
                        "another process has held or removed {}, the lock of the gate, for \
                         {PATIENCE:?}: the edict was not checked",
                        shown(&path)
                    );
                    let fix = "find that process (fuser), let it continue or end it, and check \
                               the edict again";
                    return Err(Failure::new(Exit::System, what, fix));
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// Reads the state of the gate. Fails unless the file is whole.
    fn read(&self, is_new: bool) -> Result<EdictGate, Failure> {
        let kind = match self.file.symlink_metadata() {
            Ok(about) => about.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_new => {
                return Ok(EdictGate::new());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.missing()),
            Err(error) => return Err(self.broken(&error.to_string())),
        };
        if is_new {
            return Err(self.not_new());
        }
        if !kind.is_file() {
            return Err(self.broken("not a regular file"));
        }
        let mut text = String::new();
        let file = File::open(&self.file).map_err(|error| self.broken(&error.to_string()))?;
        let read = file.take(CONTENT_MAX as u64).read_to_string(&mut text);
        read.map_err(|error| self.broken(&error.to_string()))?;
        let newest = text.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix('\n'));
        let Some(newest) = newest else {
            return Err(self.broken("not the two lines of a gate"));
        };
        let newest: EdictText = newest.parse().map_err(|why| self.broken(&format!("{why}")))?;
        let mut gate = EdictGate::new();
        // An empty gate admits every edict, so the stored edict becomes the newest of this gate.
        gate.admit(&newest.0).map_err(|why| refused(self, &why))?;
        Ok(gate)
    }

    /// Replaces the file by a file with `edict`. The new file is on the disk when this function
    /// returns.
    fn replace(&self, edict: &EdictTimestamp) -> io::Result<()> {
        let path = self.beside(".new");
        // A crash may have left this file, and no other check writes it now.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut new = File::create_new(&path)?;
        if let Ok(old) = self.file.metadata() {
            // Keep the owner of the file if root checks an edict. This call fails for most users
            // other than root.
            let _ = fchown(&new, Some(old.uid()), Some(old.gid()));
            new.set_permissions(old.permissions())?;
        }
        writeln!(new, "{HEAD}{}", EdictText(edict.clone()))?;
        new.sync_all()?;
        fs::rename(&path, &self.file)?;
        File::open(&self.directory)?.sync_all()
    }

    fn missing(&self) -> Failure {
        let what = format!(
            "the gate {} does not exist: a new gate in the place of a lost one would admit edicts \
             of earlier leaders",
            shown(&self.file)
        );
        let fix = "correct the path, or bring the file back. Give --new-gate only if this \
                   recipient has never admitted an edict, or after all earlier leaders and their \
                   work have ended";
        Failure::new(Exit::System, what, fix)
    }

    fn not_new(&self) -> Failure {
        let what = format!("--new-gate is given, and the gate {} exists", shown(&self.file));
        let fix = "leave --new-gate out, or name another file";
        Failure::new(Exit::System, what, fix)
    }

    fn broken(&self, why: &str) -> Failure {
        let what = format!(
            "the gate {} cannot be read: {why}; the edict was not checked",
            shown(&self.file)
        );
        let fix = "remove the cause, or restore the newest copy of the file. If all copies are \
                   lost, end all earlier leaders and their work, remove the file, and give \
                   --new-gate";
        Failure::new(Exit::System, what, fix)
    }
}

/// Whether `file` is the file at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let there = path.metadata().ok().map(|about| FileId::of(&about));
    there.is_some() && there == FileId::open(file)
}

fn refused(place: &Place, why: &EdictRefused) -> Failure {
    let what = format!("the gate {} refuses: {why}", shown(&place.file));
    let fix = match why {
        EdictRefused::Older { offered, newest } if offered.epoch < newest.epoch => {
            "drop the work of this edict: its leader did not know the present members yet. If the \
             cluster was founded anew since, its epochs begin at 0 again, and this gate refuses \
             all its edicts: end all earlier leaders and their work, and begin another gate with \
             --new-gate"
        }
        EdictRefused::Older { .. } => {
            "drop the work of this edict: a later edict was admitted. For another attempt, a \
             leader that still leads creates another edict"
        }
        EdictRefused::Incomparable { .. } => {
            "use one gate for each election. If state directories of members were lost, end all \
             earlier leaders and their work, and begin another gate with --new-gate"
        }
    };
    Failure::new(Exit::Refused, what, fix)
}

fn not_written(place: &Place, error: &io::Error) -> Failure {
    let what = format!(
        "the gate {} cannot be written: {error}; the edict counts as refused, and the gate may \
         refuse it later, too",
        shown(&place.file)
    );
    let fix = "make room, or let this user write the directory; then create another edict";
    Failure::new(Exit::System, what, fix)
}

fn shown(path: &Path) -> String {
    quoted(&path.display().to_string())
}
