//! Edicts: orders of a leader that carry the time of their creation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure::{AtMostOne, Leader, driver};
use tenure_core::nerio::{EdictTimestamp, Inc, QuorumTimestamp};

use crate::Node;
use crate::error::{NotLeading, NotWonHere};

/// The numbers that order the edicts of a leadership, and the incarnation of the node that won the
/// leadership.
pub(crate) struct Source {
    inc: Inc,
    /// Number of the epoch in which the leadership was won.
    epoch: u64,
    timestamp: QuorumTimestamp,
    created: AtomicU64,
}

impl Source {
    pub(crate) fn new(inc: Inc, epoch: u64, timestamp: QuorumTimestamp) -> Self {
        Self { inc, epoch, timestamp, created: AtomicU64::new(0) }
    }
}

/// Creates the edicts of one leadership (section 7). All `Edicts` of one leadership put their
/// edicts into one order. Holding `Edicts` does not keep the leader in office.
#[derive(Clone)]
pub struct Edicts {
    leader: Leader<AtMostOne>,
    source: Arc<Source>,
}

impl Node {
    /// Returns the [`Edicts`] of a leadership that this node has won.
    pub fn edicts(&self, leader: &Leader<AtMostOne>) -> Result<Edicts, NotWonHere> {
        let source = driver::extra::<Source, _>(leader).ok_or(NotWonHere)?;
        if source.inc != self.who().inc {
            return Err(NotWonHere);
        }
        Ok(Edicts { leader: leader.clone(), source })
    }
}

impl Edicts {
    /// Creates an edict. The last step samples the clock and checks that this node still leads at
    /// that instant. Timestamps order edicts as they were created in real time, across leaders too.
    /// A recipient checks the order with an [`EdictGate`](crate::EdictGate).
    ///
    /// Ask [`Leader::is_current`] once more before sending.
    pub fn create(&self) -> Result<EdictTimestamp, NotLeading> {
        let counter = self.source.created.fetch_add(1, Ordering::Relaxed);
        let Source { epoch, timestamp, .. } = &*self.source;
        let edict = EdictTimestamp { epoch: *epoch, quorum: timestamp.clone(), counter };
        if self.leader.is_current() { Ok(edict) } else { Err(NotLeading) }
    }

    /// The quorum timestamp of the leadership.
    #[must_use]
    pub fn timestamp(&self) -> &QuorumTimestamp {
        &self.source.timestamp
    }
}

impl fmt::Debug for Edicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edicts").field("timestamp", &self.source.timestamp).finish_non_exhaustive()
    }
}
