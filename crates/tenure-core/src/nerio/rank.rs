//! The common order of candidates: the same at every grantor, so that votes rarely split.

use core::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::identity::Who;
use crate::name::ElectionName;

/// Where a candidate stands among those who want the same election; the greatest goes first.
///
/// Never the order of arrival: it differs from grantor to grantor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Rank {
    /// Named by the last leader.
    pub(crate) next: bool,
    /// Holds a lease already. It goes before the others so that a grantor that was away comes
    /// back to the leader it left.
    pub(crate) leading: bool,
    /// As configured.
    pub(crate) priority: u8,
    /// Decides among equals.
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

    /// The rank of the same incarnation, as it is told now.
    pub(crate) fn again(self, priority: u8, leading: bool, next: bool) -> Self {
        Self { next, leading, priority, ..self }
    }
}
