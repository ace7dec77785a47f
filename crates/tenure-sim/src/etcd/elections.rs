//! The state of a world of etcd, for its checks.

use tenure_core::etcd::{Bytes, LeaseId, Lost};

use super::plan::Plan;
use super::records::Records;

/// Elections on etcd in one world.
#[derive(Debug)]
pub struct Elections {
    /// Contents of the store, and the requests of each life.
    pub records: Records,
    /// The lease in the names of each node's keys, in the node's present life.
    pub(super) names: Vec<Option<LeaseId>>,
    /// The loss that each process noticed, until the process reports the leaderships that this loss
    /// ended.
    pub lost: Vec<Option<Lost>>,
    /// The key of the claim that a driver is raising.
    pub key: Bytes,
}

impl Elections {
    /// The key of a node in an election. The last part of the key is the node's `id`: the lease of
    /// its core.
    #[must_use]
    pub fn key_of(plan: &Plan, election: usize, id: &str) -> Bytes {
        format!("{}/{id}", plan.elections[election]).as_str().into()
    }

    pub(super) fn key(&self, plan: &Plan, node: usize, election: usize) -> Option<Bytes> {
        Some(Self::key_of(plan, election, &self.names[node]?.to_string()))
    }
}
