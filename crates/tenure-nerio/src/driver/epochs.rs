//! The epochs for which datagrams are meant, and senders of other configurations.

use std::sync::Arc;

use tenure_core::Time;
use tenure_core::nerio::wire::Messages;
use tenure_core::nerio::{Current, EpochId, Membership, Message, Sender, ToAsker};

use super::Wire;
use crate::seal::Authority;
use crate::transport::Transport;

impl<T: Transport> Wire<T> {
    /// The members that this node's candidates ask.
    pub(super) fn membership(&self) -> &Membership {
        // There is always one.
        self.memberships.first().unwrap_or_else(|| self.config.membership())
    }

    /// The number by which datagrams for this epoch call this node, 0 if it is no member there;
    /// `None` for an unknown epoch.
    pub(super) fn number(&self, epoch: EpochId) -> Option<u8> {
        let membership = self.memberships.iter().find(|one| one.id() == epoch)?;
        Some(membership.position(&self.name).map_or(0, |own| membership.number(own)))
    }

    /// Notes that the sender has this node's settings.
    pub(super) fn on_known_epoch(&mut self, now: Time, from: &Sender, by: Option<&Authority>) {
        let Sender { who, address, proved, .. } = from;
        self.lasting.fits(*address, by.is_some() || self.transport.seal.is_none());
        if by.is_none_or(|by| *by == Authority::Cluster) {
            let notice = self.places.contradicts(&who.name, *address, by.is_some());
            self.notice_if(notice);
        }
        if *proved {
            self.agrees(from);
            let twice = self.places.heard(now, who, *address);
            self.notice_if(twice);
        }
    }

    fn agrees(&mut self, from: &Sender) {
        let Some(membership) = self.memberships.first() else { return };
        let notice = self.agreement.agrees(&from.who.name, membership, &mut self.repeats);
        self.notice_if(notice);
    }

    /// Whether messages for an epoch that this node does not know reach the core, which answers
    /// questions with this node's epoch. Reports a sender that is in another epoch 0 and has not
    /// shown its epoch.
    pub(super) fn hears_other_epoch(
        &mut self,
        now: Time,
        from: &Sender,
        by: Option<&Authority>,
        messages: &Messages<'_>,
    ) -> bool {
        // While the cluster gets its keys, an unsealed datagram may name any source, and the answer
        // to it would begin with a hello, which is longer than the datagram.
        let hears = by.is_some() || self.transport.seal.is_none();
        let is_current = |message| matches!(message, Message::Asker(ToAsker::Current(_)));
        let shows = hears && messages.clone().flatten().any(is_current);
        let is_judged = !shows && !self.agreement.has_shown(now, &from.who.name);
        if is_judged && from.epoch.number == 0 {
            self.on_mismatch(now, from, from.epoch.digest);
        }
        hears
    }

    /// Handles the epoch that a sender shows. A sender in this cluster may be in an earlier or a
    /// later epoch.
    pub(super) fn on_current(&mut self, now: Time, from: &Sender, current: &Current) {
        let Some(membership) = self.memberships.first() else { return };
        if from.proved {
            self.agreement.shows(now, &from.who.name, membership);
        }
        if current.founding != membership.founding() {
            self.on_mismatch(now, from, current.founding);
        } else if from.proved {
            self.agrees(from);
        }
    }

    /// Reports that the sender has another configuration, with the digest `theirs`.
    fn on_mismatch(&mut self, now: Time, from: &Sender, theirs: u64) {
        let Some(membership) = self.memberships.first() else { return };
        let (peer, address, proved) = (from.who.name.clone(), from.address, from.proved);
        for notice in self.agreement.differs(now, peer, address, proved, theirs, membership) {
            self.notice(notice);
        }
    }
}
