//! Grants that are of no use to a candidate, and candidates without a possible quorum. The
//! candidate gives such grants back, so that other candidates may win.

use super::super::context::Context;
use super::super::epoch::Where;
use super::super::quorum::MemberSet;
use super::super::words::{Out, send};
use super::{Campaign, Candidate};
use crate::time::Time;

impl Candidate {
    /// Gives back the grant of `member`, whose ok does not count, and asks `member` again after a
    /// drawn pause. Without the pause, several such candidates could pass the grant among
    /// themselves for ever. A leader gives nothing back.
    pub(in crate::nerio) fn give_back_useless(
        &mut self,
        now: Time,
        member: usize,
        context: &Context,
        out: &mut Out,
    ) {
        if self.campaign.as_ref().is_some_and(|campaign| campaign.lease.is_none()) {
            let member = MemberSet::EMPTY.with(member);
            self.give_back(now, member, member, context, out);
        }
    }

    /// Leaves the election to others if no quorum is possible: gives back all grants, and its
    /// places in the grantors' queues. Silent members get a release, too, because they may have
    /// granted. Returns the members without which no quorum is possible; from then on the candidate
    /// asks only these for grants, and the others for their epoch.
    ///
    /// A candidate calls this when it asks, not at each answer: after the first of several answers,
    /// the next may make a quorum possible.
    pub(in crate::nerio) fn leave_if_hopeless(
        &mut self,
        now: Time,
        context: &Context,
        out: &mut Out,
    ) -> Option<MemberSet> {
        let campaign = self.campaign.as_mut()?;
        let lost = campaign.hopeless(now, context);
        let before = core::mem::replace(&mut campaign.answers.left, lost.is_some());
        let lost = lost?;
        let answers = &campaign.answers;
        let silent = answers.reach.silence.silent(now, context.answers_within());
        let asked = |member: &usize| !answers.held_off.contains(*member);
        let unheard: MemberSet = silent.iter().filter(asked).collect();
        let waits =
            if before { MemberSet::EMPTY } else { context.membership.everyone().minus(lost) };
        let held = answers.oks.members().collect::<MemberSet>().or(unheard).or(waits);
        if !held.is_empty() {
            self.give_back(now, held, lost, context, out);
        }
        // The lost members may have left the cluster, and then only the others name the next epoch.
        for member in context.membership.everyone().minus(lost).iter() {
            send(out, context.membership.to(member), Where { start: now });
        }
        Some(lost)
    }

    /// Gives back the grants of `members`, whose oks so far never count any more. The candidate
    /// asks the `useless` members again after a drawn pause, so that several such candidates do not
    /// keep the same rhythm.
    fn give_back(
        &mut self,
        now: Time,
        members: MemberSet,
        useless: MemberSet,
        context: &Context,
        out: &mut Out,
    ) {
        let pause = self.draw(context.config.heard_within(), "give back", context);
        let until = now.after(pause);
        let Some(campaign) = &mut self.campaign else { return };
        for member in members.iter() {
            campaign.answers.oks.remove(member);
            campaign.answers.floors[member] = self.last_start;
            if useless.contains(member) {
                campaign.answers.held_off.insert(member, (None, until));
            }
        }
        self.release_to(members, self.last_start, &context.membership, out);
    }
}

impl Campaign {
    /// The members that are lost to this candidate: silent, unable to grant, or with grants that do
    /// not count. `None` if a quorum is possible without them, and for a leader.
    pub(super) fn hopeless(&self, now: Time, context: &Context) -> Option<MemberSet> {
        if self.lease.is_some() {
            return None;
        }
        let lost = self.answers.reach.lost(now, context.answers_within());
        let lost = lost.or(self.answers.too_long).or(context.faster());
        (!context.membership.quorums().is_possible(lost)).then_some(lost)
    }

    /// Asks all members at once if a quorum has become possible after the candidate had left.
    pub(super) fn return_if_possible(&mut self, now: Time, context: &Context) {
        if self.answers.left && self.hopeless(now, context).is_none() {
            self.answers.left = false;
            self.next_at = now;
        }
    }
}
