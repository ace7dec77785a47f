//! Lists from a grantor: its elections, and the candidates of an election.
//!
//! The lists are for people and tools, and decide nothing. Both answers come in pages. Each page
//! stands alone, and says where the next page begins.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::body::{Holder, Service};
use super::identity::{Inc, Who};
use crate::fence::Fence;
use crate::name::ElectionName;
use crate::time::Time;

/// The elections of a question.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Which {
    All,
    /// Elections whose names begin with this text.
    Beginning(ElectionName),
    Only(ElectionName),
}

impl Which {
    /// Whether the question is about `election`.
    #[must_use]
    pub fn covers(&self, election: &ElectionName) -> bool {
        match self {
            Self::All => true,
            Self::Beginning(begin) => election.as_str().starts_with(begin.as_str()),
            Self::Only(only) => election == only,
        }
    }

    /// Lower bound of the names that the question covers; `None` if it covers all.
    pub(super) fn first(&self) -> Option<&ElectionName> {
        match self {
            Self::All => None,
            Self::Beginning(name) | Self::Only(name) => Some(name),
        }
    }
}

/// A question for elections with their holders and numbers of waiting candidates.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Elections {
    pub start: Time,
    pub which: Which,
    /// Bound of the page, which has only elections after this name.
    pub after: Option<ElectionName>,
}

/// A page of elections in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ElectionsHere {
    pub asker: Inc,
    pub start: Time,
    pub service: Service,
    /// Elections with a holder or a waiting candidate.
    pub elections: Vec<ElectionHere>,
    /// Election after which the next page begins; `None` on the last page. The page need not
    /// contain this election.
    pub more_after: Option<ElectionName>,
}

/// An election at one grantor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ElectionHere {
    pub election: ElectionName,
    /// Holder of the grant, if the grant is written down.
    pub holder: Option<HolderHere>,
    /// Number of candidates that wait here and do not lead the election.
    pub waiting: u16,
}

/// The part of a [`Holder`] for which a page has room.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HolderHere {
    /// Incarnation that holds the grant.
    pub who: Who,
    /// Fence of the holder's leadership, if announced.
    pub fence: Option<Fence>,
    /// Rest of the grant, on the grantor's clock.
    pub remaining: Duration,
    /// Approximate span until the release, if the holder no longer leads.
    pub leaving: Option<Duration>,
}

/// A question for the candidates of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Candidates {
    pub election: ElectionName,
    pub start: Time,
    /// Bound of the page, which has only candidates after this candidate, in the order of names.
    pub after: Option<Who>,
}

/// The holder of an election, and a page of its waiting candidates, in the order of names.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CandidatesHere {
    pub election: ElectionName,
    pub asker: Inc,
    pub start: Time,
    pub service: Service,
    /// Holder of the grant, without its value, if the grant is written down.
    pub holder: Option<Box<Holder>>,
    pub waiting: Vec<CandidateHere>,
    pub more: bool,
}

/// A waiting candidate at one grantor.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CandidateHere {
    pub who: Who,
    /// Rank among waiting candidates, the highest first.
    pub priority: u8,
    /// Whether the candidate led when it asked: it then has a quorum of other grantors, and waits
    /// at this grantor only.
    pub leading: bool,
    /// Span for which the candidate has waited here without a break, on the grantor's clock.
    pub waited: Duration,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Beginning(begin) => write!(f, "{begin}*"),
            Self::Only(only) => write!(f, "{only}"),
        }
    }
}

impl fmt::Display for Elections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "elections {} start {}", self.which, self.start)
    }
}

impl fmt::Display for ElectionsHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "elections here {} {}", self.service, self.elections.len())
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "candidates {} start {}", self.election, self.start)
    }
}

impl fmt::Display for CandidatesHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "candidates here {} {} ", self.election, self.service)?;
        match &self.holder {
            Some(holder) => write!(f, "held by {holder}")?,
            None => f.write_str("free")?,
        }
        write!(f, ", {} waiting", self.waiting.len())
    }
}
