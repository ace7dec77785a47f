//! The durable state of a voter, in its state directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::state::{Directory, Document, Format, Layout, StateError, WriteError};
use tenure::{ElectionName, NodeName, SystemError};
use tenure_core::voter::{Identity, Memory};
use tokio::sync::mpsc::UnboundedSender;

use crate::directory_watch::{Lookout, TRIAL};
use crate::incoming::Incoming;

/// The limit is far above the size of a state with 64 members and the longest names.
const BYTES_MAX: u64 = 65_536;

const VOTER: Document<StoredMemory> =
    Document::new("voter", Format { magic: *b"\x89TENUREv", number: 1 }, BYTES_MAX);

static LAYOUT: Layout = Layout {
    document: "voter",
    others: &[TRIAL],
    relearn: " again: this voter is then a new one, and gets its vote back by `tenure members \
              remove`, then `tenure members add`",
    caution: ": a voter without its directory is a new voter, and gets its vote back by `tenure \
              members remove`, then `tenure members add`",
};

/// The durable state, with its election and voter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredMemory {
    election: ElectionName,
    voter: NodeName,
    memory: Memory,
}

/// An open state directory, locked for this process.
#[derive(Debug)]
pub(crate) struct State {
    /// Field order matters: the lookout, which uses `directory`, too, is dropped before
    /// `directory`.
    lookout: Option<Lookout>,
    directory: Arc<Directory>,
    election: ElectionName,
    voter: NodeName,
}

/// The reason why the state directory of a voter was not opened. The directory is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    System(#[from] SystemError),
    #[error(
        "state directory {path} belongs to voter {found} of election {of}, and this is voter \
         {voter} of {election}; each voter needs its own directory"
    )]
    OtherVoter {
        path: PathBuf,
        found: NodeName,
        of: ElectionName,
        voter: NodeName,
        election: ElectionName,
    },
}

/// Checks that the state directory at `path` belongs to no voter with another name. Changes nothing
/// and takes no lock. A directory whose state cannot be read passes.
pub fn check_owner(path: &Path, voter: &NodeName) -> Result<(), MemoryError> {
    match VOTER.glance(path) {
        Some(found) if found.voter != *voter => {
            let election = found.election.clone();
            Err(other_voter(path, found, &election, voter))
        }
        _ => Ok(()),
    }
}

fn other_voter(
    path: &Path,
    found: StoredMemory,
    election: &ElectionName,
    voter: &NodeName,
) -> MemoryError {
    let StoredMemory { election: of, voter: found, .. } = found;
    let (path, voter, election) = (path.to_owned(), voter.clone(), election.clone());
    MemoryError::OtherVoter { path, found, of, voter, election }
}

impl State {
    /// Locks the directory and reads the state. For an empty or missing directory, writes a new
    /// state, and then returns.
    pub(crate) fn open(
        path: &Path,
        election: &ElectionName,
        voter: &NodeName,
    ) -> Result<(Self, Memory), MemoryError> {
        let directory = Arc::new(Directory::open(path, &LAYOUT)?);
        let election = election.clone();
        let voter = voter.clone();
        let this = Self { lookout: None, directory, election, voter };
        let found = VOTER.read(&this.directory)?;
        let memory = match found {
            Some(found) if (&found.voter, &found.election) == (&this.voter, &this.election) => {
                found.memory
            }
            Some(found) => return Err(other_voter(path, found, &this.election, &this.voter)),
            None => {
                let memory = Memory::begin(Identity(tenure::driver::random()?));
                this.write(&memory)?;
                memory
            }
        };
        this.directory.sign()?;
        Ok((this, memory))
    }

    /// Starts the lookout. The loop then learns when the directory is lost, is back, or can be
    /// written again.
    pub(crate) fn watch(&mut self, to_loop: UnboundedSender<Incoming>) {
        self.lookout = Some(Lookout::begin(self.directory.clone(), to_loop));
    }

    /// Notes a failed write. Returns whether the loop will learn when the next write may succeed.
    pub(crate) fn try_out(&self) -> bool {
        self.lookout.as_ref().is_some_and(Lookout::try_out)
    }

    /// Whether the directory holds the state of a voter.
    pub(crate) fn is_in(path: &Path) -> bool {
        path.join(LAYOUT.document).exists()
    }

    /// Writes the state. When this returns, `memory` survives a loss of power.
    pub(crate) fn write(&self, memory: &Memory) -> Result<(), WriteError> {
        let election = self.election.clone();
        let voter = self.voter.clone();
        VOTER.write(&self.directory, &StoredMemory { election, voter, memory: memory.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::voter::{Electorate, Member};

    use super::*;

    fn name(id: &str) -> NodeName {
        id.parse().unwrap()
    }

    #[test]
    fn memory_is_kept_and_locked() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let election = "billing".parse().unwrap();
        let (state, begun) = State::open(&path, &election, &name("a")).unwrap();
        let member = Member { id: name("a"), identity: begun.identity };
        let memory = Memory {
            lease_max: Duration::from_secs(4),
            electorate: Some(Electorate::founded(vec![member])),
            founded: true,
            ..begun
        };
        state.write(&memory).unwrap();
        let twice = State::open(&path, &election, &name("a")).unwrap_err().to_string();
        assert!(twice.contains("is in use by this process"), "{twice}");
        check_owner(&path, &name("a")).unwrap();
        let other = check_owner(&path, &name("b")).unwrap_err().to_string();
        assert!(other.contains("belongs to voter a of election billing"), "{other}");
        drop(state);
        let (_state, found) = State::open(&path, &election, &name("a")).unwrap();
        assert_eq!(found, memory);
    }

    #[test]
    fn new_memory_keeps_identity() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let election = "billing".parse().unwrap();
        let open = || State::open(&path, &election, &name("a")).unwrap().1;
        assert_eq!(open(), open());
    }

    #[test]
    fn foreign_directory_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let billing = "billing".parse().unwrap();
        let other = "other".parse().unwrap();
        drop(State::open(&path, &billing, &name("a")).unwrap());
        for (election, voter) in [(&billing, "b"), (&other, "a")] {
            let told = State::open(&path, election, &name(voter)).unwrap_err().to_string();
            assert!(told.contains("belongs to voter a of election billing"), "{told}");
        }
    }

    #[test]
    fn the_largest_memory_fits() {
        let longest = "x".repeat(NodeName::MAX_BYTES - 2);
        let member = |number| Member {
            id: name(&format!("{longest}{number:02}")),
            identity: Identity(u128::MAX),
        };
        let members = (0..tenure_core::voter::MEMBERS_MAX).map(member).collect();
        let memory = Memory {
            electorate: Some(Electorate::founded(members)),
            ..Memory::begin(Identity(u128::MAX))
        };
        let election = ElectionName::new(&"x".repeat(ElectionName::MAX_BYTES)).unwrap();
        let bytes = VOTER.encode(&StoredMemory { election, voter: name("a"), memory });
        assert!((bytes.len() as u64) < BYTES_MAX / 2, "{}", bytes.len());
    }
}
