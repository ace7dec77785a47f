//! Fields of JSON documents: how they are written, and the bounds within which they are read.

use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::electorate::{MEMBERS_MAX, Member};
use super::identity::{Ballot, Participant};
use super::message::{FirstVoters, KNOWN_MAX, VoterDto};
use crate::drift::Drift;

/// A number as 32 hexadecimal digits: identities, incarnations, fingerprints. State directories
/// hold the number itself.
pub(super) mod hex {
    use alloc::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::voter) fn serialize<S: Serializer>(
        number: &u128,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            to.collect_str(&format_args!("{number:032x}"))
        } else {
            to.serialize_u128(*number)
        }
    }

    pub(in crate::voter) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<u128, D::Error> {
        if !from.is_human_readable() {
            return u128::deserialize(from);
        }
        let text = Cow::<str>::deserialize(from)?;
        super::parse_hex(&text).ok_or_else(|| D::Error::custom("expected 32 hexadecimal digits"))
    }
}

/// Reads a number of exactly 32 hexadecimal digits.
#[must_use]
pub fn parse_hex(text: &str) -> Option<u128> {
    let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| digits)
}

/// A span in nanoseconds. Rounded down, so that no reader counts on a longer promise than was
/// given.
pub(super) mod nanos {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::voter) fn serialize<S: Serializer>(
        span: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_u64(crate::time::nanos(*span))
    }

    pub(in crate::voter) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// A span that may be missing, in nanoseconds.
pub(super) mod nanos_if_any {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::voter) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(crate::time::nanos).serialize(to)
    }

    pub(in crate::voter) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(from)?.map(Duration::from_nanos))
    }
}

/// Reads a drawn number of 64 bits, or `null`. The number may be a string, because many readers of
/// JSON lose digits beyond 2⁵³.
pub(super) fn vote<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    from.deserialize_any(VoteVisitor)
}

struct VoteVisitor;

impl Visitor<'_> for VoteVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a vote: a whole number of 64 bits with a sign, as a number or a string")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<i64>, E> {
        Ok(Some(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<i64>, E> {
        let beyond = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
        i64::try_from(number).map(Some).map_err(beyond)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
        text.parse().map(Some).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
        Ok(None)
    }
}

/// Votes as objects.
pub(super) mod votes {
    use alloc::vec::Vec;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::name::NodeName;
    use crate::voter::electorate::MEMBERS_MAX;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CountedVote {
        voter_id: NodeName,
        #[serde(default, deserialize_with = "super::vote")]
        vote: Option<i64>,
    }

    pub(in crate::voter) fn serialize<S: Serializer>(
        votes: &[(NodeName, Option<i64>)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let counted = |(id, vote): &(NodeName, Option<i64>)| CountedVote {
            voter_id: id.clone(),
            vote: *vote,
        };
        to.collect_seq(votes.iter().map(counted))
    }

    pub(in crate::voter) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(NodeName, Option<i64>)>, D::Error> {
        let votes = super::at_most(from, MEMBERS_MAX, "votes")?;
        Ok(votes.into_iter().map(|CountedVote { voter_id, vote }| (voter_id, vote)).collect())
    }
}

/// Reads a list with at most `max` entries.
fn at_most<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    max: usize,
    what: &str,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.len() > max { Err(too_many(what, list.len(), max)) } else { Ok(list) }
}

fn too_many<E: Error>(what: &str, count: usize, max: usize) -> E {
    E::custom(format_args!("{what} has {count} entries; at most {max}"))
}

/// Reads a list of at most [`KNOWN_MAX`] voters.
pub fn known_voters<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<VoterDto>, D::Error> {
    at_most(from, KNOWN_MAX, "knownVoters")
}

pub(super) fn members<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Member>, D::Error> {
    at_most(from, MEMBERS_MAX, "members")
}

pub(super) fn endorsed_by<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<Participant>, D::Error> {
    at_most(from, MEMBERS_MAX, "endorsedBy")
}

pub(super) fn first_voters<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<FirstVoters>, D::Error> {
    let first = Option::deserialize(from)?;
    match &first {
        Some(FirstVoters::Listed(ids)) if ids.len() > MEMBERS_MAX => {
            Err(too_many("firstVoters", ids.len(), MEMBERS_MAX))
        }
        _ => Ok(first),
    }
}

/// Reads a counter, which every JSON reader represents exactly.
pub(super) fn counter<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    counter_from(from, 0)
}

pub(super) fn ballot_counter<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    counter_from(from, 1)
}

fn counter_from<'de, D: Deserializer<'de>>(from: D, min: u64) -> Result<u64, D::Error> {
    let counter = u64::deserialize(from)?;
    let max = Ballot::COUNTER_MAX;
    if (min..=max).contains(&counter) {
        return Ok(counter);
    }
    Err(D::Error::custom(format_args!("a counter is {counter}; it must be from {min} to {max}")))
}

pub(super) fn attempt<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let attempt = u32::deserialize(from)?;
    let max = Ballot::ATTEMPTS_MAX;
    if attempt <= max {
        return Ok(attempt);
    }
    Err(D::Error::custom(format_args!("attempt is {attempt}; at most {max}")))
}

/// Reads ρ in parts per billion.
pub(super) fn drift<'de, D: Deserializer<'de>>(from: D) -> Result<Drift, D::Error> {
    Drift::from_parts_per_billion(u32::deserialize(from)?).map_err(D::Error::custom)
}
