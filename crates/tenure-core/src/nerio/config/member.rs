//! Members, and their textual form.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;

use super::host::{HostPort, HostPortError};
use crate::name::{NameError, NodeName};

/// A grantor and its address.
///
/// ```
/// use tenure_core::nerio::{Member, members};
///
/// let member: Member = "a=db-1.internal:7101".parse()?;
/// assert_eq!((member.name.as_str(), member.address.port()), ("a", 7101));
/// assert_eq!(members("a=db-1.internal:7101, b=[fd00::2]:7101")?.len(), 2);
/// # Ok::<(), tenure_core::nerio::MemberError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Member {
    /// Identity of the member, whatever its address.
    pub name: NodeName,
    /// Host and port of one process, so no unspecified, multicast or broadcast IP, and no port 0.
    /// The address may differ from node to node.
    pub address: HostPort,
}

/// The reason why a text is no member, or no list of members.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemberError {
    #[error("the member {0:?} has no `=`")]
    NoAddress(String),
    #[error("member {name:?}: {error}")]
    Name { name: String, error: NameError },
    #[error("member {name:?}: {error}")]
    Address { name: String, error: HostPortError },
}

impl MemberError {
    /// Remedy for a member without `=`.
    pub const FIX: &str = "write name=address for each member, such as \
                           a=127.0.0.1:7101,b=127.0.0.1:7102";
}

impl Member {
    /// A member from the texts of its name and its address.
    pub fn new(name: &str, address: &str) -> Result<Self, MemberError> {
        let text = || name.to_string();
        Ok(Self {
            name: NodeName::new(name).map_err(|error| MemberError::Name { name: text(), error })?,
            address: address
                .parse()
                .map_err(|error| MemberError::Address { name: text(), error })?,
        })
    }

    /// A member at a known address.
    #[must_use]
    pub fn at(name: NodeName, address: SocketAddr) -> Self {
        Self { name, address: address.into() }
    }
}

impl FromStr for Member {
    type Err = MemberError;

    /// `name=host:port`; spaces around the name and the address are ignored.
    fn from_str(text: &str) -> Result<Self, MemberError> {
        let Some((name, address)) = text.split_once('=') else {
            return Err(MemberError::NoAddress(text.trim().to_string()));
        };
        Self::new(name.trim(), address.trim())
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.address)
    }
}

/// Members with commas between them, as in `--members` and `TENURE_MEMBERS`; none in an empty text.
pub fn members(text: &str) -> Result<Vec<Member>, MemberError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(str::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_pairs() {
        let list = members(" a = 127.0.0.1:1 ,b=[::1]:2,c=db-3:3").unwrap();
        assert_eq!(list[1], Member::new("b", "[::1]:2").unwrap());
        let shown: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a=127.0.0.1:1", "b=[::1]:2", "c=db-3:3"]);
        assert_eq!(members(" ").unwrap(), []);
    }

    #[test]
    fn errors_name_the_member() {
        let wrong = |text: &str| members(text).unwrap_err().to_string();
        assert_eq!(wrong("a=127.0.0.1:1,"), "the member \"\" has no `=`");
        assert_eq!(
            wrong("a b=127.0.0.1:1"),
            "member \"a b\": a node's name may hold letters, digits and . _ -; ' ' is not allowed"
        );
        assert_eq!(wrong("a=x:1,b=x"), "member \"b\": the address \"x\" has no port");
    }
}
