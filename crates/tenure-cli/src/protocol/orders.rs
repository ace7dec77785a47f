//! Leaderships that are ended from elsewhere, over the network.

use std::time::Duration;

use tenure_core::{ElectionName, NodeName};

/// What is to end, and who leads then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// Of which election.
    pub election: ElectionName,
    /// The candidate that leads next; whoever wins, if that is nobody.
    pub to: Option<NodeName>,
    /// How long to wait until another one leads; `None` does not wait for it.
    pub wait: Option<Duration>,
    /// How long to wait until the leadership has ended, unless that says it.
    pub timeout: Duration,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Who led.
    pub id: NodeName,
    /// The fence of the leadership that has ended; of one that goes on, as it is what was wished.
    pub fence: u64,
    /// The one that was named led already.
    pub unchanged: bool,
    /// How much longer a promise keeps others from leading, if nobody waits for that.
    pub held: Option<Duration>,
    /// Who leads now, if that was seen, and with which fence.
    pub leader: Option<(NodeName, u64)>,
}
