//! Requests of an application to its process.

use core::fmt;

use crate::name::Value;

/// A request of the application, about one election. Candidates go in the order of their keys:
/// priorities are not looked at, and nothing is handed over. etcd tells of changes by itself: how
/// often to ask is not looked at either.
pub type Command = crate::Command<Extra>;

/// A request that only elections on etcd offer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Extra {
    /// Tell others something else, from now on.
    Proclaim {
        /// The new value.
        value: Value,
    },
}

impl fmt::Display for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proclaim { value } => write!(f, "proclaim {:?}", value.as_str()),
        }
    }
}
