//! The weak leader of a partition (section 10.3).

use core::fmt;

use crate::name::NodeName;

/// A temporary leader without authority, in the partition in which a node sees itself: the smallest
/// member there that has not failed, as far as failure detectors say.
///
/// A weak leader holds no lease and has no fence. Several members may be weak leaders at once, in
/// one partition too, while detectors disagree. A weak leader may coordinate work that tolerates
/// several weak leaders, such as a read-only service of a partition without a quorum. Work that
/// needs one leader needs a lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct WeakLeader {
    pub member: NodeName,
    /// Whether this node is the weak leader.
    pub here: bool,
    /// Number of the epoch whose members stand on the ring.
    pub epoch: u64,
}

impl fmt::Display for WeakLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.member, if self.here { ", this node" } else { "" })
    }
}
