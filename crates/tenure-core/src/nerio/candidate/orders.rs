//! Orders to end a leadership: the candidate reports each order once, and only to the leadership
//! that the order names. The application decides whether to obey, by the commands to resign or to
//! hand over.

use alloc::vec::Vec;

use super::super::context::Context;
use super::super::event::{Ignored, OwnEvent};
use super::super::order::StepDown;
use super::super::words::Out;
use super::Candidate;
use crate::name::NodeName;
use crate::standing::Standing;
use crate::time::Time;

/// Maximum number of remembered orders; the candidate forgets the oldest. The same order arrives
/// through several grantors, and its sender repeats it for some seconds.
const ORDERS_MAX: usize = 16;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Orders(Vec<u64>);

impl Orders {
    /// Remembers an order; true if the order is new.
    pub(super) fn remember(&mut self, order: u64) -> bool {
        if self.0.contains(&order) {
            return false;
        }
        if self.0.len() >= ORDERS_MAX {
            self.0.remove(0);
        }
        self.0.push(order);
        true
    }
}

impl Candidate {
    /// Reports an order that the member `by` passes on. The leadership goes on.
    pub(in crate::nerio) fn on_step_down(
        &mut self,
        now: Time,
        by: &NodeName,
        order: &StepDown,
        context: &Context,
        out: &mut Out,
    ) {
        let Standing::Leading { fence, .. } = self.standing(now) else {
            return self.emit(OwnEvent::Ignored(Ignored::Stale), out);
        };
        let is_meant = fence == Some(order.fence) && order.holder == context.who.inc;
        if !is_meant {
            return self.emit(OwnEvent::Ignored(Ignored::Stale), out);
        }
        let Some(campaign) = &mut self.campaign else { return };
        if !campaign.orders.remember(order.number) {
            return self.emit(OwnEvent::Ignored(Ignored::Duplicate), out);
        }
        let (fence, next, from) = (order.fence, order.next.clone(), order.from);
        self.emit(OwnEvent::Ordered { fence, next, by: by.clone(), from }, out);
    }
}
