//! What a voter must not forget (V3, V4, V8, V9).

use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::electorate::Electorate;
use super::identity::{Identity, Leadership};

/// What is in a state directory: one document, replaced whole.
///
/// It must survive the machine. A driver has flushed it before it goes on to the next effect, so
/// that nothing leaves that rests on what could be lost.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// Which memory it is: drawn with the directory.
    pub identity: Identity,
    /// The longest promise that may have been given: after a restart nothing is promised for so
    /// long.
    pub lease_max: Duration,
    /// The leadership of the highest counter that was endorsed or acknowledged.
    pub endorsed: Option<Leadership>,
    /// The electorate; before the founding the one set of voters that was accepted. After that only
    /// an electorate of a network that one of these has founded.
    pub electorate: Option<Electorate>,
    /// Whether all of that set have accepted it.
    pub founded: bool,
}

impl Memory {
    /// One that begins.
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

    /// The highest counter that was endorsed or acknowledged; zero if none was.
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
