//! Why settings were refused.

use alloc::boxed::Box;

use super::HostPort;
use crate::bounds::{Fault, OutOfRange, SettingsError};
use crate::name::NodeName;
use crate::timing::TimingError;

/// A combination of settings that cannot work, with the numbers.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nobody to ask.
    #[error("the members list is empty: name at least one grantor, better three")]
    NoMembers,
    /// More grantors than a quorum can be proved for.
    #[error("{count} members; at most {max} are allowed, and more than 7 only cost time")]
    TooManyMembers {
        /// How many were given.
        count: usize,
        /// How many are allowed.
        max: usize,
    },
    /// A grantor must have one vote.
    #[error(
        "member {name} is listed twice, at {first} and at {second}; every name may appear once"
    )]
    DuplicateName {
        /// The name.
        name: NodeName,
        /// One address.
        first: HostPort,
        /// The other.
        second: HostPort,
    },
    /// Two names for one grantor would give it two votes.
    #[error(
        "members {first} and {second} share the address {address}; every grantor needs its own"
    )]
    DuplicateAddress {
        /// One name.
        first: NodeName,
        /// The other.
        second: NodeName,
        /// What they share.
        address: HostPort,
    },
    /// An address that is not that of one process: unspecified, multicast, broadcast or port 0.
    #[error(
        "member {name} has the address {address}, at which no single process can be reached; give \
         it the IP of its host and a port above 0"
    )]
    Unreachable {
        /// The member.
        name: NodeName,
        /// The address.
        address: HostPort,
    },
    /// The quorum system speaks of other members than the list.
    #[error(
        "the quorum system is over {expected} members, the list has {found}; make both from the \
         same list"
    )]
    QuorumMembers {
        /// Over how many it is.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A setting beyond its bounds.
    #[error(transparent)]
    OutOfRange(#[from] Box<OutOfRange>),
    /// Times that do not work together.
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
            Self::QuorumMembers { .. } => Fault::Settings(&["quorums", "members"]),
            Self::OutOfRange(error) => Fault::Value(error),
            Self::Timing(error) => error.fault(),
        }
    }
}
