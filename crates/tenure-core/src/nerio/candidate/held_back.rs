//! The rule that only a weak leader campaigns (section 9, with erratum 3): opt-in, by
//! [`RingConfig::only_weak_leader`](super::super::RingConfig::only_weak_leader).

use super::super::context::Context;
use super::super::words::Out;
use super::Candidate;
use crate::name::NodeName;
use crate::time::Time;
use crate::waiting::Waiting;

impl Candidate {
    /// Whether the candidate leaves the election to the weak leader, and looks again after a
    /// refresh interval. A weak leader starts OQwBD unless its own grantor has granted the lease to
    /// another candidate; the paper prints the negation (erratum 3).
    ///
    /// A candidate that has seen no leader for [long](super::super::ring::Ring::patience) starts
    /// all the same. The weak leader's node may have no candidate, or may reach no quorum.
    /// Detectors may also disagree.
    pub(super) fn is_held_back(&mut self, now: Time, context: &Context, out: &mut Out) -> bool {
        let Some(ring) = context.ring.as_ref().filter(|ring| ring.holds_back()) else {
            return false;
        };
        let Some(campaign) = self.campaign.as_mut().filter(|campaign| campaign.lease.is_none())
        else {
            return false;
        };
        let granted = ring.own_grant.as_ref().filter(|grant| grant.to != context.who);
        if granted.is_some_and(|grant| grant.leads) {
            campaign.vacant_since = now;
        }
        let is_its_turn = ring.is_weak_leader() && granted.is_none();
        if is_its_turn || now >= campaign.vacant_since.after(ring.patience()) {
            return false;
        }
        campaign.next_at = now.after(context.config.refresh);
        let weak = || ring.named(&context.membership);
        let before: Option<&NodeName> = granted.map(|grant| &grant.to.name).or_else(weak);
        if let Some(who) = before.cloned() {
            let leading = granted.is_some_and(|grant| grant.leads);
            self.say(now, Waiting::Behind { who: who.into(), leading }, context, out);
        }
        true
    }
}
