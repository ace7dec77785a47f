//! The place of services: a cache of the user, which all checkouts share.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::Error;

/// The folder of all services. Programs must ignore a path that is not absolute, according to the
/// XDG base directory specification.
fn services() -> Result<PathBuf, Error> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".cache"));
    let cache = named.filter(|named| named.is_absolute()).or_else(home);
    cache.map(|cache| cache.join("tenure/services")).ok_or_else(|| Error::Missing {
        what: "services are kept in a cache of the user, and no variable names its place".into(),
        remedy: "Set HOME, or XDG_CACHE_HOME.".into(),
    })
}

/// Returns the folder NAME among the services. If the folder is missing, first calls `fill` with an
/// empty folder.
///
/// The first of two processes fills the folder; the other waits for the lock. A folder gets its
/// name last, so a folder with that name is complete.
pub(crate) fn once(
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    once_in(&services()?, name, fill)
}

/// Does the same as [`once`], in another folder of services.
fn once_in(
    services: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let folder = services.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(services).map_err(file_error(services))?;
    let lock = services.join(format!("{name}.lock"));
    let held = File::create(&lock).map_err(file_error(&lock))?;
    held.lock().map_err(file_error(&lock))?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let unfinished = services.join(format!("{name}.unfinished"));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(file_error(&unfinished))?;
    }
    fs::create_dir(&unfinished).map_err(file_error(&unfinished))?;
    fill(&unfinished)?;
    fs::rename(&unfinished, &folder).map_err(file_error(&folder))?;
    Ok(folder)
}

pub(crate) fn temporary(prefix: &str) -> Result<TempDir, Error> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir();
    folder.map_err(file_error(&env::temp_dir()))
}

pub(crate) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    |source| Error::System { what: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn folders_are_filled_once() {
        let services = tempfile::tempdir().unwrap();
        let filled = AtomicUsize::new(0);
        let fill = |folder: &Path| {
            filled.fetch_add(1, Ordering::Relaxed);
            fs::write(folder.join("first"), "1").map_err(file_error(folder))?;
            thread::sleep(Duration::from_millis(50));
            fs::write(folder.join("second"), "2").map_err(file_error(folder))
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let folder = once_in(services.path(), "x", fill).unwrap();
                    assert!(folder.join("first").is_file() && folder.join("second").is_file());
                });
            }
        });
        assert_eq!(filled.into_inner(), 1);
    }

    #[test]
    fn remains_of_failures_are_cleared() {
        let services = tempfile::tempdir().unwrap();
        let failing = |folder: &Path| {
            fs::write(folder.join("rubbish"), "").map_err(file_error(folder))?;
            Err(Error::Missing { what: "a tool".into(), remedy: "Install it.".into() })
        };
        assert!(once_in(services.path(), "x", failing).is_err());
        let folder = once_in(services.path(), "x", |_| Ok(())).unwrap();
        assert!(!folder.join("rubbish").exists());
    }
}
