//! Facts of Nerio's worlds alone.

use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    ClockApart, Document, Entry, EpochId, FenceSeen, GrantRecord, Inc, Instance, Message,
    QuorumTimestamp, Release, Request, Sender, Who,
};
use tenure_core::{Fence, LeaderView, NodeName, Ticket, Time, WallTime};

use super::disk::Disk;
use super::walls::Read;

/// A fact for properties. Elections and nodes have numbers; times of type `u64` are true time.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A leadership has begun with this quorum timestamp.
    Stamped { election: usize, who: &'a Who, timestamp: &'a QuorumTimestamp },
    /// A write of a grantor failed, and the dependent answers were dropped.
    Unwritten { grantor: usize },
    /// A grantor has decided on a grant, without a record or a message.
    Decided { grantor: usize, election: usize, record: &'a GrantRecord, read: Read },
    /// A grantor is ready for its first grant.
    Serves { grantor: usize },
    /// An application whose handle shows it as leader creates an edict.
    Edict {
        election: usize,
        who: &'a Who,
        fence: Fence,
        timestamp: &'a QuorumTimestamp,
        /// Number of earlier edicts of this leadership.
        counter: u64,
    },
    /// A message is sent.
    Sent { node: usize, message: &'a Message, disk: &'a Disk },
    /// A request is sent.
    Requests { node: usize, election: usize, request: &'a Request },
    /// A grantor waits, because it may have forgotten leases.
    Quarantined { grantor: usize },
    /// A grantor begins to write its identity.
    Opens {
        grantor: usize,
        /// Whether the grantor's directory knows the past fences.
        knows_fences: bool,
        /// Memory of the grantor.
        instance: Instance,
        /// Document of the epoch that this memory has entered, or enters now.
        entered: Option<&'a Document>,
        /// Whether this memory has accepted a successor of the entered epoch.
        wedged: bool,
    },
    /// A grantor begins to write that it accepts a successor of its epoch.
    Accepts { grantor: usize, epoch: EpochId, ballot: Ballot, successor: &'a Document },
    /// A grantor has entered an epoch after its first epoch, durably.
    Enters { grantor: usize, document: &'a Document },
    /// A message about members arrives at a grantor, where members replace lost members by
    /// themselves.
    Told { grantor: usize, from: &'a Sender, message: &'a Message, local: Time },
    /// A grantor agrees to the replacement of a member by the members themselves.
    Agrees { grantor: usize, name: &'a NodeName, local: Time },
    /// A grantor begins to replace a member by itself.
    Replaces { grantor: usize, name: &'a NodeName, local: Time },
    /// The candidates and observers of a node go on in an epoch.
    Switches { node: usize, epoch: EpochId },
    /// The weak leader that a node sees has changed.
    Weak { node: usize, leader: Option<&'a NodeName> },
    /// A member reports its remembered fences to a grantor without memory.
    Recalls { grantor: usize, from: &'a Sender, seen: &'a FenceSeen },
    /// A grantor ignores the last report of fences.
    Unread { grantor: usize },
    /// A grantor begins to write a bound on fences.
    Reserves {
        grantor: usize,
        /// Number of the flush.
        ticket: Ticket,
        high: Fence,
        disk: &'a Disk,
    },
    /// A grantor begins to write the members' memories.
    Notes {
        grantor: usize,
        /// All known memories.
        members: &'a [(NodeName, Entry)],
        /// Number of the flush.
        ticket: Ticket,
        /// Instant on the clock of the grantor.
        local: Time,
    },
    /// A flush of a grantor has ended.
    Settled {
        grantor: usize,
        /// Number of the flush.
        ticket: Ticket,
        written: bool,
    },
    /// An order to end its leadership arrives at a node.
    Handed { node: usize, number: u64 },
    /// A leader receives an order to end its leadership.
    Ordered {
        node: usize,
        election: usize,
        /// Fence of that leadership.
        fence: Fence,
    },
    /// A node reports that its clock and a member's are apart.
    Apart { node: usize, apart: &'a ClockApart },
    /// A release is sent.
    Released {
        election: usize,
        who: &'a Who,
        /// The last released Start.
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
        /// Instant on the wall clock of the grantor.
        wall: WallTime,
    },
    /// A release arrives at a grantor.
    GivesUp { grantor: usize, from: &'a Sender, release: &'a Release },
    /// A report that a process has ended arrives at a grantor, true or forged.
    Reported { grantor: usize, who: &'a Who },
    /// A grantor is about to write a grant.
    Granted {
        grantor: usize,
        election: usize,
        record: &'a GrantRecord,
        /// End of the grant.
        finish: u64,
        /// Clocks of the grantor when it decided.
        read: Read,
    },
    /// A grantor frees its grant after a release, or a report.
    Freed {
        grantor: usize,
        election: usize,
        /// The sender of the release, or the process that has ended.
        by: &'a Who,
    },
    /// A verification promises that a leader leads until `until`.
    Verified { election: usize, leader: &'a Who, until: u64, fence: Option<Fence> },
}

/// The life of an observed leader.
///
/// # Panics
///
/// If the leader is no node.
#[must_use]
pub fn named(leader: &LeaderView) -> Who {
    let name = NodeName::new(&leader.id).expect("a leader is called by the name of its node");
    Who { name, inc: Inc(leader.incarnation.unwrap_or(0)) }
}
