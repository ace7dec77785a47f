//! Requests of a candidate, and its oks: how long each is good, and which oks count together.

use alloc::vec::Vec;
use core::time::Duration;

use super::super::body::Granted;
use super::super::identity::{Instance, Mark, Stamp};
use super::super::oqwbs::{ClaimEnd, WallStart};
use super::super::quorum::{MemberSet, Quorums};
use super::Campaign;
use crate::fence::Fence;
use crate::time::{Time, WallTime};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct SentRequest {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) delta: Duration,
    pub(in crate::nerio) fence: Fence,
    pub(in crate::nerio) wall: Option<WallStart>,
}

/// The counted ok of one grantor: its ok with the highest Start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::nerio) struct Answer {
    pub(in crate::nerio) start: Time,
    pub(in crate::nerio) instance: Instance,
    /// Memories of members that the grantor has written down.
    pub(in crate::nerio) memories: Vec<Mark>,
    pub(in crate::nerio) stamp: Stamp,
    /// Fence that the grantor accepted for this leadership.
    pub(in crate::nerio) accepted: Option<Fence>,
    /// Time before which refusals of other members no longer count: the Start of the grant, or the
    /// arrival of the ok if the request had waited for a rival.
    pub(in crate::nerio) news: Time,
    /// `Start + (1 − ρ)δ`: the end of the ok, on the candidate's clock.
    pub(in crate::nerio) good_until: Time,
    /// `Start + δ`: the end of the ok on the candidate's wall clock, with a bound on skew.
    pub(in crate::nerio) wall_until: Option<WallTime>,
}

impl Answer {
    /// The answer that an ok to `sent` gives, without anything from an earlier ok (parked requests
    /// 4, 5). The ok is good for a span that begins with the send (section 3, step 8).
    pub(in crate::nerio) fn of(
        now: Time,
        granted: Granted,
        sent: &SentRequest,
        end: ClaimEnd,
    ) -> Self {
        Self {
            start: sent.start,
            instance: granted.instance,
            memories: granted.memories,
            stamp: granted.stamp,
            accepted: granted.accepted.then_some(sent.fence),
            news: if granted.waited { now } else { sent.start },
            good_until: end.until,
            wall_until: end.wall,
        }
    }
}

impl Campaign {
    /// The members whose oks complete the instance, and their E: the latest instant before which
    /// all oks of some quorum are good. Oks of `left_out` members do not count.
    pub(in crate::nerio) fn best_quorum(
        &self,
        now: Time,
        accepted: bool,
        left_out: MemberSet,
        quorums: &Quorums,
    ) -> Option<(MemberSet, Time)> {
        // Oks count together if their grantors have accepted the same fence (scalar fence 2).
        let same = |ok: &Answer| ok.accepted == Some(self.fence);
        let good = |ok: &Answer| now < ok.good_until && (!accepted || same(ok));
        let oks =
            self.answers.oks.iter().filter(|(member, ok)| good(ok) && !left_out.contains(*member));
        quorums.longest(oks.map(|(member, ok)| (ok.good_until, *member)))
    }
}
