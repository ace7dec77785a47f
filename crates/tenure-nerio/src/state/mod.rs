//! The memory of a grantor in its [state directory](tenure::state), which survives its process or
//! its machine.
//!
//! A grantor that forgot a grant could grant the same election twice; a grantor that forgot a fence
//! could hand the fence out twice. So each grantor has a directory of its own:
//!
//! | file | holds | outlives | written |
//! |---|---|---|---|
//! | `identity` | owner, instance, boots, δ_max, reserve | the machine | whole, flushed |
//! | | epoch, vote, memories of the members | | |
//! | `grants` | the grant of each election | the process | one slot, not flushed |
//!
//! # What a start finds
//!
//! - [`Memory::Fresh`]: the cluster's very first start, declared by [`Opening::New`].
//! - [`Memory::Lost`]: an empty directory. The memory was lost, or the cluster is new: the grantor
//!   asks the other members. They write down that the grantor has a new memory. If the memory was
//!   lost, the grantor waits for all leases to end, and reads the fences from the others. If the
//!   cluster is new, the grantor founds it with the others. The first durable [`Record::Entered`]
//!   shows that this is done. Until then every start finds the memory lost.
//! - [`Memory::Kept`]: everything. The grants are kept if their table is intact, and if they were
//!   made in this boot of the machine, in this time namespace and among the present members. If
//!   not, the grantor waits for all leases to end. The first [`Record::Grant`] shows that the wait
//!   is over. The old table stays in place until that record, so a process that starts again during
//!   the wait waits again.
//!
//! If so many directories are lost that the other members cannot restore them, an operator writes a
//! [`Survival`]. In an upgraded epoch 0 the operator writes a [`Recovery`].
//!
//! The [assumptions](tenure::state#assumptions) are those of every state directory. A directory
//! restored from a copy brings back superseded grants and fences. A file system may lose writes
//! within one boot, after a forced detach or a failed write-back. Then remove `grants` before the
//! next start: the grantor waits for all leases to end.

#[cfg(test)]
mod crash;
mod error;
pub(crate) mod identity;
mod recover;
mod slot;
mod survivors;
mod table;
#[cfg(test)]
pub(super) mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure::state::{BootKey, Directory, Layout, Opening};
use tenure_core::nerio::{self, Checked, DocumentError, Durable, GrantTable, Instance, Record};
use tenure_core::{ClusterName, Fence, NodeName};

pub use self::error::{MemoryError, Tear, WriteError};
use self::identity::{IDENTITY, Identity, Shared};
pub use self::recover::{Edited, Recovery, RecoveryError};
pub use self::survivors::{Survival, Survived, SurvivorsEpoch, entered_epoch};

use self::table::{GRANTS, Table};

const LAYOUT: Layout = Layout {
    document: IDENTITY.name,
    others: &[GRANTS],
    relearn: " without --new, so that the fences are read from the other grantors",
    caution: ", without --new, and no other node before it grants",
};

/// The owner of a memory. Directories of other grantors are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grantor {
    pub cluster: ClusterName,
    pub node: NodeName,
}

/// The memory with which a start begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovered {
    /// Identity of the memory, drawn now unless it was kept. The first [`Record::Identity`] puts it
    /// on disk.
    pub durable: Durable,
    pub memory: Memory,
}

impl Recovered {
    /// The memory with which the core begins with these settings. Fails if the memory is in an
    /// epoch that does not fit the settings.
    pub fn into_core(self, config: &Checked) -> Result<nerio::Memory, DocumentError> {
        let (first, grants) = match self.memory {
            Memory::Fresh => (true, None),
            Memory::Lost => (false, None),
            Memory::Kept { grants: Grants::SameBoot(grants), .. } => (false, Some(grants)),
            Memory::Kept { .. } => (false, None),
        };
        nerio::Memory::found(&self.durable, config, first, grants)
    }
}

/// The extent of a grantor's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Memory {
    /// There is nothing to remember: no wait, fences from the beginning.
    Fresh,
    /// Everything is forgotten, or there was nothing yet. If the memory was lost, the grantor waits
    /// until all leases have ended, and then reads the fences from a full quorum of others ("The
    /// scalar fence", rule 4). In a new cluster it founds the cluster with all of the others.
    Lost,
    /// The grantor knows its reserve of fences. Later fences begin at the reserve.
    Kept {
        /// H in the rules of the scalar fence: no fence above H has left this grantor.
        reserve: Fence,
        grants: Grants,
    },
}

/// Grants of earlier processes. With each variant but the first, the grantor waits until all leases
/// have ended ("Restart", rule 2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grants {
    /// All grants, one for each election, by name. The grantor need not wait, except for leases of
    /// earlier epochs.
    SameBoot(GrantTable),
    /// The table is of another boot of the machine, or another time namespace.
    OtherBoot,
    /// The table is of an earlier memory, which was lost.
    OtherMemory,
    /// The table is of an earlier epoch, with other members: the process ended while it entered the
    /// present epoch.
    OtherEpoch,
    /// There is no table: none was made yet, or an operator removed it.
    Missing,
    Torn(Tear),
}

/// An open state directory. No other process has the directory while this value or a [`Flusher`] of
/// it lives.
///
/// ```
/// use tenure_nerio::state::{Grantor, Memory, StateDir};
/// use tenure::state::Opening;
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
    shared: Arc<Shared>,
    table: Table,
}

/// Writes records that must survive the machine. Any thread may write such records while another
/// thread writes grants.
#[derive(Clone, Debug)]
pub struct Flusher(Arc<Shared>);

impl StateDir {
    /// Locks the directory and reads its contents. Creates a missing directory
    /// ([`Directory::open`]). Refuses [`Opening::New`] for a directory with a memory, because old
    /// fences would be given again. A wait begins with a clock sample taken after this call has
    /// returned.
    pub fn open(
        path: &Path,
        opening: Opening,
        grantor: &Grantor,
    ) -> Result<(Self, Recovered), MemoryError> {
        Self::open_in(Directory::open(path, &LAYOUT)?, opening, grantor, &BootKey::current()?)
    }

    fn open_in(
        directory: Directory,
        opening: Opening,
        grantor: &Grantor,
        boot: &BootKey,
    ) -> Result<(Self, Recovered), MemoryError> {
        let identity = match Identity::read(&directory)? {
            Some(identity) => check(&directory, opening, grantor, identity)?,
            None => {
                check_empty(&directory, opening)?;
                Identity::begin(grantor, opening == Opening::New)?
            }
        };
        directory.sign()?;
        let durable = identity.durable.clone();
        let standing = &durable.standing;
        let mut table = Table::begin(durable.instance, boot, standing.table_epoch());
        let memory = match (opening, durable.reserve) {
            (_, None) => Memory::Lost,
            (Opening::New, Some(_)) => Memory::Fresh,
            (Opening::Existing, Some(reserve)) => {
                Memory::Kept { reserve, grants: table.recover(&directory, standing)? }
            }
        };
        let shared = Arc::new(Shared::new(directory, identity));
        Ok((Self { shared, table }, Recovered { durable, memory }))
    }

    /// Writes `record` so that it survives the process, or the machine if it must. A grant takes
    /// two system calls and no flush, and a new table a few more calls. Other records block until
    /// they are durable.
    ///
    /// After an error the previous entry is still valid, and a later write may succeed. Nothing
    /// that depends on a record may leave before this call has returned `Ok`. The call fails if the
    /// table of grants was cut off. [`Flusher::check`] checks whether the next start would find the
    /// table and everything else.
    pub fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        let directory = &self.shared.directory;
        match record {
            Record::Grant(grant) => self.table.grant(directory, grant),
            Record::Forget(election) => self.table.forget(directory, election),
            Record::Table { epoch, until } => self.table.enter(directory, *epoch, *until),
            // The driver writes promises to a page, not to the directory.
            Record::Promise { .. } => Ok(()),
            Record::Identity { .. }
            | Record::Entered { .. }
            | Record::Vote { .. }
            | Record::Settled { .. }
            | Record::Reserve { .. }
            | Record::Roster(_) => self.shared.flush(record),
        }
    }

    /// Replaces the memory's instance, because other members know a later memory of this member.
    /// Call this only while nothing was granted from the present instance.
    pub fn becomes(&mut self, instance: Instance) {
        self.table.becomes(instance);
    }

    /// A handle that flushes from another thread, so that the driver need not wait for the disk.
    #[must_use]
    pub fn flusher(&self) -> Flusher {
        Flusher(Arc::clone(&self.shared))
    }

    /// The path of the table of grants, for messages.
    #[must_use]
    pub fn grants_path(&self) -> PathBuf {
        self.shared.directory.at(GRANTS)
    }

    /// The directory, as the caller named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.directory.path()
    }
}

impl Flusher {
    /// Writes a record of the identity and returns when the record is durable. This takes some
    /// milliseconds, or as long as the disk needs. Flushes of several threads follow one another.
    /// Their order does not matter, because no part of an identity ever goes back.
    ///
    /// After an error the next start finds either the previous identity or the new one. Neither
    /// promises less than the previous durable identity.
    pub fn flush(&self, record: &Record) -> Result<(), WriteError> {
        self.0.flush(record)
    }

    /// Whether the next start would find the directory and everything written to it. Only reads the
    /// file system.
    pub fn check(&self) -> Result<(), WriteError> {
        Ok(self.0.directory.check(|_| true)?)
    }

    /// Removes a table of grants that was replaced or cut off. Otherwise a start could take the
    /// rest for an intact table of fewer elections.
    pub fn distrust(&self) {
        self.0.directory.distrust(GRANTS);
    }
}

/// Checks that the state directory at `path` belongs to no other grantor. Changes nothing and takes
/// no lock. A directory whose identity cannot be read passes.
pub fn check_owner(path: &Path, grantor: &Grantor) -> Result<(), MemoryError> {
    Identity::glance(path).map_or(Ok(()), |identity| owned(path, grantor, &identity))
}

fn owned(path: &Path, grantor: &Grantor, identity: &Identity) -> Result<(), MemoryError> {
    let path = path.to_owned();
    let Identity { cluster, node, .. } = identity;
    if *cluster != grantor.cluster {
        let (node, found, expected) = (node.clone(), cluster.clone(), grantor.cluster.clone());
        return Err(MemoryError::OtherCluster { path, node, found, expected });
    }
    if *node != grantor.node {
        let (found, expected) = (node.clone(), grantor.node.clone());
        return Err(MemoryError::OtherNode { path, found, expected });
    }
    Ok(())
}

fn check(
    directory: &Directory,
    opening: Opening,
    grantor: &Grantor,
    identity: Identity,
) -> Result<Identity, MemoryError> {
    owned(directory.path(), grantor, &identity)?;
    let path = directory.path().to_owned();
    let Identity { cluster, node, durable } = identity.clone();
    if opening == Opening::New && durable.reserve.is_some() {
        let Durable { instance, boot: starts, .. } = durable;
        return Err(MemoryError::NotNew { path, node, cluster, instance, starts });
    }
    Ok(identity)
}

/// Checks whether a directory without an identity may be used: a directory that is declared new
/// must hold nothing of a memory.
fn check_empty(directory: &Directory, opening: Opening) -> Result<(), MemoryError> {
    match directory.remains()? {
        Some(found) if opening == Opening::New => {
            Err(MemoryError::Remains { path: directory.path().to_owned(), found })
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh => f.write_str("a new memory"),
            Self::Lost => f.write_str("the memory was lost, or there never was one"),
            Self::Kept { reserve, grants } => write!(f, "fences up to {reserve}, {grants}"),
        }
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameBoot(table) => write!(f, "{} grants of this boot", table.grants.len()),
            Self::OtherBoot => f.write_str("grants of another boot of the machine"),
            Self::OtherMemory => f.write_str("grants of a memory before this one"),
            Self::OtherEpoch => f.write_str("grants of an earlier epoch"),
            Self::Missing => f.write_str("no grant table"),
            Self::Torn(tear) => tear.fmt(f),
        }
    }
}
