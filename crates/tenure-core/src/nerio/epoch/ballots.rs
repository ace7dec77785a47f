//! Messages about the successor of an epoch: the votes on it, and the decision.
//!
//! ```text
//! proposer ── Prepare ──> members of the epoch    <── Promise ── by a quorum
//!          ── ReadyRead ─> seats of the successor  <── Ready ─── by a quorum, for its own proposal
//!          ── Accept ───> members of the epoch    <── Accepted ─ by a quorum: decided
//!          ── Decided ──> members of both epochs
//! ```
//!
//! These messages are bound to no epoch: their bodies name epochs, and recipients ignore the epoch
//! of the envelope. Each answer names the incarnation that asked.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::identity::{Inc, Instance, Mark};
use super::{Ballot, EpochId};

/// The memory of an answering member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Acceptor {
    pub instance: Instance,
    /// Mark of each member's memory by position, as the answering member has written them down;
    /// empty unless the epoch is upgraded. Seats of all other epochs name the memories themselves.
    pub memories: Vec<Mark>,
}

/// Proposer to member: promise to accept no earlier ballot.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Prepare {
    /// The epoch that is to end.
    pub epoch: EpochId,
    pub ballot: Ballot,
}

/// Blank to member: promise to accept no earlier founding. The [`Promise`] names
/// [`EpochId::NONE`] as the epoch that ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Found {
    pub ballot: Ballot,
    /// Memory of the blank.
    pub instance: Instance,
    /// Clock of the blank's machine, in milliseconds since 1970.
    pub wall: u64,
}

/// The answer to [`Prepare`] and [`Found`], and the refusal of an [`Accept`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Promise {
    /// Incarnation that asked.
    pub asker: Inc,
    pub epoch: EpochId,
    pub ballot: Ballot,
    pub acceptor: Acceptor,
    pub outcome: PromiseOutcome,
}

/// Whether a member promised a ballot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum PromiseOutcome {
    /// The member promises the ballot; `accepted` is the successor that it accepted by the highest
    /// ballot.
    Promised { accepted: Option<(Ballot, EpochId)> },
    /// The member refuses, because it has promised the later ballot `above`.
    Refused { above: Ballot },
    /// The member promises nothing for this span at most: it does not know all leases from before
    /// its epoch yet.
    Later { rest: Duration },
    /// The member refuses a founding, because the clocks of both machines are too far apart.
    Apart {
        /// Clock of the member's machine, in milliseconds since 1970.
        wall: u64,
    },
}

/// Proposer to member: accept this successor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Accept {
    /// The epoch that is to end.
    pub epoch: EpochId,
    pub ballot: Ballot,
    pub successor: EpochId,
}

/// The answer to [`Accept`]: the member is wedged.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Accepted {
    /// Incarnation that asked.
    pub asker: Inc,
    pub epoch: EpochId,
    pub ballot: Ballot,
    pub successor: EpochId,
    pub acceptor: Acceptor,
}

/// The successor of an epoch is decided. A recipient learns from this message only whom to ask.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// A ballot by which a quorum accepted the successor, if the sender knows one.
    pub ballot: Option<Ballot>,
    pub before: EpochId,
    pub successor: EpochId,
}

/// Proposer to a seat of the successor: can you serve in that epoch?
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ReadyRead {
    pub successor: EpochId,
}

/// The answer to [`ReadyRead`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Incarnation that asked.
    pub asker: Inc,
    pub successor: EpochId,
    pub instance: Instance,
    /// The reason why the seat is not ready; `None` if it is.
    pub unready: Option<Unready>,
}

/// The reason why a node is not ready for a seat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum Unready {
    #[error("cannot write its state directory")]
    Disk,
    #[error("has a state directory other than the one that the change names")]
    OtherMemory,
    #[error("is in another epoch")]
    OtherEpoch,
    #[error("has settings with another cluster name or drift")]
    OtherSettings,
}

impl fmt::Display for Prepare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, ballot } = self;
        write!(f, "prepare epoch {} ballot {ballot}", epoch.number)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ballot, instance, wall } = self;
        write!(f, "found ballot {ballot} memory {instance} clock {wall} ms")
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, ballot, outcome, .. } = self;
        write!(f, "promise epoch {} ballot {ballot}", epoch.number)?;
        match outcome {
            PromiseOutcome::Promised { accepted: None } => Ok(()),
            PromiseOutcome::Promised { accepted: Some((by, successor)) } => {
                write!(f, " accepted epoch {} by {by}", successor.number)
            }
            PromiseOutcome::Refused { above } => write!(f, " refused, promised {above}"),
            PromiseOutcome::Later { rest } => write!(f, " later, within {rest:?}"),
            PromiseOutcome::Apart { wall } => write!(f, " refused, clock {wall} ms"),
        }
    }
}

impl fmt::Display for Accept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, ballot, successor } = self;
        write!(f, "accept epoch {} after {} ballot {ballot}", successor.number, epoch.number)
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, ballot, successor, .. } = self;
        write!(f, "accepted epoch {} after {} ballot {ballot}", successor.number, epoch.number)
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ballot, before, successor } = self;
        write!(f, "decided epoch {} after {}", successor.number, before.number)?;
        match ballot {
            Some(ballot) => write!(f, " ballot {ballot}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ReadyRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ready for epoch {}?", self.successor.number)
    }
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unready {
            None => write!(f, "ready for epoch {}", self.successor.number),
            Some(why) => write!(f, "not ready for epoch {}: {why}", self.successor.number),
        }
    }
}
