//! The state directory: what a Nerio grantor remembers when its process or its machine ends.
//!
//! A grantor that forgot a grant could grant the same office twice; one that forgot a fence could
//! hand it out twice. So each grantor has a directory of its own:
//!
//! | file | holds | outlives | written |
//! |---|---|---|---|
//! | `identity` | whose, instance, boots, δ_max, reserve | the machine | whole, flushed |
//! | `grants` | the grant of each election | the process | one slot, not flushed |
//! | `lock` | the pid of its process, for people | nothing | at the start |
//! | `.held` | nothing: it is what is locked | nothing | once |
//!
//! # What a start finds
//!
//! - [`Memory::Fresh`]: the cluster's very first start, said by [`Opening::New`].
//! - [`Memory::Lost`]: an empty directory that nobody said is new. The grantor is another instance;
//!   it waits out all leases and reads the fences from the others. It stays lost, start after
//!   start, until the first [`Record::Reserve`] is durable, which says that they have been read.
//! - [`Memory::Founding`]: such a directory, and now [`Opening::New`] says that it is the first
//!   start. The directory alone cannot tell, so the others are asked.
//! - [`Memory::Kept`]: everything, and the grants if they were made in this boot of the machine and
//!   in this time namespace. If not, all leases are waited out. The old table stays in place until
//!   the first [`Record::Grant`], which says that they have been: a process that ends in the
//!   middle of the wait, and starts again, waits again.
//!
//! # What it relies on
//!
//! Until the machine ends, what a `write` put into the page cache is read back (a file system
//! that loses it within one boot, after a forced detach or a failed write-back, is outside the
//! model: remove `grants` before the next start, and the grantor waits). What `fsync` flushed
//! stays. A directory restored from a copy or a snapshot, of the files or of the whole machine, is
//! outside the model too: it brings back grants and fences that have been overtaken, and nothing
//! on this machine can tell. Move such a directory away and start without `--new`.
//!
//! The directory belongs to the user of the process and nobody else may write to it; `.held` only
//! that user can open, so nobody else can hold the lock. The lock belongs to the open file. A
//! child made by `fork` without `exec` shares it and keeps it for as long as it lives, should its
//! parent be killed.

mod boot;
#[cfg(test)]
mod crash;
mod directory;
mod disk;
mod envelope;
mod error;
mod identity;
mod slot;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Instance, Record};
use tenure_core::{ClusterName, Fence, NodeName};

use self::boot::BootKey;
use self::directory::{Directory, HELD, LOCK, temporary};
use self::disk::{Disk, Linux};
pub use self::error::{Damage, Found, PathLoss, StateError, Tear, WriteError};
use self::identity::{Durable, IDENTITY, Identity};
use self::table::{GRANTS, Table};

/// Whether a start is the cluster's very first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opening {
    /// There was a memory. If the directory is empty or missing, it was lost.
    Existing,
    /// There never was one (`--new`). Refused if there is: a wrong `--new` hands out old fences. A
    /// directory from which nothing was granted, and into which no fences were read, is taken
    /// once the other members agree ([`Memory::Founding`]).
    New,
}

/// Whose memory it is. A directory of another grantor is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grantor {
    /// Its cluster.
    pub cluster: ClusterName,
    /// Its name there.
    pub node: NodeName,
}

/// What a start begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovered {
    /// Which memory this is; drawn now unless it was kept. On disk with the first
    /// [`Record::Identity`].
    pub instance: Instance,
    /// How many boots began before this one: the last [`Record::Identity`]'s.
    pub boots: Boot,
    /// The largest δ_max that any of them allowed.
    pub delta_max: Option<Duration>,
    /// How much is remembered.
    pub memory: Memory,
}

/// How much a grantor remembers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Memory {
    /// There is nothing to remember: no wait, fences from the beginning.
    Fresh,
    /// Everything is forgotten: wait out all leases, then read the fences from a full quorum of
    /// others ("The scalar fence", rule 4).
    Lost,
    /// The same, but it is said to be the cluster's first start: ask the others whether it is.
    Founding,
    /// Fences begin at the reserve.
    Kept {
        /// H, above which no fence has left.
        reserve: Fence,
        /// What is known of the grants.
        grants: Grants,
    },
}

/// What is known of the grants of earlier processes. All but the first mean: wait out all leases
/// ("Restart", rule 2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grants {
    /// All of them, one for each election, by name. No wait is needed.
    SameBoot(Vec<GrantRecord>),
    /// They are of another boot of the machine, time namespace or instance.
    OtherBoot,
    /// There is no table: none was made yet, or somebody removed it.
    Missing,
    /// The table cannot be believed.
    Torn(Tear),
}

/// An open state directory. No other process has it while this or a [`Flusher`] of it lives.
///
/// ```
/// use tenure::state::{Grantor, Memory, Opening, StateDir};
/// # let parent = tempfile::tempdir()?;
/// # let path = parent.path().join("a");
/// let grantor = Grantor { cluster: "orders".parse()?, node: "a".parse()? };
/// let (state, recovered) = StateDir::open(&path, Opening::New, &grantor)?;
/// assert_eq!(recovered.memory, Memory::Fresh);
/// let refused = StateDir::open(&path, Opening::Existing, &grantor);
/// assert!(refused.is_err_and(|error| error.to_string().contains("is in use by this process")));
/// # drop(state);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StateDir {
    durable: Arc<Durable>,
    table: Table,
}

/// Writes what must survive the machine. Any thread may do it while another writes grants.
#[derive(Clone, Debug)]
pub struct Flusher(Arc<Durable>);

impl StateDir {
    /// Locks the directory and reads what it holds. Missing, it is created with mode 0700, but
    /// not its parents. The sample of the clock from which a wait counts is taken after this
    /// has returned.
    ///
    /// Blocks for as long as the disk takes to read the files; the lock is never waited for.
    pub fn open(
        path: &Path,
        opening: Opening,
        grantor: &Grantor,
    ) -> Result<(Self, Recovered), StateError> {
        Self::open_at(path, opening, grantor, &BootKey::current()?, Arc::new(Linux))
    }

    fn open_at(
        path: &Path,
        opening: Opening,
        grantor: &Grantor,
        boot: &BootKey,
        disk: Arc<dyn Disk>,
    ) -> Result<(Self, Recovered), StateError> {
        let mut directory = Directory::open(path, disk)?;
        check_foreign(&directory)?;
        directory.lock()?;
        let identity = match (opening, Identity::read(&directory)?) {
            (_, Some(identity)) => check(&directory, opening, grantor, identity)?,
            (_, None) => {
                check_empty(&directory, opening)?;
                let reserve = (opening == Opening::New).then_some(Fence::NONE);
                Identity::begin(grantor, reserve)?
            }
        };
        directory.sign()?;
        let mut table = Table::begin(identity.instance, boot);
        let memory = match (opening, identity.reserve) {
            (Opening::New, None) => Memory::Founding,
            (Opening::New, Some(_)) => Memory::Fresh,
            (Opening::Existing, None) => Memory::Lost,
            (Opening::Existing, Some(reserve)) => {
                Memory::Kept { reserve, grants: table.recover(&directory)? }
            }
        };
        let recovered = Recovered {
            instance: identity.instance,
            boots: identity.boot,
            delta_max: identity.delta_max,
            memory,
        };
        let durable = Arc::new(Durable::new(directory, identity));
        Ok((Self { durable, table }, recovered))
    }

    /// Writes `record` so that it survives what it must. A grant takes one system call and no
    /// flush; the others block until they are durable.
    ///
    /// After an error the entry that was there before still counts, and a later write may
    /// succeed. Nothing that depends on a record may leave before this has returned `Ok`. A
    /// directory that the next start would not find any more is not written to.
    pub fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        let directory = &self.durable.directory;
        match record {
            Record::Grant(grant) => {
                directory.check(|file| file == GRANTS)?;
                self.table.grant(directory, grant)
            }
            Record::Forget(election) => {
                directory.check(|file| file == GRANTS)?;
                self.table.forget(directory, election)
            }
            Record::Identity { .. } | Record::Reserve { .. } => self.durable.flush(record),
        }
    }

    /// What flushes from another thread, so that the driver need not wait for the disk.
    #[must_use]
    pub fn flusher(&self) -> Flusher {
        Flusher(Arc::clone(&self.durable))
    }

    /// The directory, as it was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.durable.directory.path()
    }
}

impl Flusher {
    /// Writes a [`Record::Identity`] or [`Record::Reserve`] and returns when it is durable: for
    /// some milliseconds, or as long as the disk takes. Flushes of several threads follow one
    /// another; their order means nothing, because nothing in an identity ever goes back.
    ///
    /// After an error it is unknown which of the two states, the one before or the one asked
    /// for, the next start finds; neither promises less than what was durable before.
    pub fn flush(&self, record: &Record) -> Result<(), WriteError> {
        self.0.flush(record)
    }

    /// Whether the next start would find the directory and all that was written to it. Asks the
    /// file system, and changes nothing.
    pub fn check(&self) -> Result<(), WriteError> {
        self.0.directory.check(|_| true)
    }
}

/// Whether this identity may be used by that grantor.
fn check(
    directory: &Directory,
    opening: Opening,
    grantor: &Grantor,
    identity: Identity,
) -> Result<Identity, StateError> {
    let path = directory.path().to_owned();
    let Identity { cluster, node, instance, boot, .. } = identity.clone();
    if cluster != grantor.cluster {
        let expected = grantor.cluster.clone();
        return Err(StateError::OtherCluster { path, node, found: cluster, expected });
    }
    if node != grantor.node {
        let expected = grantor.node.clone();
        return Err(StateError::OtherNode { path, found: node, expected });
    }
    if opening == Opening::New && identity.reserve.is_none() {
        // Nothing was granted from it. A table would be of a memory before it.
        check_empty(directory, opening)?;
    } else if opening == Opening::New {
        return Err(StateError::NotNew { path, node, cluster, instance, starts: boot });
    }
    Ok(identity)
}

/// Whether a name is one of a memory whose identity may be lost.
fn remains(name: &str) -> bool {
    name == GRANTS || name == temporary(GRANTS)
}

/// A directory without an identity must hold nothing of anybody else's, and nothing is put there
/// before that is known.
fn check_foreign(directory: &Directory) -> Result<(), StateError> {
    let ours = |name: &str| {
        // `lost+found` comes with a file system of one's own.
        [LOCK, HELD, "lost+found"].contains(&name) || name == temporary(IDENTITY) || remains(name)
    };
    let names = directory.names()?;
    match names.iter().find(|name| !ours(name)) {
        Some(found) if !names.iter().any(|name| name == IDENTITY) => {
            Err(StateError::Foreign { path: directory.path().to_owned(), found: found.clone() })
        }
        _ => Ok(()),
    }
}

/// Whether a directory without an identity may be used: if it is said to be new, it must hold
/// nothing of a memory.
fn check_empty(directory: &Directory, opening: Opening) -> Result<(), StateError> {
    match directory.names()?.iter().find(|name| remains(name)) {
        Some(found) if opening == Opening::New => {
            Err(StateError::Remains { path: directory.path().to_owned(), found: found.clone() })
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("a new memory"),
            Self::Lost => f.write_str("the memory was lost"),
            Self::Founding => f.write_str("the memory was lost, or there never was one"),
            Self::Kept { reserve, grants } => write!(f, "fences up to {reserve}, {grants}"),
        }
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameBoot(grants) => write!(f, "{} grants of this boot", grants.len()),
            Self::OtherBoot => f.write_str("grants of another boot of the machine"),
            Self::Missing => f.write_str("no grant table"),
            Self::Torn(tear) => tear.fmt(f),
        }
    }
}
