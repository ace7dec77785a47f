//! The plan of a node of Nerio.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::NodeName;
use tenure_core::nerio::Checked;

#[derive(Clone, Debug)]
pub struct NodePlan {
    pub name: NodeName,
    pub address: SocketAddr,
    /// Settings of the node's first life. The lease may differ from the leases of other nodes.
    pub config: Checked,
    /// Settings of the node's later lives, if these differ: another `delta_max`, usually a shorter
    /// span.
    pub later: Option<Checked>,
    /// Whether the node is a member and grants leases, at this place in the list.
    pub member: bool,
    /// Whether the node was a member once, and was set up anew under another list: it grants in a
    /// cluster of its own.
    pub stray: bool,
    /// Whether the node begins with an empty directory, and is no member until an operator adds it.
    pub blank: bool,
    /// Whether the node is an operator, which asks for changes of members.
    pub operator: bool,
    /// The member in whose name this node begins later, with an empty directory, while the member
    /// lives on. The node is in the member's place, cut off from the others, or at another address.
    pub copy_of: Option<usize>,
    /// Whether the node's state directory outlives its process.
    pub directory: bool,
    pub campaigns: bool,
    pub observes: bool,
}

impl NodePlan {
    /// Time for which the node remembers ended grants, in any life.
    #[must_use]
    pub fn remembers(&self) -> Duration {
        let first = self.config.quarantine();
        self.later.as_ref().map_or(first, |later| later.quarantine().min(first))
    }
}
