//! The name of an epoch.

use serde::{Deserialize, Serialize};

/// An epoch and its membership, as datagrams name them; ordered by number.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct EpochId {
    pub number: u64,
    /// Digest of the epoch's [document](super::Document::id). An upgraded document has the digest
    /// of the settings that all nodes must [share](super::super::Checked::digest) instead.
    pub digest: u64,
}

impl EpochId {
    /// No epoch: the predecessor of epoch 0.
    pub const NONE: Self = Self { number: 0, digest: 0 };
}
