//! The identity file, which must survive the machine: the memory, its boots, δ_max, the reserve of
//! fences, and the memories of the other members.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tenure::clock;
use tenure::driver::random;
use tenure::state::{Directory, Document, Format};
use tenure_core::nerio::{Durable, Instance, Record};
use tenure_core::{ClusterName, NodeName, WallTime};

use super::Grantor;
use super::error::{MemoryError, WriteError};

const BYTES_MAX: u64 = 8192;

const FORMAT: Format = Format { magic: *b"\x89TENUREi", number: 3 };

pub(super) const IDENTITY: Document<Identity> = Document::new("identity", FORMAT, BYTES_MAX);

/// 2026-11-01, in milliseconds since 1970: no memory began before this program existed.
const RELEASED: u64 = 1_793_491_200_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) cluster: ClusterName,
    pub(super) node: NodeName,
    pub(super) durable: Durable,
}

impl Identity {
    /// A memory that begins, not yet on disk.
    pub(super) fn begin(grantor: &Grantor, first: bool) -> Result<Self, MemoryError> {
        let Grantor { cluster, node } = grantor.clone();
        let durable = Durable::begin(new_instance(clock::wall())?, first);
        Ok(Self { cluster, node, durable })
    }
}

/// The instance of a memory that begins now, by `wall`. The later of two memories of a member is
/// valid, and after the loss of all directories fences go on from this time.
pub(crate) fn new_instance(wall: WallTime) -> Result<Instance, MemoryError> {
    let born = wall.as_nanos() / 1_000_000;
    if born < RELEASED {
        return Err(MemoryError::ClockBehind { seconds: (RELEASED - born).div_ceil(1_000) });
    }
    let number = random().map_err(|error| MemoryError::Random(error.source))?;
    Ok(Instance::new(born, number))
}

/// The directory and its identity, shared by all threads that flush.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    identity: Mutex<Identity>,
}

impl Shared {
    pub(super) fn new(directory: Directory, identity: Identity) -> Self {
        Self { directory, identity: Mutex::new(identity) }
    }

    /// Returns once `record` would survive a loss of power.
    pub(super) fn flush(&self, record: &Record) -> Result<(), WriteError> {
        // Hold the lock over the write: two writes at once would overwrite each other. The identity
        // is assigned as a whole, so a panic elsewhere leaves nothing half done.
        let mut identity = self.identity.lock().unwrap_or_else(PoisonError::into_inner);
        let durable = identity.durable.with(record).ok_or(WriteError::NotFlushed)?;
        let next = Identity { durable, ..identity.clone() };
        IDENTITY.write(&self.directory, &next)?;
        *identity = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::Fence;
    use tenure_core::nerio::{Boot, Entry};

    use super::*;

    fn sample() -> Identity {
        Identity {
            cluster: ClusterName::new("c").unwrap(),
            node: NodeName::new("a").unwrap(),
            durable: Durable {
                instance: Instance(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
                boot: Boot(7),
                delta_max: Some(Duration::from_millis(10_500)),
                reserve: Some(Fence::new(1 << 20)),
                roster: vec![(
                    NodeName::new("b").unwrap(),
                    Entry { instance: Instance::new(1, 2), founder: true },
                )],
            },
        }
    }

    #[test]
    fn the_bytes_of_format_3() {
        // Another layout needs another number in `FORMAT`.
        let bytes = IDENTITY.encode(&sample());
        let told: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = "8954454e55524569030000003200000001630161ef9bafcdf8acd19181deb7de9af1d9a2a\
             30207010a80cab5ee0101808040010162828080808080808080808008016733ebac";
        assert_eq!(told, expected);
        assert_eq!(IDENTITY.decode(&bytes).unwrap(), sample());
    }

    #[test]
    fn slow_clock_begins_no_memory() {
        let at = |millis: u64| new_instance(WallTime::from_nanos(millis * 1_000_000));
        assert_eq!(at(RELEASED + 7).unwrap().born(), RELEASED + 7);
        let error = at(RELEASED - 1_500).unwrap_err().to_string();
        assert!(error.contains("at least 2 s behind: set it"), "{error}");
    }

    #[test]
    fn documents_never_go_back() {
        let sample = sample().durable;
        let old = Record::Identity {
            instance: sample.instance,
            boot: Boot(3),
            delta_max: Duration::from_secs(1),
        };
        assert_eq!(sample.with(&old), Some(sample.clone()));
        assert_eq!(sample.with(&Record::Reserve { high: Fence::new(1) }), Some(sample.clone()));

        let lost = Durable { reserve: None, ..sample };
        assert_eq!(lost.with(&old).unwrap().reserve, None);
        let read = lost.with(&Record::Reserve { high: Fence::NONE }).unwrap();
        assert_eq!(read.reserve, Some(Fence::NONE));
    }
}
