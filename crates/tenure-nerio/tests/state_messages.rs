//! Errors of state directories: every text, from a real case.
#![allow(clippy::unwrap_used, reason = "the helpers of a test are a test")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure::state::{Opening, StateError};
use tenure_core::nerio::{Boot, Record};
use tenure_nerio::state::{self, Grantor, MemoryError, Recovered, StateDir};

fn grantor(cluster: &str, node: &str) -> Grantor {
    Grantor { cluster: cluster.parse().unwrap(), node: node.parse().unwrap() }
}

fn open(path: &Path, opening: Opening) -> Result<(StateDir, Recovered), MemoryError> {
    StateDir::open(path, opening, &grantor("orders", "a"))
}

/// The text of the refusal, with `/T` in place of the temporary directory.
fn refusal(parent: &TempDir, path: &Path, opening: Opening) -> String {
    match open(path, opening) {
        Err(error) => error.to_string().replace(parent.path().to_str().unwrap(), "/T"),
        Ok((_, recovered)) => panic!("{} was opened: {recovered:?}", path.display()),
    }
}

fn used(parent: &TempDir) -> PathBuf {
    let path = parent.path().join("a");
    let (mut state, recovered) = open(&path, Opening::New).unwrap();
    let instance = recovered.durable.instance;
    let boot = Boot(recovered.durable.boot.0 + 1);
    let delta_max = std::time::Duration::from_secs(10);
    state.write(&Record::Identity { instance, boot, delta_max, enters: None }).unwrap();
    path
}

#[test]
fn directory_is_private() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in ["identity", "lock"] {
        assert_eq!(mode(&path.join(file)), 0o600, "{file}");
    }
}

#[test]
fn missing_paths() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    assert_eq!(
        refusal(&parent, &at("no/a"), Opening::New),
        "state directory /T/no/a does not exist and cannot be created: /T/no does not exist; \
         create that directory first (Tenure does not create it, so that a missing mount is \
         noticed)"
    );
    symlink(at("gone"), at("link")).unwrap();
    assert_eq!(
        refusal(&parent, &at("link"), Opening::New),
        "state directory /T/link is a symbolic link to /T/gone, which does not exist; create \
         that directory, or correct the link"
    );
    fs::write(at("file"), "").unwrap();
    assert_eq!(
        refusal(&parent, &at("file"), Opening::New),
        "state directory /T/file: /T/file is not a directory; name another path"
    );
    assert_eq!(
        refusal(&parent, &at("file/a/b"), Opening::New),
        "state directory /T/file/a/b: /T/file is not a directory; name another path"
    );
    symlink(at("loop"), at("loop")).unwrap();
    assert_eq!(
        refusal(&parent, &at("loop"), Opening::New),
        "cannot open state directory /T/loop: Too many levels of symbolic links (os error 40)"
    );
    assert_eq!(
        refusal(&parent, Path::new(""), Opening::New),
        "state directory  does not exist and cannot be created:  does not exist; create that \
         directory first (Tenure does not create it, so that a missing mount is noticed)"
    );
    assert_eq!(
        refusal(&parent, Path::new("a\0b"), Opening::New),
        "cannot open state directory a\0b: Invalid argument (os error 22)"
    );
}

#[test]
fn directory_link_is_followed() {
    let parent = tempfile::tempdir().unwrap();
    let link = parent.path().join("link");
    symlink(used(&parent), &link).unwrap();
    assert_eq!(open(&link, Opening::Existing).unwrap().1.durable.boot, Boot(1));
}

#[test]
fn unreadable_directory() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let text = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Root may read everything, so this thread gives up its capabilities.
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective = rustix::thread::CapabilitySet::empty();
            rustix::thread::set_capabilities(None, sets).unwrap();
            refusal(&parent, &path, Opening::Existing)
        });
        thread.join().unwrap()
    });
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(
        text,
        "cannot open state directory /T/a: Permission denied (os error 13); run this process as \
         the owner of that path, or change the owner (chown)"
    );
}

#[test]
fn a_directory_of_something_else() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("notes.txt"), "mine").unwrap();
    for opening in [Opening::New, Opening::Existing] {
        assert_eq!(
            refusal(&parent, parent.path(), opening),
            "/T is not a state directory: it holds \"notes.txt\"; name a directory that is empty \
             or missing"
        );
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing was put there");
}

#[test]
fn a_directory_of_another_grantor() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    let refusal = |cluster, node| {
        let refused = StateDir::open(&path, Opening::Existing, &grantor(cluster, node));
        refused.unwrap_err().to_string().replace(parent.path().to_str().unwrap(), "/T")
    };
    assert_eq!(
        refusal("orders", "b"),
        "state directory /T/a belongs to node a, and this is node b; each node needs its own \
         directory"
    );
    assert_eq!(
        refusal("bills", "a"),
        "state directory /T/a belongs to node a of cluster orders, and this is cluster bills; each \
         cluster needs its own directory"
    );
}

#[test]
fn old_directories() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    let (state, recovered) = open(&path, Opening::Existing).unwrap();
    drop(state);
    assert_eq!(
        refusal(&parent, &path, Opening::New),
        format!(
            "state directory /T/a is not new: it belongs to node a in cluster orders, started 1 \
             times (memory {}); start without --new",
            recovered.durable.instance
        )
    );
    fs::remove_file(path.join("identity")).unwrap();
    fs::write(path.join("grants"), "").unwrap();
    assert_eq!(
        refusal(&parent, &path, Opening::New),
        "state directory /T/a is not new: it holds \"grants\", but its identity file is lost; \
         start without --new, so that the fences are read from the other grantors"
    );
}

#[test]
fn foreign_files() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    let identity = path.join("identity");
    let good = fs::read(&identity).unwrap();
    let check = |bytes: &[u8], text: &str| {
        fs::write(&identity, bytes).unwrap();
        assert_eq!(refusal(&parent, &path, Opening::Existing), text);
        assert_eq!(fs::read(&identity).unwrap(), bytes);
    };
    check(
        b"#!/bin/sh\n",
        "/T/a/identity is not a file of Tenure: it begins with \"#!/bin/s\"; Tenure left it \
         unchanged. Move it away, or name another directory",
    );
    let advice = "Tenure left it unchanged. The promises in it are lost: check the disk, move the \
                  whole directory away and start without --new, so that the fences are read from \
                  the other grantors";
    check(
        &good[..30],
        &format!("/T/a/identity is damaged: it has 30 bytes instead of {}; {advice}", good.len()),
    );
    check(b"", &format!("/T/a/identity is damaged: it has 0 bytes instead of 20; {advice}"));
    let mut bad = good.clone();
    let sum = good.len() - 4;
    let stored = u32::from_le_bytes(*good.last_chunk().unwrap());
    bad[20] ^= 1;
    let computed = crc32fast::hash(&bad[..sum]);
    check(
        &bad,
        &format!(
            "/T/a/identity is damaged: its checksum is {computed:08x}, but {stored:08x} was \
             stored; {advice}"
        ),
    );
    // An empty name for the cluster.
    bad[16] = 0;
    let computed = crc32fast::hash(&bad[..sum]).to_le_bytes();
    bad[sum..].copy_from_slice(&computed);
    check(
        &bad,
        &format!(
            "/T/a/identity is damaged: its checksum holds, but its content makes no sense; {advice}"
        ),
    );

    fs::write(&identity, &good).unwrap();
    let grants = path.join("grants");
    fs::write(&grants, "SQLite format 3").unwrap();
    assert_eq!(
        refusal(&parent, &path, Opening::Existing),
        "/T/a/grants is not a file of Tenure: it begins with \"SQLite f\"; Tenure left it \
         unchanged. Move it away, or name another directory"
    );
    fs::remove_file(&grants).unwrap();
    fs::create_dir(&grants).unwrap();
    let text = refusal(&parent, &path, Opening::Existing);
    assert_eq!(
        text,
        "/T/a/grants is not a file of Tenure: it is not a regular file; Tenure left it unchanged. \
         Move it away, or name another directory"
    );
}

#[test]
fn pipe_does_not_hang() {
    let parent = tempfile::tempdir().unwrap();
    let path = used(&parent);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    for name in ["identity", "grants", "lock"] {
        let file = path.join(name);
        let kept = fs::read(&file).ok();
        let _ = fs::remove_file(&file);
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).unwrap();
        let text = refusal(&parent, &path, Opening::Existing);
        let expected = match name {
            "lock" => "cannot write /T/a/lock: No such device or address (os error 6)".to_owned(),
            name => format!(
                "/T/a/{name} is not a file of Tenure: it is not a regular file; Tenure left it \
                 unchanged. Move it away, or name another directory"
            ),
        };
        assert_eq!(text, expected);
        fs::remove_file(&file).unwrap();
        if let Some(kept) = kept {
            fs::write(&file, kept).unwrap();
        }
    }
}

#[test]
fn remaining_messages() {
    let source = || std::io::Error::from_raw_os_error(2);
    let boot =
        StateError::Boot { path: "/proc/sys/kernel/random/boot_id".into(), source: source() };
    assert_eq!(
        boot.to_string(),
        "cannot read /proc/sys/kernel/random/boot_id: No such file or directory (os error 2); this \
         file says whether records on disk are of this boot of the machine: mount /proc"
    );
    let full = state::WriteError::Full { path: "/T/a/grants".into(), held: 1 << 20 };
    assert_eq!(
        full.to_string(),
        "/T/a/grants has no room for another election: it holds 1048576 elections; let some of \
         them end first"
    );
    for (number, text) in [
        (28, "No space left on device (os error 28); free some space on its file system"),
        (122, "Disk quota exceeded (os error 122); free some space on its file system"),
        (
            30,
            "Read-only file system (os error 30); mount it for writing, or name another directory",
        ),
        (5, "Input/output error (os error 5)"),
    ] {
        let source = std::io::Error::from_raw_os_error(number);
        let path = "/T/a/grants".into();
        let error = tenure::state::WriteError::Io { path, source };
        assert_eq!(error.to_string(), format!("cannot write /T/a/grants: {text}"));
    }
}
