//! The common order of candidates: the same at every grantor, so that votes rarely split.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::identity::Who;
use crate::name::ElectionName;

/// The rank of a candidate among the candidates of an election; the greatest goes first.
///
/// The rank never depends on the order of arrival, which differs from grantor to grantor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Rank {
    /// Whether the last leader named the candidate.
    pub(crate) next: bool,
    /// Whether the candidate holds a lease already. Such a candidate goes first, so that a grantor
    /// that was away grants to the present leader again.
    pub(crate) leading: bool,
    pub(crate) priority: u8,
    /// Tie-breaker among equals.
    pub(crate) hash: u64,
}

impl Rank {
    pub(crate) fn of(
        election: &ElectionName,
        who: &Who,
        priority: u8,
        leading: bool,
        next: bool,
    ) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(election.as_str().as_bytes());
        hasher.write_u8(0xff);
        hasher.write(who.name.as_str().as_bytes());
        hasher.write(&who.inc.0.to_le_bytes());
        Self { next, leading, priority, hash: hasher.finish() }
    }

    /// The rank of the same incarnation, from its latest request.
    pub(crate) fn again(self, priority: u8, leading: bool, next: bool) -> Self {
        Self { next, leading, priority, ..self }
    }
}
