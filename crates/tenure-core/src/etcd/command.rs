//! Requests of an application to its process.

use core::fmt;

use crate::name::Value;

/// A request of the application, about one election. The core ignores priorities, and hands nothing
/// over on request: candidates lead in the order of their keys. The core also ignores intervals
/// between queries: etcd reports changes.
pub type Command = crate::Command<Extra>;

/// A request that only elections on etcd offer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    Proclaim { value: Value },
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proclaim { value } => write!(f, "proclaim {:?}", value.as_str()),
        }
    }
}
