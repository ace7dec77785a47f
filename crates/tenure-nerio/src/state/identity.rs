//! The identity file, which must survive the machine: the memory, its boots, δ_max, the reserve of
//! fences, the document of its epoch, its vote on the successor, and the memories of the members.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::clock;
use tenure::driver::random;
use tenure::state::{Directory, Document, Format, StateError};
use tenure_core::nerio::{Boot, Durable, Entry, EpochStanding, Instance, Record};
use tenure_core::{ClusterName, Fence, NodeName, WallTime};

use super::Grantor;
use super::error::{MemoryError, WriteError};

/// Maximum size: room for the document of an epoch, for that of its successor, and for the memories
/// of all members.
const BYTES_MAX: u64 = 32 << 10;

const FORMAT: Format = Format { magic: *b"\x89TENUREi", number: 4 };

pub(super) const IDENTITY: Document<Identity> = Document::new("identity", FORMAT, BYTES_MAX);

const FORMAT3: Format = Format { number: 3, ..FORMAT };

/// The same file as earlier versions write it: without an epoch.
const IDENTITY3: Document<Identity3> = Document::new(IDENTITY.name, FORMAT3, BYTES_MAX);

/// 2026-11-01, in milliseconds since 1970: no memory began before this program existed.
const RELEASED: u64 = 1_793_491_200_000;

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) cluster: ClusterName,
    pub(super) node: NodeName,
    pub(super) durable: Durable,
}

#[derive(Serialize, Deserialize)]
struct Identity3 {
    cluster: ClusterName,
    node: NodeName,
    durable: Durable3,
}

#[derive(Serialize, Deserialize)]
struct Durable3 {
    instance: Instance,
    boot: Boot,
    delta_max: Option<Duration>,
    reserve: Option<Fence>,
    roster: Vec<(NodeName, Entry)>,
}

impl From<Identity3> for Identity {
    fn from(Identity3 { cluster, node, durable }: Identity3) -> Self {
        let Durable3 { instance, boot, delta_max, reserve, roster } = durable;
        // The first start writes down the epoch of the settings.
        let (standing, inherited) = (EpochStanding::blank(instance), Duration::ZERO);
        let durable = Durable { instance, boot, delta_max, reserve, standing, inherited, roster };
        Self { cluster, node, durable }
    }
}

impl Identity {
    /// Reads the identity of a directory; `None` if there is none. The next flush rewrites a file
    /// of an earlier version.
    pub(super) fn read(directory: &Directory) -> Result<Option<Self>, StateError> {
        match IDENTITY.read(directory) {
            Err(StateError::Version { found, .. }) if found == FORMAT3.number => {
                Ok(IDENTITY3.read(directory)?.map(Self::from))
            }
            read => read,
        }
    }

    /// Reads the identity of the directory at `path` without its lock; `None` if there is none that
    /// this version can read.
    pub(super) fn glance(path: &Path) -> Option<Self> {
        IDENTITY.glance(path).or_else(|| IDENTITY3.glance(path).map(Self::from))
    }

    /// A memory that begins, not yet on disk.
    pub(super) fn begin(grantor: &Grantor, first: bool) -> Result<Self, MemoryError> {
        let Grantor { cluster, node } = grantor.clone();
        let durable = Durable::begin(new_instance(clock::wall())?, first);
        Ok(Self { cluster, node, durable })
    }
}

/// The instance, or identity, of a memory that begins at `wall`. If a member has had two memories,
/// the later one is valid. After the loss of all directories, fences begin above this time.
pub(crate) fn new_instance(wall: WallTime) -> Result<Instance, MemoryError> {
    let born = checked(wall)?;
    let number = random().map_err(|error| MemoryError::Random(error.source))?;
    Ok(Instance::new(born, number))
}

/// The wall clock in milliseconds since 1970; an error if it shows a time before this program
/// existed.
pub(crate) fn checked(wall: WallTime) -> Result<u64, MemoryError> {
    let now = wall.as_nanos() / 1_000_000;
    if now < RELEASED {
        return Err(MemoryError::ClockBehind { seconds: (RELEASED - now).div_ceil(1_000) });
    }
    Ok(now)
}

#[cfg(test)]
impl Identity {
    /// The bytes of this identity as earlier versions write it.
    pub(super) fn in_format_3(&self) -> Vec<u8> {
        let Self { cluster, node, durable } = self.clone();
        let Durable { instance, boot, delta_max, reserve, roster, .. } = durable;
        let durable = Durable3 { instance, boot, delta_max, reserve, roster };
        IDENTITY3.encode(&Identity3 { cluster, node, durable })
    }
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
        // Hold the lock during the write, because two writes at once would overwrite each other.
        // The identity is assigned as a whole, so a panic elsewhere leaves no half-done change.
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
    use std::sync::Arc;

    use tenure_core::nerio;

    use super::*;

    const INSTANCE: Instance = Instance(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

    fn sample() -> Identity {
        Identity {
            cluster: ClusterName::new("c").unwrap(),
            node: NodeName::new("a").unwrap(),
            durable: Durable {
                instance: INSTANCE,
                boot: Boot(7),
                delta_max: Some(Duration::from_millis(10_500)),
                reserve: Some(Fence::new(1 << 20)),
                standing: EpochStanding::blank(INSTANCE),
                inherited: Duration::ZERO,
                roster: vec![(
                    NodeName::new("b").unwrap(),
                    Entry { instance: Instance::new(1, 2), founder: true },
                )],
            },
        }
    }

    /// The document of a cluster of one.
    fn document() -> Arc<nerio::Document> {
        let members = nerio::members("a=10.0.0.1:7101").unwrap();
        let config = nerio::Config::new(ClusterName::new("c").unwrap(), members);
        Arc::new(nerio::Document::of_line(&config))
    }

    /// The entry into the epoch of that cluster.
    fn entered(floor: Fence) -> Record {
        Record::Entered { document: document(), floor, inherited: Duration::ZERO, votes: true }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const BYTES3: &str = "8954454e55524569030000003200000001630161ef9bafcdf8acd19181deb7de9af1d9a2a\
        30207010a80cab5ee0101808040010162828080808080808080808008016733ebac";

    #[test]
    fn the_bytes_of_format_4() {
        // Another layout needs another number in `FORMAT`.
        let bytes = IDENTITY.encode(&sample());
        let expected = "8954454e55524569040000003e00000001630161ef9bafcdf8acd19181deb7de9af1d9\
             a2a30207010a80cab5ee010180804000ab939eabb42400000000000101628280808080\
             80808080808008016b7dee1a";
        assert_eq!(hex(&bytes), expected);
        assert_eq!(IDENTITY.decode(&bytes).unwrap(), sample());

        let high = Fence::new(1 << 20);
        let entered = entered(high);
        let durable = sample().durable.with(&entered).unwrap();
        let identity = Identity { durable, ..sample() };
        let bytes = IDENTITY.encode(&identity);
        let expected = "8954454e55524569040000006000000001630161ef9bafcdf8acd19181deb7de9af1d9\
             a2a30207010a80cab5ee01018080400101630000000003c0843d01016100010d31302e\
             302e302e313a37313031086d616a6f7269747900010000000000010162828080808080\
             808080808008015ee3675e";
        assert_eq!(hex(&bytes), expected);
        assert_eq!(IDENTITY.decode(&bytes).unwrap(), identity);
    }

    #[test]
    fn the_bytes_of_format_3_are_read() {
        assert_eq!(hex(&sample().in_format_3()), BYTES3);
        let read = IDENTITY3.decode(&sample().in_format_3()).unwrap();
        assert_eq!(Identity::from(read), sample());
    }

    #[test]
    fn slow_clock_begins_no_memory() {
        let at = |millis: u64| new_instance(WallTime::from_nanos(millis * 1_000_000));
        assert_eq!(at(RELEASED + 7).unwrap().born(), RELEASED + 7);
        let error = at(RELEASED - 1_500).unwrap_err().to_string();
        assert!(error.contains("at least 2 s behind, and a new state directory"), "{error}");
    }

    #[test]
    fn documents_never_go_back() {
        let sample = sample().durable;
        let old = Record::Identity {
            instance: sample.instance,
            boot: Boot(3),
            delta_max: Duration::from_secs(1),
            enters: None,
        };
        assert_eq!(sample.with(&old), Some(sample.clone()));
        assert_eq!(sample.with(&Record::Reserve { high: Fence::new(1) }), Some(sample.clone()));

        let high = Record::Reserve { high: Fence::NONE };
        let entered = entered(Fence::NONE);
        let begun = Durable::begin(INSTANCE, false);
        let one = begun.with(&high).unwrap().with(&entered);
        assert_eq!(one, begun.with(&entered).unwrap().with(&high), "the order means nothing");
        assert_eq!(one.as_ref().unwrap().with(&entered), one);

        let lost = Durable { reserve: None, ..sample };
        assert_eq!(lost.with(&old).unwrap().reserve, None);
        let read = lost.with(&Record::Reserve { high: Fence::NONE }).unwrap();
        assert_eq!(read.reserve, Some(Fence::NONE));
    }
}
