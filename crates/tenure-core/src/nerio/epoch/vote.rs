//! The vote of one member on the successor of its epoch: an acceptor of single-decree Paxos.
//!
//! Section 10.6 ends an epoch by wedging a quorum of its members, and leaves open which members
//! form the next epoch. The members decide this by ballots: each ballot is one attempt of a
//! [proposer](super::Proposer). A member that *promises* a ballot bars all earlier ballots; a
//! member that *accepts* a successor is wedged for ever. The caller makes a vote durable before the
//! member answers.
//!
//! Rules, by the numbers that tests and patches cite, each with the trace that refutes a simpler
//! rule:
//!
//! - 2.1.1: *Ballots of two proposers differ.* Otherwise P and Q both use ballot 1. Members a and b
//!   accept S by it, then b and c accept T by it. Both are decided.
//! - 2.1.1: *A member accepts one successor by a ballot.* P and a copy of P's process both use
//!   ballot 1. If b accepted twice, a and b would accept S, then b and c would accept T. Both would
//!   be decided.
//! - 2.1.1: *A ballot skips few counters.* Otherwise a faulty process sends the last counter, and
//!   a, b and c promise it. No later ballot exists, and the epoch never ends.
//! - 2.1.3: *A promise bars earlier ballots.* Members a and b promise ballot 1 of P. Then b and c
//!   promise ballot 2 of Q and accept T, which is decided. P's question to accept S arrives late.
//!   If a and b still accepted, S would be decided as well.
//! - 2.1.3: *A memory that may have forgotten a vote casts none.* Members b and c promise ballot 5
//!   of P. The directory of c is lost; c reads the fences of the others and serves again. If c
//!   could vote, a and c would promise ballot 4 of Q and accept T. Then P's question to accept S
//!   would arrive, and b and c would accept S. Both would be decided.
//! - 2.1.3: *A vote on a disk never goes back.* Three of five members, a, b and c, accept S, which
//!   is decided. An earlier vote of c reaches the disk after its acceptance, and c restarts. If c
//!   kept to the earlier vote, c, d and e would promise the next ballot and accept T.
//! - 2.1.4: *An acceptance never ends.* Members a and b accept, and the next epoch serves. If a
//!   gave up waiting, a and c would elect a leader in the old epoch.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::identity::Inc;

/// An attempt to decide the successor of an epoch. Ballots are ordered by counter, then by
/// proposer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ballot {
    pub counter: u64,
    /// Incarnation of the proposer, which uses each counter once.
    pub inc: Inc,
}

impl Ballot {
    /// A ballot before every ballot of a proposer.
    pub const NONE: Self = Self { counter: 0, inc: Inc(0) };
    /// A ballot after every ballot of a proposer.
    const LAST: Self = Self { counter: u64::MAX, inc: Inc(u128::MAX) };
    /// The largest step by which the counter of a member's promise grows at once. Proposers would
    /// need a million attempts to come so far ahead of a member.
    pub const STEP_MAX: u64 = 1 << 20;

    /// Whether the ballot is so far above `promised` that a member must ignore it.
    #[must_use]
    pub const fn is_too_far(self, promised: Self) -> bool {
        self.counter > promised.counter.saturating_add(Self::STEP_MAX)
    }

    /// The first ballot of this incarnation after `self`, or `None` when the counters are used up.
    #[must_use]
    pub const fn next(self, inc: Inc) -> Option<Self> {
        match self.counter.checked_add(1) {
            Some(counter) => Some(Self { counter, inc }),
            None => None,
        }
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.counter, self.inc)
    }
}

/// The vote of a member in its epoch, whose successor `D` describes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Vote<D> {
    /// Highest ballot that the member promised or accepted.
    pub promised: Ballot,
    /// Highest ballot that the member accepted, with the accepted successor.
    pub accepted: Option<(Ballot, D)>,
}

impl<D> Vote<D> {
    /// The vote of a member that has just entered its epoch.
    pub const NONE: Self = Self { promised: Ballot::NONE, accepted: None };
    /// The vote of a member that has lost its memory in this epoch, and may have forgotten a vote.
    /// No ballot is above this promise, so the member never votes.
    pub const BARRED: Self = Self { promised: Ballot::LAST, accepted: None };

    /// Whether the member casts no vote in its epoch.
    #[must_use]
    pub fn is_barred(&self) -> bool {
        self.promised == Ballot::LAST
    }

    /// Promises to accept no ballot before `ballot`; false if the member promised a later ballot,
    /// or if `ballot` is too far above the promised one.
    ///
    /// The member promises a ballot again when the proposer repeats its question, because the
    /// answer may be lost.
    pub fn promise(&mut self, ballot: Ballot) -> bool {
        let promises = self.allows(ballot);
        if promises {
            self.promised = ballot;
        }
        promises
    }

    fn allows(&self, ballot: Ballot) -> bool {
        ballot >= self.promised && !ballot.is_too_far(self.promised)
    }

    /// Whether the member is wedged: it grants nothing in its epoch any more (section 10.6).
    #[must_use]
    pub const fn is_wedged(&self) -> bool {
        self.accepted.is_some()
    }

    fn accepted_by(&self) -> Option<Ballot> {
        self.accepted.as_ref().map(|(ballot, _)| *ballot)
    }
}

impl<D: PartialEq> Vote<D> {
    /// Accepts `successor` by `ballot`; false if the member may not promise that ballot, or has
    /// accepted another successor by that ballot.
    pub fn accept(&mut self, ballot: Ballot, successor: D) -> bool {
        let known = self.accepted.as_ref().filter(|(by, _)| *by == ballot);
        let is_first = known.is_none_or(|(_, known)| *known == successor);
        let accepts = is_first && self.allows(ballot);
        if accepts {
            *self = Self { promised: ballot, accepted: Some((ballot, successor)) };
        }
        accepts
    }
}

impl<D: Clone> Vote<D> {
    /// Adds a record of a vote in the same epoch. Neither ballot goes back, so records may reach
    /// the disk in any order.
    pub fn merge(&mut self, record: &Self) {
        self.promised = self.promised.max(record.promised);
        if record.accepted_by() > self.accepted_by() {
            self.accepted.clone_from(&record.accepted);
        }
    }
}
