//! Where services are installed: `target/services` of the workspace, whatever CARGO_TARGET_DIR
//! says, so that all build folders of one checkout share them. Git ignores it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::Error;

/// The folder all services are in.
///
/// The environment goes before what was compiled in: several checkouts may share one build
/// folder, and so this code. Cargo sets the variable for tests and for `cargo run`.
pub(crate) fn services() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.as_deref().and_then(workspace).or_else(|| workspace(compiled_in));
    root.unwrap_or(compiled_in).join("target/services")
}

/// The workspace that `manifest` belongs to: its root is where the lock file is.
fn workspace(manifest: &Path) -> Option<&Path> {
    manifest.ancestors().find(|folder| folder.join("Cargo.lock").is_file())
}

/// Fills `target/services/NAME` by calling `fill` with an empty folder, unless it is there.
///
/// Two processes at once: one fills, the other waits for its lock. A folder with that name is
/// complete, because it gets its name last.
pub(crate) fn once(
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let services = services();
    let folder = services.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(&services).map_err(file_error(&services))?;
    let lock = services.join(format!("{name}.lock"));
    let held = File::create(&lock).map_err(file_error(&lock))?;
    let locked = rustix::fs::flock(&held, FlockOperation::LockExclusive);
    locked.map_err(|errno| file_error(&lock)(errno.into()))?;
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

pub(crate) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    |source| Error::File { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn services_are_in_the_workspace_not_in_the_crate() {
        let root = services().parent().and_then(Path::parent).map(Path::to_path_buf).unwrap();
        assert!(root.join("Cargo.lock").is_file() && root.join("crates").is_dir(), "{root:?}");
    }

    #[test]
    fn a_folder_is_filled_once_and_never_seen_half_full() {
        let name = format!("place-test-{}", std::process::id());
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
                    let folder = once(&name, fill).unwrap();
                    assert!(folder.join("first").is_file() && folder.join("second").is_file());
                });
            }
        });
        assert_eq!(filled.into_inner(), 1);
        fs::remove_dir_all(services().join(&name)).unwrap();
        fs::remove_file(services().join(format!("{name}.lock"))).unwrap();
    }

    #[test]
    fn what_a_failed_attempt_left_is_cleared_by_the_next() {
        let name = format!("place-test-again-{}", std::process::id());
        let failing = |folder: &Path| {
            fs::write(folder.join("rubbish"), "").map_err(file_error(folder))?;
            Err(Error::Missing { what: "a tool".into(), remedy: "Install it.".into() })
        };
        assert!(once(&name, failing).is_err());
        let folder = once(&name, |_| Ok(())).unwrap();
        assert!(!folder.join("rubbish").exists());
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(services().join(format!("{name}.lock"))).unwrap();
    }
}
