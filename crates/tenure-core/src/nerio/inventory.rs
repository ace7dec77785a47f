//! What a grantor tells of many: its elections, and those who want one of them.
//!
//! For people and tools. Nothing is decided by it. Both answers come in pages; each page stands
//! alone, and says where the next one begins.

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

/// Of which elections a question is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Which {
    /// Of all.
    All,
    /// Of those whose names begin so.
    Beginning(ElectionName),
    /// Of this one.
    Only(ElectionName),
}

impl Which {
    /// Whether `election` is one of them.
    #[must_use]
    pub fn covers(&self, election: &ElectionName) -> bool {
        match self {
            Self::All => true,
            Self::Beginning(begin) => election.as_str().starts_with(begin.as_str()),
            Self::Only(only) => election == only,
        }
    }

    /// The name before which there is none of them.
    pub(super) fn first(&self) -> Option<&ElectionName> {
        match self {
            Self::All => None,
            Self::Beginning(name) | Self::Only(name) => Some(name),
        }
    }
}

/// A question for elections: who holds them, and how many wait.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Elections {
    /// Names the question in the answer.
    pub start: Time,
    /// Which ones.
    pub which: Which,
    /// Only those after this one.
    pub after: Option<ElectionName>,
}

/// A page of elections in ascending order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ElectionsHere {
    /// The incarnation that asked.
    pub asker: Inc,
    /// The Start of the question.
    pub start: Time,
    /// Whether its word counts.
    pub service: Service,
    /// Those that somebody holds or waits for.
    pub elections: Vec<ElectionHere>,
    /// After which one to ask on, unless these were all. It need not be in the page.
    pub more_after: Option<ElectionName>,
}

/// One election, as one grantor sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ElectionHere {
    /// Its name.
    pub election: ElectionName,
    /// Who holds its grant, if that is written down.
    pub holder: Option<HolderHere>,
    /// How many wait for it here and do not lead it.
    pub waiting: u16,
}

/// What a page has room for of a [`Holder`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HolderHere {
    /// Who holds it.
    pub who: Who,
    /// The fence of its leadership, if it has announced one.
    pub fence: Option<Fence>,
    /// How much longer, on the grantor's clock.
    pub remaining: Duration,
    /// It leads no more, and releases the grant in about so long.
    pub leaving: Option<Duration>,
}

/// A question for those who want to lead an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Candidates {
    /// The election.
    pub election: ElectionName,
    /// Names the question in the answer.
    pub start: Time,
    /// Only those after this one, in the order of names.
    pub after: Option<Who>,
}

/// Who holds an election, and a page of those who wait for it, in the order of names.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CandidatesHere {
    /// The election.
    pub election: ElectionName,
    /// The incarnation that asked.
    pub asker: Inc,
    /// The Start of the question.
    pub start: Time,
    /// Whether its word counts.
    pub service: Service,
    /// Who holds its grant, if that is written down. Without its value.
    pub holder: Option<Box<Holder>>,
    /// Who waits.
    pub waiting: Vec<CandidateHere>,
    /// Whether there are more after the last.
    pub more: bool,
}

/// One that waits, as one grantor sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CandidateHere {
    /// Who.
    pub who: Who,
    /// Its place among those who wait: the higher goes first.
    pub priority: u8,
    /// Whether it led when it asked, and waits only here.
    pub leading: bool,
    /// For how long it has waited here without a break, on the grantor's clock.
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
