//! The question of a member that enters an epoch, and the answer: the rests (remaining times) of
//! leases that were granted before that epoch.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::super::identity::Inc;
use super::{Acceptor, Ballot, EpochId, HeldRest, RestBounds};
use crate::name::ElectionName;

/// A question for the rests of the leases that were granted before the epoch `into`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RestsRead {
    pub into: EpochId,
    /// Bound of the page, which has only elections after this name.
    pub after: Option<ElectionName>,
}

/// A page of an answer to [`RestsRead`]. All rests of one election are in one page.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Rests {
    /// Incarnation that asked.
    pub asker: Inc,
    pub into: EpochId,
    pub acceptor: Acceptor,
    pub state: AcceptorState,
    /// Bounds of the whole answer, at the time of this page.
    pub bounds: RestBounds,
    /// Election after which the page begins, as the question named it.
    pub after: Option<ElectionName>,
    pub rests: Vec<HeldRest>,
    /// Whether further pages follow.
    pub more: bool,
}

/// The reason why a member may answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum AcceptorState {
    /// The member accepted `into` by `ballot` in `epoch`, and grants nothing in `epoch` any more.
    Wedged { epoch: EpochId, ballot: Ballot, into: EpochId },
    /// The member has entered the epoch, and answers for all of the previous epoch.
    Entered,
}

impl Rests {
    /// Maximum number of bytes of a page: an answer is at most four times as long as its question.
    pub const BYTES_MAX: usize = 980;
}

impl fmt::Display for RestsRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rests read into epoch {}", self.into.number)?;
        fmt_after(self.after.as_ref(), f)
    }
}

impl fmt::Display for Rests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { into, state, bounds, after, rests, more, .. } = self;
        write!(f, "rests into epoch {}", into.number)?;
        match state {
            AcceptorState::Wedged { ballot, into, .. } => {
                write!(f, " wedged for {} ballot {ballot}", into.number)?;
            }
            AcceptorState::Entered => f.write_str(" entered")?,
        }
        let RestBounds { rest, unknown, floor } = bounds;
        write!(f, " at most {rest:?} unknown {unknown:?} fence {floor}")?;
        fmt_after(after.as_ref(), f)?;
        for HeldRest { election, who, start, rest, .. } in rests {
            write!(f, ", {election} {who} start {start} for {rest:?}")?;
        }
        f.write_str(if *more { ", more" } else { "" })
    }
}

fn fmt_after(after: Option<&ElectionName>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match after {
        Some(after) => write!(f, " after {after}"),
        None => Ok(()),
    }
}
