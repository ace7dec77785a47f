//! Messages of supervised release: which member watches a process, and the end of that process.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::identity::Who;
use crate::name::NodeName;

/// Candidate to grantor: the member of this name watches my process. Sent ahead of each request by
/// candidates that are watched, and by no others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Supervisor {
    pub name: NodeName,
}

/// Watching member to grantor: the process of this incarnation has ended, all its promises to
/// verifiers are over, and no process that shared its authority is left.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Gone {
    pub who: Who,
}

impl fmt::Display for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "supervised by {}", self.name)
    }
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gone {}", self.who)
    }
}
