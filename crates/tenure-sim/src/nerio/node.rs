//! Plan of a node of Nerio.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::NodeName;
use tenure_core::nerio::Checked;

/// A node of the cluster.
#[derive(Clone, Debug)]
pub struct NodePlan {
    pub name: NodeName,
    pub address: SocketAddr,
    /// Its settings: the length of its leases may differ from those of the others.
    pub config: Checked,
    /// Settings of its later lives, if they differ: another `delta_max`, mostly a shorter one.
    pub later: Option<Checked>,
    /// Whether it gives leases: then it is a member, at this place in the list.
    pub member: bool,
    /// The member in whose name and place it begins later, with an empty directory, while that one
    /// lives on and is cut off from the other members.
    pub copy_of: Option<usize>,
    /// Whether it has a state directory that outlives its process.
    pub directory: bool,
    pub campaigns: bool,
    pub observes: bool,
}

impl NodePlan {
    /// How long it remembers in any life what has ended.
    #[must_use]
    pub fn remembers(&self) -> Duration {
        let first = self.config.quarantine();
        self.later.as_ref().map_or(first, |later| later.quarantine().min(first))
    }
}
