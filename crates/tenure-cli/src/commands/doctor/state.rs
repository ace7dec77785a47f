//! Checks the state directory: the directory exists or can be made, belongs to this user, and has
//! room, and its disk can flush.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use tenure::clock;

use super::finding::Finding;
use crate::failure::shell_word;

/// Free room in bytes: `ROOM_MIN` is enough for the state of a member, and below `ROOM_LOW` the
/// disk counts as almost full.
const ROOM_MIN: u64 = 1 << 20;
const ROOM_LOW: u64 = 64 << 20;

const MAKE_ROOM: &str = "make room: 1 MiB is enough for a member";

/// The longest wait for the disk.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn check(path: &Path, lease: Option<Duration>) -> Finding {
    let shown = path.display().to_string();
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return of_parent(path, &shown),
        Err(error) => {
            let fix = "run this command as the user that runs tenure";
            return Finding::fails("state", format!("{shown}: {error}"), fix);
        }
    };
    if let Some(finding) = misfit(&about, &shown) {
        return finding;
    }
    let place = path.to_owned();
    let tried = tokio::task::spawn_blocking(move || write(&place));
    match tokio::time::timeout(PATIENCE, tried).await {
        Ok(Ok(Ok((room, flush)))) => judge(&shown, room, flush, lease),
        Ok(Ok(Err(error))) => unwritten(&shown, &error),
        Ok(Err(_)) | Err(_) => {
            let text = format!("{shown}: the disk did not flush within {PATIENCE:?}");
            Finding::fails("state", text, "mend the disk, or give --state on another one")
        }
    }
}

/// A directory that a member would refuse.
fn misfit(about: &Metadata, shown: &str) -> Option<Finding> {
    let word = shell_word(shown).into_owned();
    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (about.uid(), about.mode() & 0o7777);
    if !about.is_dir() {
        let fix = "give --state a directory of its own";
        return Some(Finding::fails("state", format!("{shown} is no directory"), fix));
    }
    if owner != user {
        let text = format!(
            "{shown} belongs to the user {owner}, and this command runs as the user {user}"
        );
        let fix = match user {
            0 => format!("run this command and tenure as the user {owner}, by runuser"),
            _ => format!("run this command and tenure as the user {owner}, or chown {user} {word}"),
        };
        return Some(Finding::fails("state", text, fix));
    }
    if mode & 0o022 != 0 {
        let text = format!("others can write into {shown} (mode {mode:03o})");
        return Some(Finding::fails("state", text, format!("chmod 700 {word}")));
    }
    None
}

/// Checks the parent directory: a member makes its state directory, but not the directories above
/// it.
fn of_parent(path: &Path, shown: &str) -> Finding {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    };
    match tempfile::tempfile_in(&parent) {
        Ok(_) => {
            Finding::ok("state", format!("{shown} is not there yet: the first start makes it"))
        }
        Err(error) => {
            let word = shell_word(shown);
            let fix = match is_full(&error) {
                true => MAKE_ROOM.to_owned(),
                false => format!(
                    "make the directory for the user that runs tenure: install -d -m 700 -o USER \
                     {word}"
                ),
            };
            Finding::fails(
                "state",
                format!("{shown} does not exist, and cannot be made: {error}"),
                fix,
            )
        }
    }
}

fn unwritten(shown: &str, error: &io::Error) -> Finding {
    let fix = match is_full(error) {
        true => MAKE_ROOM,
        false => "mend the disk, or give this user the directory",
    };
    Finding::fails("state", format!("{shown} cannot be written: {error}"), fix)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Writes a file without a name, flushes it, and returns the free room and the time of the flush.
fn write(path: &Path) -> io::Result<(u64, Duration)> {
    let mut file = tempfile::tempfile_in(path)?;
    file.write_all(&[0; 4_096])?;
    let start = clock::now();
    file.sync_all()?;
    let flush = clock::now().since(start);
    let about = statvfs(path)?;
    Ok((about.f_bavail.saturating_mul(about.f_frsize), flush))
}

fn judge(shown: &str, room: u64, flush: Duration, lease: Option<Duration>) -> Finding {
    let mib = room >> 20;
    let text = format!("{shown}: {mib} MiB free, a flush took {flush:.1?}");
    if room < ROOM_MIN {
        return Finding::fails("state", text, MAKE_ROOM);
    }
    if room < ROOM_LOW {
        return Finding::warning("state", text, "make room before the disk is full");
    }
    if lease.is_some_and(|lease| flush > lease / 10) {
        let fix = "use a faster disk, or a longer lease: a flush takes more than a tenth of it";
        return Finding::warning("state", text, fix);
    }
    Finding::ok("state", text)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn room_and_flushes_are_judged() {
        let lease = Some(Duration::from_secs(5));
        let grade = |room, millis| judge("s", room, Duration::from_millis(millis), lease).grade;
        assert_eq!(grade(ROOM_LOW, 10), Grade::Ok);
        assert_eq!(grade(ROOM_LOW, 501), Grade::Warning);
        assert_eq!(grade(ROOM_LOW - 1, 10), Grade::Warning);
        assert_eq!(grade(ROOM_MIN - 1, 10), Grade::Fails);
    }

    #[test]
    fn full_disk_needs_room() {
        let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let told = unwritten("s", &full.write_all(b"x").unwrap_err()).to_string();
        assert!(told.contains("No space left") && told.contains("make room"), "{told}");
        let told = unwritten("s", &ErrorKind::ReadOnlyFilesystem.into()).to_string();
        assert!(told.contains("mend the disk"), "{told}");
    }
}
