//! Facts that only worlds of Nerio have.

use tenure_core::nerio::{
    Entry, FenceSeen, GrantRecord, Inc, Instance, Message, QuorumTimestamp, Release, Request,
    Sender, Who,
};
use tenure_core::{Fence, LeaderView, NodeName, Ticket, Time};

use super::disk::Disk;

/// Something that a property may judge. Elections and nodes go by their numbers; times that are
/// `u64` are true time.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A leadership has begun with this quorum timestamp.
    Stamped { election: usize, who: &'a Who, timestamp: &'a QuorumTimestamp },
    /// A write of a grantor failed, and the answers that depend on it were dropped.
    Unwritten { grantor: usize },
    /// A grantor has decided on a grant that is not written down, and that nobody is told of.
    Decided { grantor: usize, election: usize, record: &'a GrantRecord },
    /// A grantor has done what comes before its first grant.
    Serves { grantor: usize },
    /// An application that its handle calls leader creates an edict.
    Edict {
        election: usize,
        who: &'a Who,
        fence: Fence,
        timestamp: &'a QuorumTimestamp,
        /// How many it has created before.
        counter: u64,
    },
    /// A message is sent.
    Sent { node: usize, message: &'a Message, disk: &'a Disk },
    /// A request is sent.
    Requests { node: usize, election: usize, request: &'a Request },
    /// A grantor says that it waits, as it may have forgotten leases.
    Quarantined { grantor: usize },
    /// A grantor begins to write down who it is.
    Opens {
        grantor: usize,
        /// Whether its directory knows the fences that it has seen.
        knows_fences: bool,
        /// Which memory that is.
        instance: Instance,
    },
    /// A member reports the fences that it remembers to a grantor that has lost its memory.
    Recalls { grantor: usize, from: &'a Sender, seen: &'a FenceSeen },
    /// A grantor did not wait for what it was told last.
    Unread { grantor: usize },
    /// A grantor begins to write a bound on fences down.
    Reserves {
        grantor: usize,
        /// As what it is written.
        ticket: Ticket,
        high: Fence,
        disk: &'a Disk,
    },
    /// A grantor begins to write down which memories members have.
    Notes {
        grantor: usize,
        /// All that it knows.
        members: &'a [(NodeName, Entry)],
        /// As what it is written.
        ticket: Ticket,
        /// Instant on the clock of the grantor.
        local: Time,
    },
    /// A flush of a grantor has ended.
    Settled {
        grantor: usize,
        /// As what it was written.
        ticket: Ticket,
        written: bool,
    },
    /// An order to end its leadership arrives at a node.
    Handed { node: usize, number: u64 },
    /// A leader is told to end its leadership.
    Ordered {
        node: usize,
        election: usize,
        /// The fence of that leadership.
        fence: Fence,
    },
    /// A release is sent.
    Released {
        election: usize,
        who: &'a Who,
        /// Everything up to this Start is given up.
        start: Time,
    },
    /// A request arrives at a grantor.
    Asks {
        grantor: usize,
        election: usize,
        from: &'a Sender,
        request: &'a Request,
        /// Instant on the clock of the grantor.
        local: Time,
    },
    /// A release arrives at a grantor.
    GivesUp { grantor: usize, from: &'a Sender, release: &'a Release },
    /// A grantor is about to write a grant down.
    Granted {
        grantor: usize,
        election: usize,
        record: &'a GrantRecord,
        /// When it ends.
        finish: u64,
    },
    /// A grantor took its grant back on a release.
    Freed {
        grantor: usize,
        election: usize,
        /// On whose word.
        by: &'a Who,
    },
    /// A verification says that a leader leads until then.
    Verified { election: usize, leader: &'a Who, until: u64, fence: Option<Fence> },
}

/// The life of which an observer is told as the leader.
///
/// # Panics
///
/// If it is not of a node.
#[must_use]
pub fn named(leader: &LeaderView) -> Who {
    let name = NodeName::new(&leader.id).expect("a leader is called by the name of its node");
    Who { name, inc: Inc(leader.incarnation.unwrap_or(0)) }
}
