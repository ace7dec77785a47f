//! What must survive the machine: which memory this is, its boots, δ_max and the reserve.
//!
//! One small file, replaced whole: written under another name, flushed, renamed, the directory
//! flushed. Two slots in place would be cheaper, but a damaged newer slot would look like an
//! interrupted write and the older one, with its lower reserve, would be believed: fences would
//! be handed out twice. This way no interrupted write leaves damage, and all damage is refused.

use std::io::Read;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tenure_core::nerio::{Boot, Instance, Record};
use tenure_core::{ClusterName, Fence, NodeName};

use super::Grantor;
use super::directory::Directory;
use super::envelope::{self, Refusal};
use super::error::{Damage, StateError, WriteError};

pub(super) const IDENTITY: &str = "identity";

const MAGIC: &[u8; 8] = b"\x89TENUREi";

/// Far above what an identity takes.
const BYTES_MAX: u64 = 4096;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) cluster: ClusterName,
    pub(super) node: NodeName,
    pub(super) instance: Instance,
    /// The last boot that began.
    pub(super) boot: Boot,
    /// The largest ever allowed here.
    pub(super) delta_max: Option<Duration>,
    /// H. `None`: this memory was lost and the fences have not been read from the others yet.
    pub(super) reserve: Option<Fence>,
}

impl Identity {
    /// A memory that begins. Nothing of it is on disk.
    pub(super) fn begin(grantor: &Grantor, reserve: Option<Fence>) -> Result<Self, StateError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(StateError::Random)?;
        Ok(Self {
            cluster: grantor.cluster.clone(),
            node: grantor.node.clone(),
            instance: Instance(u128::from_le_bytes(bytes)),
            boot: Boot(0),
            delta_max: None,
            reserve,
        })
    }

    /// What `directory` holds; `None` when it has no identity.
    pub(super) fn read(directory: &Directory) -> Result<Option<Self>, StateError> {
        let Some(file) = directory.stored(IDENTITY, OFlags::RDONLY)? else { return Ok(None) };
        let path = directory.at(IDENTITY);
        let mut bytes = Vec::new();
        file.take(BYTES_MAX)
            .read_to_end(&mut bytes)
            .map_err(|source| StateError::io("read", &path, source))?;
        Self::decode(&bytes).map(Some).map_err(|refusal| refusal.at(&path))
    }

    fn encode(&self) -> Vec<u8> {
        // Serializing into memory cannot fail: nothing in it has an unknown length.
        let body = postcard::to_allocvec(self).unwrap_or_default();
        envelope::seal(MAGIC, &body)
    }

    fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let (body, took) = envelope::open(MAGIC, bytes)?;
        if took != bytes.len() {
            let (bytes, expected) = (bytes.len() as u64, took as u64);
            return Err(Refusal::Damaged(Damage::Length { bytes, expected }));
        }
        match postcard::take_from_bytes(body) {
            Ok((identity, [])) => Ok(identity),
            _ => Err(Refusal::Damaged(Damage::Content)),
        }
    }

    /// This with `record` in it. Nothing ever goes back, so the order of flushes means nothing.
    fn with(&self, record: &Record) -> Option<Self> {
        let mut next = self.clone();
        match record {
            Record::Identity { instance, boot, delta_max } => {
                next.instance = *instance;
                next.boot = next.boot.max(*boot);
                next.delta_max = next.delta_max.max(Some(*delta_max));
            }
            Record::Reserve { high } => next.reserve = next.reserve.max(Some(*high)),
            Record::Grant(_) | Record::Forget(_) => return None,
        }
        Some(next)
    }
}

/// The directory and the identity in it, shared by whoever flushes.
#[derive(Debug)]
pub(super) struct Durable {
    pub(super) directory: Directory,
    /// What is on disk, or began now.
    identity: Mutex<Identity>,
}

impl Durable {
    pub(super) fn new(directory: Directory, identity: Identity) -> Self {
        Self { directory, identity: Mutex::new(identity) }
    }

    /// Returns when `record` would survive the loss of power.
    pub(super) fn flush(&self, record: &Record) -> Result<(), WriteError> {
        // Held over the write: two at once would overwrite each other. What it guards is
        // assigned whole, so a panic elsewhere leaves nothing half done.
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let next = identity.with(record).ok_or(WriteError::NotFlushed)?;
        // This one is replaced, whether it is there or not.
        let check = || self.directory.check(|file| file != IDENTITY);
        check()?;
        if let Err(source) = self.directory.put_durably(IDENTITY, &next.encode()) {
            // It may have been removed meanwhile.
            check()?;
            return Err(WriteError::Io { path: self.directory.at(IDENTITY), source });
        }
        *identity = next;
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::state) fn newer() -> Vec<u8> {
        envelope::tests::newer(MAGIC, b"whatever comes")
    }

    fn sample() -> Identity {
        Identity {
            cluster: ClusterName::new("c").unwrap(),
            node: NodeName::new("a").unwrap(),
            instance: Instance(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
            boot: Boot(7),
            delta_max: Some(Duration::from_millis(10_500)),
            reserve: Some(Fence::new(1 << 20)),
        }
    }

    #[test]
    fn the_bytes_of_format_2() {
        // Another layout needs another envelope::FORMAT.
        let hex: String = sample().encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "8954454e55524569020000002200000001630161ef9bafcdf8acd19181deb7de9af1d9a2a30207010a80\
             cab5ee0101808040ba8e128f"
        );
        assert_eq!(Identity::decode(&sample().encode()).unwrap(), sample());
    }

    #[test]
    fn nothing_goes_back() {
        let old = Record::Identity {
            instance: sample().instance,
            boot: Boot(3),
            delta_max: Duration::from_secs(1),
        };
        assert_eq!(sample().with(&old), Some(sample()));
        assert_eq!(sample().with(&Record::Reserve { high: Fence::new(1) }), Some(sample()));

        let lost = Identity { reserve: None, ..sample() };
        assert_eq!(lost.with(&old).unwrap().reserve, None);
        let read = lost.with(&Record::Reserve { high: Fence::NONE }).unwrap();
        assert_eq!(read.reserve, Some(Fence::NONE));
    }

    #[test]
    fn a_file_with_more_behind_it_is_damaged() {
        let mut bytes = sample().encode();
        bytes.push(0);
        assert!(matches!(
            Identity::decode(&bytes),
            Err(Refusal::Damaged(Damage::Length { bytes: b, expected })) if b == expected + 1
        ));
    }
}
