//! The reasons why settings are refused.

use alloc::string::String;
use core::time::Duration;

use super::HostPort;
#[cfg(doc)]
use super::{Config, Limits};
use crate::name::NodeName;
use crate::timing::TimingError;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the members list is empty: name at least one grantor, better three")]
    NoMembers,
    #[error("{count} members; at most {max} are allowed, and more than 7 only cost time")]
    TooManyMembers { count: usize, max: usize },
    #[error(
        "member {name} is listed twice, at {first} and at {second}; every name may appear once"
    )]
    DuplicateName { name: NodeName, first: HostPort, second: HostPort },
    #[error(
        "members {first} and {second} share the address {address}; every grantor needs its own"
    )]
    DuplicateAddress { first: NodeName, second: NodeName, address: HostPort },
    #[error(
        "member {name} has the address {address}, at which no single process can be reached; give \
         it the IP of its host and a port above 0"
    )]
    Unreachable { name: NodeName, address: HostPort },
    #[error(
        "the quorum system is over {expected} members, the list has {found}; make both from the \
         same list"
    )]
    QuorumMembers { expected: usize, found: usize },
    #[error("{setting} is {value:?}; it must be {rule}")]
    OutOfRange { setting: &'static str, value: Duration, rule: String },
    #[error(transparent)]
    Timing(#[from] TimingError),
    #[error("the limit on {limit} is 0; it must be at least 1")]
    LimitZero { limit: &'static str },
}
