//! A grantor that does not know all leases of earlier epochs yet.
//!
//! A grantor enters an epoch by the first pages of a quorum's answers, and reads the other pages
//! afterwards. Until it has read them, it names an unknown holder of all other elections. Rules,
//! each with a run that goes wrong without it:
//!
//! - 2.2.6: *Until it has read all pages, a grantor that was wedged still answers as a wedged
//!   grantor.* Members a and b enter by each other's first pages. If each then named an unknown
//!   holder to the other, neither would ever learn the other pages. Both would grant nothing until
//!   all leases of epoch 0 have ended.
//! - 2.1.11: *Until it has read all pages, a grantor that has accepted nothing promises nothing.*
//!   Otherwise epoch 2 is decided while a and b still read the pages about epoch 0. Their answers
//!   name an unknown holder, so the members of epoch 2 grant nothing until all leases of epoch 0
//!   have ended. The rule delays no grant: a quorum that needs such a grantor's promise would also
//!   need its answer.

use core::time::Duration;

use super::super::epoch::{Acceptor, AcceptorState, RestBounds, Rests, RestsRead};
use super::super::message::Sender;
use super::Grantor;
use super::inherited::filled;
use crate::time::Time;

/// The answer of a grantor that was wedged in the previous epoch.
pub(super) struct AsWedged {
    /// The grantor's position in the previous epoch.
    member: usize,
    acceptor: Acceptor,
    state: AcceptorState,
    bounds: RestBounds,
}

impl Grantor {
    /// The span after which this grantor knows all leases from before its epoch, at the latest, and
    /// promises ballots; `None` if it promises them now.
    pub(super) fn promises_in(&self, now: Time) -> Option<Duration> {
        let rest = self.inherited.unknown().since(now);
        (!self.is_wedged() && !rest.is_zero()).then_some(rest)
    }

    /// This grantor's answer about the previous epoch, if it was wedged there and does not know all
    /// leases yet.
    pub(super) fn as_wedged(&self, now: Time) -> Option<AsWedged> {
        let heritage = self.inherited.heritage.as_ref()?;
        if now >= self.inherited.unknown() {
            return None;
        }
        let before = heritage.inheritance.before()?;
        let member = before.position(&self.who.name)?;
        let (ballot, bounds) = heritage.inheritance.answer_of(member, now)?;
        let (epoch, into) = (before.id(), heritage.into.id());
        let acceptor = heritage.witnesses.of(member).cloned();
        let acceptor = acceptor.unwrap_or_else(|| self.acceptor());
        Some(AsWedged {
            member,
            acceptor,
            state: AcceptorState::Wedged { epoch, ballot, into },
            bounds,
        })
    }

    /// A page of the answer of [`as_wedged`](Self::as_wedged). If this grantor has granted an
    /// election in this epoch, that grant stands for all earlier leases of the election, which have
    /// no entry any more.
    pub(super) fn wedged_page(
        &self,
        now: Time,
        from: &Sender,
        read: &RestsRead,
        wedged: AsWedged,
    ) -> Rests {
        let AsWedged { member, acceptor, state, bounds } = wedged;
        let after = read.after.as_ref();
        let page = Rests {
            asker: from.who.inc,
            into: read.into,
            acceptor,
            state,
            bounds,
            after: read.after.clone(),
            rests: alloc::vec::Vec::new(),
            more: false,
        };
        let heritage = self.inherited.heritage.iter();
        let own = heritage.flat_map(|one| one.inheritance.rests_of(member, after, now));
        filled(page, self.with_grants(after, now, own))
    }
}
