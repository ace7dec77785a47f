//! The name of an epoch.

/// An epoch and its membership, as datagrams name them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpochId {
    pub number: u64,
    /// Digest of the [settings that all nodes must share](super::super::Checked::digest).
    pub digest: u64,
}
