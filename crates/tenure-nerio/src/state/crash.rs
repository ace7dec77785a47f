//! The machine stops at every step of writing, and the disk forgets unflushed changes.
//!
//! The code under test writes to real files. [`Forgetful`] carries each system call out, and keeps
//! account of the names and contents that would survive. After each system call it computes all
//! disks that a loss of power may leave. Such a disk has or lacks each unflushed change, and has
//! each unflushed content whole, cut off or empty. The test puts every such disk into a directory
//! of its own. A start there must find everything that was promised before the loss of power.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;
use tenure::state::{Disk, Linux};
use tenure_core::nerio::epoch::Ballot;

use super::tests::epochs::{ballot, entry, table, vote};
use super::tests::{grant_record, grantor, identity, open_on, reserve};
use super::*;

type Number = u64;

/// Names that appeared in a directory, with their files, and names that disappeared. A rename is
/// both at once.
type Change = Vec<(String, Option<Number>)>;

/// The files of the state directory on a disk; `None` without a directory.
type DiskContent = Option<BTreeMap<String, Vec<u8>>>;

#[derive(Default, Debug)]
struct Account {
    directory: Number,
    parent: Number,
    /// Names that are surely on disk, by directory.
    names: BTreeMap<Number, BTreeMap<String, Number>>,
    /// Changes that may be on disk, in any selection.
    changes: BTreeMap<Number, Vec<Change>>,
    /// Content of each file, and the content that is surely on disk.
    contents: BTreeMap<Number, (Vec<u8>, Option<Vec<u8>>)>,
    /// All disks that were possible, each with the promise for which it was judged.
    found: BTreeSet<(Promise, DiskContent)>,
    promise: Promise,
    /// All files ever made, kept open so that no inode number is used again.
    files: Vec<File>,
}

/// Promises of earlier starts that a start after the loss of power must keep.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Promise {
    boots: u64,
    reserve: Option<u64>,
    /// Number of the epoch that the grantor has entered.
    epoch: Option<u64>,
    /// Highest ballot that the grantor promised in that epoch, and whether it accepted a successor.
    voted: Option<(Ballot, bool)>,
}

/// Passes all calls on to the real disk, and keeps account of the changes that a loss of power
/// would undo.
#[derive(Debug, Default)]
struct Forgetful(Mutex<Account>);

fn number(of: BorrowedFd<'_>) -> Number {
    rustix::fs::fstat(of).unwrap().st_ino
}

impl Forgetful {
    /// Accounts for a step, and judges the disks that are possible now.
    fn after(&self, step: impl FnOnce(&mut Account)) {
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        step(&mut account);
        account.look();
    }
}

impl Account {
    fn change(&mut self, at: BorrowedFd<'_>, change: &[(&str, Option<Number>)]) {
        let change = change.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
        self.changes.entry(number(at)).or_default().push(change);
    }

    /// All possible contents of `directory`, with or without each change.
    fn possible(&self, directory: Number) -> Vec<BTreeMap<String, Number>> {
        let mut possible = vec![self.names.get(&directory).cloned().unwrap_or_default()];
        for change in self.changes.get(&directory).into_iter().flatten() {
            for mut names in possible.clone() {
                for (name, number) in change {
                    match number {
                        Some(number) => names.insert(name.clone(), *number),
                        None => names.remove(name),
                    };
                }
                possible.push(names);
            }
        }
        possible
    }

    /// All possible contents of a file on disk: the flushed content, and any part of later writes.
    fn possible_contents(&self, file: Number) -> Vec<Vec<u8>> {
        let (now, flushed) = self.contents.get(&file).cloned().unwrap_or_default();
        match flushed {
            Some(flushed) if flushed == now => vec![now],
            flushed => {
                let cut = now[..now.len() / 2].to_vec();
                flushed.into_iter().chain([Vec::new(), cut, now]).collect()
            }
        }
    }

    /// Judges every disk that is possible now, unless it was judged for this promise before.
    fn look(&mut self) {
        // The number of disks doubles with each change.
        let pending: usize = self.changes.values().map(Vec::len).sum();
        assert!(pending <= 12, "{pending} names were changed and never flushed");
        let mut found = Vec::new();
        for above in self.possible(self.parent) {
            if !above.values().any(|number| *number == self.directory) {
                found.push(None);
                continue;
            }
            for names in self.possible(self.directory) {
                let mut disks = vec![BTreeMap::new()];
                for (name, number) in names {
                    let contents = self.possible_contents(number);
                    disks = (disks.iter())
                        .flat_map(|disk| contents.iter().map(move |content| (disk, content)))
                        .map(|(disk, content)| {
                            let mut disk: BTreeMap<String, Vec<u8>> = disk.clone();
                            disk.insert(name.clone(), content.clone());
                            disk
                        })
                        .collect();
                }
                found.extend(disks.into_iter().map(Some));
            }
        }
        for disk in found {
            let found = (self.promise, disk);
            if !self.found.contains(&found) {
                judge(found.0, &found.1);
                self.found.insert(found);
            }
        }
    }
}

impl Disk for Forgetful {
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Linux.make_directory(path)?;
        let directory = File::open(path)?;
        let parent = File::open(path.parent().unwrap())?;
        self.after(|account| {
            account.directory = number(directory.as_fd());
            account.parent = number(parent.as_fd());
            account.change(parent.as_fd(), &[("state", Some(account.directory))]);
        });
        Ok(())
    }

    fn open(&self, at: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<File> {
        let before = rustix::fs::statat(at, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        let file = Linux.open(at, name, flags)?;
        let own = number(file.as_fd());
        let kept = file.try_clone()?;
        self.after(|account| {
            account.files.push(kept);
            if before.is_err() {
                account.change(at, &[(name, Some(own))]);
                account.contents.insert(own, (Vec::new(), None));
            } else if flags.contains(OFlags::TRUNC) {
                account.contents.entry(own).or_default().0.clear();
            }
        });
        Ok(file)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        Linux.write(file, bytes)?;
        self.after(|account| {
            let content = &mut account.contents.entry(number(file.as_fd())).or_default().0;
            content.extend_from_slice(bytes);
        });
        Ok(())
    }

    fn flush(&self, what: BorrowedFd<'_>) -> io::Result<()> {
        Linux.flush(what)?;
        self.after(|account| {
            let own = number(what);
            if let Some((now, flushed)) = account.contents.get_mut(&own) {
                *flushed = Some(now.clone());
            }
            // The last possibility has all changes, and the flush makes it certain.
            if let Some(names) = account.possible(own).pop() {
                account.names.insert(own, names);
                account.changes.remove(&own);
            }
        });
        Ok(())
    }

    fn rename(&self, at: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        let stat = rustix::fs::statat(at, from, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
        Linux.rename(at, from, to)?;
        self.after(|account| account.change(at, &[(from, None), (to, Some(stat.st_ino))]));
        Ok(())
    }

    fn remove(&self, at: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Linux.remove(at, name)?;
        self.after(|account| account.change(at, &[(name, None)]));
        Ok(())
    }
}

fn start(path: &Path, boot: &str, opening: Opening, disk: Arc<dyn Disk>) -> (StateDir, Recovered) {
    open_on(path, opening, &grantor("a"), boot, disk).unwrap()
}

/// Three starts of a grantor and a change of members, and the promises after each step.
fn live(path: &Path, disk: &Arc<Forgetful>) {
    let promise = |boots, reserve| {
        let before = Promise { boots, reserve, ..Promise::default() };
        disk.after(|account| account.promise = before);
    };
    let (mut state, recovered) = start(path, "boot 1", Opening::New, disk.clone());
    state.write(&identity(&recovered, 10)).unwrap();
    // A new memory has a reserve from the beginning.
    promise(1, Some(0));
    state.write(&grant_record("billing", 1)).unwrap();
    state.write(&reserve(1_024)).unwrap();
    promise(1, Some(1_024));
    drop(state);
    for (boots, high) in [(2, 2_048), (3, 3_072)] {
        let boot = format!("boot {boots}");
        let (mut state, recovered) = start(path, &boot, Opening::Existing, disk.clone());
        state.write(&identity(&recovered, 10)).unwrap();
        promise(boots, Some(high - 1_024));
        state.flusher().flush(&reserve(high)).unwrap();
        promise(boots, Some(high));
        state.write(&grant_record("audit", boots)).unwrap();
    }
    let (mut state, recovered) = start(path, "boot 4", Opening::Existing, disk.clone());
    state.write(&identity(&recovered, 10)).unwrap();
    promise(4, Some(3_072));
    let promise = |record: &Record, epoch, voted| {
        state.flusher().flush(record).unwrap();
        let (boots, reserve) = (4, Some(3_072));
        let next = Promise { boots, reserve, epoch: Some(epoch), voted };
        disk.after(|account| account.promise = next);
    };
    promise(&entry(0, Fence::NONE), 0, None);
    promise(&vote(0, 1, false), 0, Some((ballot(1), false)));
    promise(&vote(0, 1, true), 0, Some((ballot(1), true)));
    promise(&entry(1, Fence::NONE), 1, None);
    state.write(&table(1, 90)).unwrap();
    state.write(&grant_record("audit", 5)).unwrap();
}

/// Judges a start on such a disk, in the next boot of the machine.
fn judge(promise: Promise, disk: &DiskContent) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    if let Some(disk) = disk {
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        for (name, content) in disk {
            let file = Linux.open(
                File::open(&path).unwrap().as_fd(),
                name,
                OFlags::WRONLY | OFlags::CREATE,
            );
            Linux.write(&mut file.unwrap(), content).unwrap();
        }
    }
    let opened = open_on(&path, Opening::Existing, &grantor("a"), "after", Arc::new(Linux));
    let on_disk: Vec<_> = disk.iter().flat_map(|disk| disk.keys()).collect();
    let (_state, recovered) = match opened {
        Ok(opened) => opened,
        Err(error) => panic!("{promise:?} on {on_disk:?}: {error}"),
    };
    assert!(recovered.durable.boot.0 >= promise.boots, "{promise:?} on {on_disk:?}: {recovered:?}");
    let standing = &recovered.durable.standing;
    let epoch = standing.document().map(|document| document.number);
    assert!(epoch >= promise.epoch, "{promise:?} on {on_disk:?}: {recovered:?}");
    if epoch == promise.epoch {
        let vote = standing.vote();
        let voted = Some((vote.promised, vote.accepted.is_some()));
        assert!(voted >= promise.voted, "{promise:?} on {on_disk:?}: {recovered:?}");
    }
    match (promise.reserve, recovered.memory) {
        (None, _) => {}
        (Some(promised), Memory::Kept { reserve, grants }) => {
            assert!(reserve.number() >= promised, "{promise:?} on {on_disk:?}: {reserve}");
            assert!(!matches!(grants, Grants::SameBoot(_)), "nobody waits: {grants}");
        }
        (Some(_), memory) => panic!("{promise:?} on {on_disk:?}: {memory}"),
    }
}

#[test]
fn power_loss_breaks_no_promise() {
    let parent = tempfile::tempdir().unwrap();
    let disk = Arc::new(Forgetful::default());
    live(&parent.path().join("state"), &disk);
    let found = disk.0.lock().unwrap().found.len();
    assert!(found > 100, "{found}");
}
