//! The reasons why settings are refused.

use alloc::boxed::Box;

use super::super::quorum::QuorumTextError;
use super::HostPort;
use crate::bounds::{Fault, OutOfRange, SettingsError};
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
        "the quorum system is for {expected} members, but the list has {found}; make both from the \
         same list"
    )]
    QuorumMembers { expected: usize, found: usize },
    #[error(transparent)]
    Quorums(#[from] QuorumTextError),
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    #[error(transparent)]
    Timing(#[from] TimingError),
}

impl SettingsError for ConfigError {
    fn fault(&self) -> Fault<'_> {
        match self {
            Self::NoMembers
            | Self::TooManyMembers { .. }
            | Self::DuplicateName { .. }
            | Self::DuplicateAddress { .. }
            | Self::Unreachable { .. } => Fault::Settings(&["members"]),
            Self::QuorumMembers { .. } | Self::Quorums(_) => {
                Fault::Settings(&["quorums", "members"])
            }
            Self::OutOfRange(error) => Fault::Value(error),
            Self::Timing(error) => error.fault(),
        }
    }
}
