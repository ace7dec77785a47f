//! Orders from elsewhere, passed on to the leader in question.

use super::super::order::{Order, Ordered, Passed, StepDown};
use super::super::words::{Out, To};
use super::{Grantor, Sender, send};
use crate::time::Time;

impl Grantor {
    /// Passes an order on to the holder of the grant, if the holder has announced the fence that
    /// the order names. The driver has checked the rights of the sender. The grantor keeps nothing.
    pub(super) fn on_order(&self, now: Time, from: &Sender, order: &Order, out: &mut Out) {
        let told = self.state(&order.election).filter(|_| self.is_told(&order.election));
        let grant = told.and_then(|state| state.live(now)).filter(|grant| {
            grant.record.announced == Some(order.fence) && grant.leaves_at.is_none()
        });
        if let Some(grant) = grant {
            let down = StepDown {
                election: order.election.clone(),
                holder: grant.record.holder.inc,
                fence: order.fence,
                next: order.next.clone(),
                number: order.number,
                from: from.address,
            };
            send(out, To::at(self.membership.id(), grant.record.address), down);
        }
        let passed = if grant.is_some() { Passed::On } else { Passed::NotHeld };
        let (election, asker) = (order.election.clone(), from.who.inc);
        let ordered = Ordered { election, asker, start: order.start, passed };
        send(out, from, ordered);
    }
}
