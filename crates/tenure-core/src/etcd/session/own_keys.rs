//! Keys of this process, as the session asks etcd about them.

use alloc::vec::Vec;

use crate::etcd::key::{Bytes, LeaseId};
use crate::etcd::message::{KeyValue, Revision};
use crate::name::ElectionName;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) struct OwnKey {
    pub(in crate::etcd) election: ElectionName,
    pub(in crate::etcd) key: Bytes,
    pub(in crate::etcd) revision: Revision,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) struct PlacedKey {
    pub(in crate::etcd) own: OwnKey,
    pub(in crate::etcd) home: LeaseId,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::etcd) struct FoundKey {
    pub(in crate::etcd) election: ElectionName,
    /// The create revision of the process's key when the question was sent.
    pub(in crate::etcd) asked: Revision,
    pub(in crate::etcd) kv: Option<KeyValue>,
}

/// Pairs each key of a question with the key that etcd has found.
pub(super) fn pair(
    asked: Vec<(ElectionName, Revision)>,
    found: Vec<Option<KeyValue>>,
) -> Vec<FoundKey> {
    let pairs = asked.into_iter().zip(found);
    pairs.map(|((election, asked), kv)| FoundKey { election, asked, kv }).collect()
}
