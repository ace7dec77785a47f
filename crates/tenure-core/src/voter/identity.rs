//! The identities of voters, ballots and leaderships.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::json::{self, hex};
use crate::name::NodeName;

/// 128 random bits, drawn with a state directory. A voter that has lost its directory gets another
/// identity, and promises of the earlier identity do not bind it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity(#[serde(with = "hex")] pub u128);

/// A participant: a voter in one run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Participant {
    #[serde(rename = "voterId")]
    pub id: NodeName,
    pub identity: Identity,
    /// 128 random bits, drawn when the process starts.
    #[serde(with = "hex")]
    pub incarnation: u128,
}

/// A ballot of the voters. Ballots are ordered by counter, then by initiator, then by attempt.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ballot {
    /// The election counter, from one to [`Ballot::COUNTER_MAX`]: the fence of the winner.
    #[serde(deserialize_with = "json::ballot_counter")]
    pub counter: u64,
    /// The voter that has started the ballot. If two ballots share a counter, the ballot with the
    /// higher initiator goes on.
    pub initiator: NodeName,
    /// The number of recasts after ties, from zero.
    #[serde(deserialize_with = "json::attempt")]
    pub attempt: u32,
}

/// A leadership: the leader, in one run, by one ballot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Leadership {
    pub leader: Participant,
    /// The ballot that the leader has won, or in which it is endorsed.
    pub ballot: Ballot,
}

/// The address of a voter: the text's `voter-url`.
///
/// 1 to 256 bytes without spaces and control characters, beginning with `http://` or `https://`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VoterUrl(Arc<str>);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the voter URL {url:?} must begin with http:// or https://, have at most {} bytes, and neither \
     spaces nor control characters",
    VoterUrl::BYTES_MAX
)]
pub struct UrlError {
    url: String,
}

impl Ballot {
    /// The highest counter, which every JSON reader can represent exactly.
    pub const COUNTER_MAX: u64 = (1 << 53) - 1;
    /// The maximum number of recasts in one counter.
    pub const ATTEMPTS_MAX: u32 = 64;

    /// The ballot that draws again after a tie.
    pub(super) fn recast(&self) -> Self {
        Self { attempt: self.attempt + 1, ..self.clone() }
    }
}

impl Leadership {
    #[must_use]
    pub const fn counter(&self) -> u64 {
        self.ballot.counter
    }

    /// Whether a promise to one of these leaderships is also a promise to the other: both have the
    /// same voter, the same run and the same counter.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.leader == other.leader && self.counter() == other.counter()
    }
}

impl VoterUrl {
    pub const BYTES_MAX: usize = 256;

    /// Checks the form of a URL, but only as far as a core needs.
    pub fn new(text: &str) -> Result<Self, UrlError> {
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let plain = !text.chars().any(|c| c.is_control() || c.is_whitespace());
        let is_url = host.is_some_and(|host| !host.is_empty());
        if is_url && plain && text.len() <= Self::BYTES_MAX {
            Ok(Self(text.into()))
        } else {
            Err(UrlError { url: text.chars().take(Self::BYTES_MAX).collect() })
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VoterUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::new(text)
    }
}

impl TryFrom<String> for VoterUrl {
    type Error = UrlError;

    fn try_from(text: String) -> Result<Self, UrlError> {
        Self::new(&text)
    }
}

impl From<VoterUrl> for String {
    fn from(url: VoterUrl) -> Self {
        url.as_str().into()
    }
}

impl fmt::Display for VoterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VoterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{:08x}", self.id, self.incarnation >> 96)
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.counter, self.initiator, self.attempt)
    }
}

impl fmt::Display for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.leader, self.ballot)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_url_keeps_its_rule() {
        for good in ["http://a", "https://route.to.region-one-voter.instance:8080/api"] {
            assert_eq!(VoterUrl::new(good).unwrap().as_str(), good);
        }
        let long = "http://".to_string() + &"x".repeat(250);
        for bad in ["", "a", "ftp://a", "http://", "http://a b", "http://a\n", &long] {
            assert!(VoterUrl::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ballots_are_in_order() {
        let ballot = |counter, id: &str, attempt| Ballot {
            counter,
            initiator: id.parse().unwrap(),
            attempt,
        };
        assert!(ballot(5, "a", 1) < ballot(5, "b", 0) && ballot(5, "b", 9) < ballot(6, "a", 0));
        assert_eq!(ballot(5, "a", 0).recast(), ballot(5, "a", 1));
    }
}
