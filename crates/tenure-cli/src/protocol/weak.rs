//! Weak leaders. In each partition of the network the members name one member to which other nodes
//! may turn. A weak leader leads no election.

use tenure::NodeName;

use super::Later;
use crate::failure::Failure;

/// The weak leader of the partition in which this process is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WeakView {
    Member { id: NodeName, epoch: u64 },
    Unknown,
}

/// A process that watches the weak leaders of its partition.
pub trait WeakObserver {
    /// The next view; at the first call the present view. `None` once the process has ended.
    fn next(&mut self) -> Later<'_, Option<WeakView>>;

    /// Resolves with a failure that does not pass by itself.
    fn permanent_failure(&self) -> Later<'static, Failure>;
}
