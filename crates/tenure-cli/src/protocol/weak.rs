//! Weak leaders: a member in each partition that others may turn to there, and that never leads.

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
    /// The next view, the present one at the first call; `None` once the process has ended.
    fn next(&mut self) -> Later<'_, Option<WeakView>>;

    /// A failure that no waiting mends.
    fn permanent_failure(&self) -> Later<'static, Failure>;
}
