//! The durable state of a voter (V3, V4, V8, V9).

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::electorate::Electorate;
use super::identity::{Identity, Leadership};

/// The content of a state directory: one document, which each write replaces completely.
///
/// A driver flushes the memory before it carries out the next effect, so that no message depends on
/// a memory that could be lost.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// The identity of the voter, drawn with its state directory.
    pub identity: Identity,
    /// The longest promise that this voter could ever have given. After a restart the voter
    /// promises nothing for this time.
    pub lease_max: Duration,
    /// The leadership with the highest counter that this voter has endorsed or acknowledged.
    pub endorsed: Option<Leadership>,
    /// The electorate. Before the founding: the set of voters that this voter has accepted. After
    /// the founding: the electorate of the founded network, with all changes that this voter knows.
    pub electorate: Option<Electorate>,
    /// Whether all members of the accepted set have accepted it.
    pub founded: bool,
}

impl Memory {
    /// The memory of a new directory.
    #[must_use]
    pub const fn begin(identity: Identity) -> Self {
        Self {
            identity,
            lease_max: Duration::ZERO,
            endorsed: None,
            electorate: None,
            founded: false,
        }
    }

    /// The highest counter that this voter has endorsed or acknowledged; zero without one.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.endorsed.as_ref().map_or(0, Leadership::counter)
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory {}", self.identity)?;
        if let Some(endorsed) = &self.endorsed {
            write!(f, " endorsed {endorsed}")?;
        }
        match &self.electorate {
            Some(electorate) if self.founded => write!(f, " electorate {electorate}"),
            Some(electorate) => write!(f, " accepted {electorate}"),
            None => Ok(()),
        }
    }
}
