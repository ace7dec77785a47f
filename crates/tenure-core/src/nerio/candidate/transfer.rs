//! Handing over: a leadership ends once the named successor waits at a quorum of grantors.

use alloc::boxed::Box;

use super::super::body::Granted;
use super::super::context::Context;
use super::super::event::Event;
use super::super::quorum::MemberSet;
use super::super::words::Out;
use super::{Candidate, Transfer};
use crate::event::TransferFailure;
use crate::name::NodeName;
use crate::time::Time;

impl Candidate {
    /// Hands over to `to`, once a quorum of grantors reports that `to` waits.
    pub(in crate::nerio) fn transfer(
        &mut self,
        now: Time,
        (to, probe): (NodeName, bool),
        context: &mut Context,
        out: &mut Out,
    ) {
        let leads = self.standing(now).is_leading();
        let Some(campaign) = self.campaign.as_mut().filter(|_| leads) else {
            let why = TransferFailure::NotLeading;
            return self.emit(Event::TransferFailed { to, why }, out);
        };
        let patience = context.config.heard_within() + context.round_trip().saturating_mul(2);
        let (since, until) = (self.last_start, now.after(patience));
        let same = to.clone();
        let transfer = Box::new(Transfer { to, probe, since, until });
        let before = campaign.transfer.replace(transfer);
        campaign.answers.successor_waits = MemberSet::EMPTY;
        campaign.next_at = now;
        if let Some(before) = before.filter(|before| before.to != same) {
            let why = TransferFailure::Replaced;
            self.emit(Event::TransferFailed { to: before.to, why }, out);
        }
        self.run_due(now, context, out);
    }

    pub(super) fn end_transfer(&mut self, now: Time, out: &mut Out) {
        let Some(campaign) = &mut self.campaign else { return };
        if let Some(transfer) = campaign.transfer.take_if(|transfer| now >= transfer.until) {
            let why = TransferFailure::NotWaiting;
            self.emit(Event::TransferFailed { to: transfer.to, why }, out);
        }
    }

    /// The successor, once a quorum of grantors reports that the successor waits. If the transfer
    /// only probes, the candidate reports the successor and goes on leading.
    pub(in crate::nerio) fn hand_over_to(
        &mut self,
        member: usize,
        granted: &Granted,
        context: &Context,
        out: &mut Out,
    ) -> Option<NodeName> {
        let campaign = self.campaign.as_mut()?;
        let transfer = campaign.transfer.as_ref()?;
        if granted.start <= transfer.since || !granted.next_waits {
            return None;
        }
        let waits = &mut campaign.answers.successor_waits;
        *waits = waits.with(member);
        if !context.membership.quorums().is_quorum(*waits) {
            return None;
        }
        let (to, probe) = (transfer.to.clone(), transfer.probe);
        if !probe {
            return Some(to);
        }
        campaign.transfer = None;
        self.emit(Event::SuccessorWaits { to }, out);
        None
    }
}
