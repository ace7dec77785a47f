//! The electorate: the voters with a vote, and their quorum (V1, V2, V9).

use alloc::vec::Vec;
use core::fmt;
use core::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::identity::{Identity, Participant};
use super::json::{self, hex};
use crate::name::NodeName;

/// The version of an electorate: the counter of the leader that wrote it, and the number of changes
/// by this leader. (0, 0) is the founding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ElectorateId {
    #[serde(deserialize_with = "json::counter")]
    pub counter: u64,
    #[serde(deserialize_with = "json::counter")]
    pub change: u64,
}

/// A hash of a network's first electorate, which distinguishes networks that were founded apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(#[serde(with = "hex")] pub u128);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    #[serde(rename = "voterId")]
    pub id: NodeName,
    /// Identity of the member's state directory. A voter with this id and another directory has no
    /// vote.
    pub identity: Identity,
}

/// The durable document of the voters with a vote, without their addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "Document", into = "Document")]
pub struct Electorate {
    pub id: ElectorateId,
    /// The fingerprint of the founding. Zero in mode `available`, which has no founding.
    pub founding: Fingerprint,
    /// Each id once, in order; from one to [`MEMBERS_MAX`].
    pub members: Vec<Member>,
}

/// The JSON form of an electorate.
#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(deserialize_with = "json::counter")]
    counter: u64,
    #[serde(deserialize_with = "json::counter")]
    change: u64,
    founding: Fingerprint,
    #[serde(deserialize_with = "json::members")]
    members: Vec<Member>,
}

pub const MEMBERS_MAX: usize = 64;

/// A change of the electorate by one member (V9).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// A known voter gets a vote.
    Add(NodeName),
    Remove(NodeName),
}

impl Member {
    /// This participant as a member, with its present identity.
    pub(super) fn of(who: &Participant) -> Self {
        Self { id: who.id.clone(), identity: who.identity }
    }
}

impl Electorate {
    /// The first electorate, of these members.
    #[must_use]
    pub fn founded(mut members: Vec<Member>) -> Self {
        members.sort();
        members.dedup_by(|one, other| one.id == other.id);
        let founding = Fingerprint::of(&members);
        Self { id: ElectorateId { counter: 0, change: 0 }, founding, members }
    }

    /// Whether this participant is a member, by id and identity.
    #[must_use]
    pub fn has(&self, who: &Participant) -> bool {
        self.member(&who.id).is_some_and(|member| member.identity == who.identity)
    }

    #[must_use]
    pub fn member(&self, id: &NodeName) -> Option<&Member> {
        self.members.iter().find(|member| member.id == *id)
    }

    pub(super) fn others(&self, me: &NodeName) -> Vec<NodeName> {
        let ids = self.members.iter().map(|member| &member.id);
        ids.filter(|id| *id != me).cloned().collect()
    }

    /// q = ⌊N/2⌋ + 1.
    #[must_use]
    pub fn quorum(&self) -> usize {
        self.members.len() / 2 + 1
    }

    /// Whether the document is well-formed: each id once, in order, neither too few nor too many.
    #[must_use]
    pub fn is_formed(&self) -> bool {
        let ordered = self.members.windows(2).all(|pair| pair[0].id < pair[1].id);
        ordered && (1..=MEMBERS_MAX).contains(&self.members.len())
    }

    /// The same members, in a document of the leader with this counter.
    #[must_use]
    pub fn rewritten(&self, counter: u64) -> Self {
        Self { id: ElectorateId { counter, change: 0 }, ..self.clone() }
    }

    #[must_use]
    pub fn with(&self, member: Member) -> Self {
        let mut next = self.next();
        next.members.push(member);
        next.members.sort();
        next
    }

    #[must_use]
    pub fn without(&self, id: &NodeName) -> Self {
        let mut next = self.next();
        next.members.retain(|member| member.id != *id);
        next
    }

    fn next(&self) -> Self {
        let mut next = self.clone();
        next.id.change = next.id.change.saturating_add(1);
        next
    }
}

impl Fingerprint {
    /// The fingerprint of a network that is never founded.
    pub const NONE: Self = Self(0);

    fn of(members: &[Member]) -> Self {
        let mut hasher = SipHasher13::new_with_keys(0x7465_6e75_7265, 0x0076_6f74_6572);
        for member in members {
            hasher.write(member.id.as_str().as_bytes());
            hasher.write_u8(0xff);
            hasher.write(&member.identity.0.to_le_bytes());
        }
        let hash = hasher.finish128();
        Self(u128::from(hash.h1) << 64 | u128::from(hash.h2))
    }
}

impl From<Electorate> for Document {
    fn from(Electorate { id, founding, members }: Electorate) -> Self {
        Self { counter: id.counter, change: id.change, founding, members }
    }
}

impl TryFrom<Document> for Electorate {
    type Error = &'static str;

    fn try_from(document: Document) -> Result<Self, &'static str> {
        let Document { counter, change, founding, members } = document;
        let electorate = Self { id: ElectorateId { counter, change }, founding, members };
        if electorate.is_formed() {
            Ok(electorate)
        } else {
            Err("members are missing, out of order, or named twice")
        }
    }
}

impl fmt::Display for ElectorateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.counter, self.change)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 96)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Electorate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{", self.id)?;
        for (number, member) in self.members.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{}", member.id)?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(id) => write!(f, "add {id}"),
            Self::Remove(id) => write!(f, "remove {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(ids: &[&str]) -> Vec<Member> {
        let member = |id: &&str| Member { id: id.parse().unwrap(), identity: Identity(7) };
        ids.iter().map(member).collect()
    }

    #[test]
    fn two_quorums_of_neighbours_meet() {
        let all = ["a", "b", "c", "d", "e", "f", "g"];
        for n in 1..all.len() {
            let one = Electorate::founded(members(&all[..n]));
            let next = one.with(members(&all[n..=n]).remove(0));
            assert!(next.is_formed() && next.id > one.id);
            assert!(one.quorum() + next.quorum() > n + 1, "one more voter");
            assert!(2 * one.quorum() > n, "the same voters");
        }
    }

    #[test]
    fn fingerprint_depends_on_identities_alone() {
        let (one, other) = (members(&["a", "b"]), members(&["b", "a"]));
        assert_eq!(Electorate::founded(one), Electorate::founded(other.clone()));
        let mut lost = other;
        lost[0].identity = Identity(8);
        assert_ne!(
            Electorate::founded(lost).founding,
            Electorate::founded(members(&["a", "b"])).founding
        );
    }

    #[test]
    fn unordered_members_are_not_formed() {
        let mut electorate = Electorate::founded(members(&["a", "b"]));
        electorate.members.reverse();
        assert!(!electorate.is_formed());
        electorate.members = members(&["a", "a"]);
        assert!(!electorate.is_formed());
        electorate.members.clear();
        assert!(!electorate.is_formed());
    }
}
