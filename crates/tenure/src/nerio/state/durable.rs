//! What must survive the machine: which memory this is, its boots, δ_max, and the reserve of
//! fences.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tenure_core::nerio::{Durable, Instance, Record};
use tenure_core::{ClusterName, NodeName};

use super::error::WriteError;
use super::{FORMATS, Grantor};
use crate::entropy;
use crate::state::{Directory, Document, Format, StateError};

/// Far above what an identity takes.
const BYTES_MAX: u64 = 4096;

pub(super) const IDENTITY: Document<Identity> =
    Document::new("identity", Format { magic: *b"\x89TENUREi", ..FORMATS }, BYTES_MAX);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) cluster: ClusterName,
    pub(super) node: NodeName,
    pub(super) durable: Durable,
}

impl Identity {
    /// A memory that begins. Nothing of it is on disk.
    pub(super) fn begin(grantor: &Grantor, first: bool) -> Result<Self, StateError> {
        let instance = Instance(entropy::number().map_err(StateError::Random)?);
        let Grantor { cluster, node } = grantor.clone();
        Ok(Self { cluster, node, durable: Durable::begin(instance, first) })
    }
}

/// The directory and the identity in it, shared by all that flush.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    /// What is on disk, or began now.
    identity: Mutex<Identity>,
}

impl Shared {
    pub(super) fn new(directory: Directory, identity: Identity) -> Self {
        Self { directory, identity: Mutex::new(identity) }
    }

    /// Returns when `record` would survive the loss of power.
    pub(super) fn flush(&self, record: &Record) -> Result<(), WriteError> {
        // Held over the write: two at once would overwrite each other. What it guards is
        // assigned whole, so a panic elsewhere leaves nothing half done.
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
    use tenure_core::nerio::Boot;

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
            },
        }
    }

    #[test]
    fn the_bytes_of_format_2() {
        // Another layout needs another number in `FORMATS`.
        let hex: String = IDENTITY.encode(&sample()).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            hex,
            "8954454e55524569020000002200000001630161ef9bafcdf8acd19181deb7de9af1d9a2a30207010a80\
             cab5ee0101808040ba8e128f"
        );
        assert_eq!(IDENTITY.decode(&IDENTITY.encode(&sample())).unwrap(), sample());
    }

    #[test]
    fn nothing_goes_back() {
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
