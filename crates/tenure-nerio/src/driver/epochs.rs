//! The epochs for which datagrams are meant, and senders of other configurations.

use std::net::SocketAddr;
use std::sync::Arc;

use tenure_core::nerio::wire::Messages;
use tenure_core::nerio::{
    Checked, Current, DocumentError, EpochId, Membership, Message, Origin, Sender, ToAsker,
    ToGrantor,
};
use tenure_core::{NodeName, Time};

use super::Wire;
use crate::agreement::OtherSender;
use crate::notice::Notice;
use crate::seal::Authority;
use crate::transport::Transport;

/// The notice about settings that differ from the members in the state directory; `None` if both
/// agree.
pub(super) fn other_line(config: &Checked, entered: &Membership) -> Option<Notice> {
    let line = config.membership();
    let without = |one: &Membership, other: &Membership| {
        let is_new = |name: &&NodeName| other.position(name).is_none();
        one.names().iter().filter(is_new).cloned().collect()
    };
    let (missing, more): (Vec<_>, Vec<_>) = (without(entered, line), without(line, entered));
    let quorums = line.document().quorums != entered.document().quorums;
    // Compare no digests: a digest also covers the members' memories, which the settings do not
    // name.
    let differs = quorums || !missing.is_empty() || !more.is_empty();
    differs.then_some(Notice::OtherLine { missing, more, quorums })
}

/// Whether a grantor with an empty or a lost directory may have sent this message. Before such a
/// grantor has entered an epoch, it asks for fences, reads documents, and votes on documents.
fn may_be_of_blank(message: &Message, epoch: EpochId) -> bool {
    matches!(message, Message::Grantor(ToGrantor::FenceRead(_))) || !message.is_bound(epoch)
}

impl<T: Transport> Wire<T> {
    /// The members that this node's candidates ask.
    pub(super) fn membership(&self) -> &Arc<Membership> {
        // The list is never empty, so the fallback is never used.
        self.memberships.first().unwrap_or_else(|| self.config.membership())
    }

    /// The number by which datagrams for this epoch call this node; 0 if this node is no member of
    /// the epoch; `None` for an unknown epoch.
    pub(super) fn number(&self, epoch: EpochId) -> Option<u8> {
        let membership = self.memberships.iter().find(|one| one.id() == epoch)?;
        Some(membership.position(&self.name).map_or(0, |own| membership.number(own)))
    }

    /// Notes that the sender has the same settings as this node. Reports a member's name at another
    /// address, and two processes with one name.
    pub(super) fn on_known_epoch(&mut self, now: Time, from: &Sender, by: Option<&Authority>) {
        let Sender { who, address, proved, .. } = from;
        self.lasting.fits(*address, by.is_some() || self.transport.seal.is_none());
        self.agreement.fits(*address);
        if by.is_none_or(|by| *by == Authority::Cluster) {
            let notice = self.places.contradicts(&who.name, *address, by.is_some());
            self.notice_if(notice);
        }
        if *proved {
            self.agreement.agrees(&who.name, &mut self.repeats);
            let twice = self.places.heard(now, who, *address);
            self.notice_if(twice);
        }
    }

    /// Whether the core gets messages for an epoch that this node does not know. The core answers
    /// such questions with this node's epoch. Reports a member that is in the epoch 0 of another
    /// cluster and has not shown its epoch. Also reports any node that stays in such an epoch.
    pub(super) fn hears_other_epoch(
        &mut self,
        now: Time,
        from: &Sender,
        by: Option<&Authority>,
        messages: &Messages<'_>,
    ) -> bool {
        // While the cluster gets its keys, an unsealed datagram may have a forged source. An answer
        // would begin with a hello, which is longer than the datagram, so this node does not
        // answer.
        let hears = by.is_some() || self.transport.seal.is_none();
        let is_current = |message| matches!(message, Message::Asker(ToAsker::Current(_)));
        let shows = hears && messages.clone().flatten().any(is_current);
        let is_judged = !shows && !self.agreement.has_shown(now, &from.who.name);
        // A blank, and a process that knows no more than its settings, send messages for the epoch
        // of their settings. This node may have the same settings.
        let is_of_settings = from.epoch == self.config.membership().id();
        let is_other = from.epoch.digest != self.membership().founding() && !is_of_settings;
        if is_judged && is_other && from.epoch.number == 0 {
            let is_member = from.proved && self.membership().position(&from.who.name).is_some();
            let is_of_blank = |message| may_be_of_blank(&message, from.epoch);
            let mut all = messages.clone().flatten();
            if (self.has_document() || !is_member) && all.any(is_of_blank) {
                return hears;
            }
            // The members enter the epoch of a new cluster one after the other. So a node that
            // knows only its settings may hear of that epoch before it has read the epoch's
            // document.
            let is_judged_at_once = is_member && self.has_document();
            if is_judged_at_once || self.agreement.stays_elsewhere(now, from.address) {
                self.on_mismatch(now, from, from.epoch.digest);
            }
        }
        hears
    }

    /// Handles the epoch that a sender shows. A member in this cluster may be in an earlier or a
    /// later epoch.
    pub(super) fn on_current(&mut self, now: Time, from: &Sender, current: &Current) {
        let Some(membership) = self.memberships.first().filter(|_| from.proved) else { return };
        self.agreement.shows(now, &from.who.name, membership);
        let is_member = membership.position(&from.who.name).is_some();
        if current.founding == membership.founding() {
            self.agreement.agrees(&from.who.name, &mut self.repeats);
        } else if is_member && !current.entered && !self.has_document() {
            // Both nodes know only their settings, which differ, so the two can never found a
            // cluster together.
            self.on_mismatch(now, from, current.founding);
        }
    }

    /// Whether the epoch of this node has a document. Otherwise its settings are its epoch.
    fn has_document(&self) -> bool {
        self.membership().document().origin != Origin::Upgraded
    }

    /// Candidates and observers ask the members of the first of these epochs from now on.
    pub(super) fn on_epochs(&mut self, memberships: Vec<Arc<Membership>>, is_confirmed: bool) {
        self.places.know(&memberships);
        self.memberships = memberships;
        if let Some(first) = self.memberships.first() {
            self.agreement.switch(first);
        }
        self.weigh_agreement(is_confirmed);
        self.members_moved();
    }

    /// Reports when the members that differ begin to leave no quorum, and when a quorum is possible
    /// again.
    pub(super) fn weigh_agreement(&mut self, is_confirmed: bool) {
        let Some(membership) = self.memberships.first() else { return };
        let notice = self.agreement.weigh(membership, is_confirmed);
        self.notice_if(notice);
    }

    /// Reports that the sender has another configuration, with this digest.
    fn on_mismatch(&mut self, now: Time, from: &Sender, digest: u64) {
        let Sender { who, address, proved, .. } = from;
        let (name, address, proved) = (who.name.clone(), *address, *proved);
        let apart = self.has_document();
        self.on_other(now, OtherSender { name, address, proved, digest, apart, why: None });
    }

    /// Reports a member of another cluster. Before a quorum has confirmed this node's membership,
    /// this node may still follow the members into another cluster that fits. So until that
    /// confirmation only a member that stays in its other cluster is reported.
    pub(super) fn on_other_document(
        &mut self,
        by: NodeName,
        address: SocketAddr,
        founding: u64,
        error: Option<&DocumentError>,
        is_confirmed: bool,
    ) {
        let now = tenure::clock::now();
        let is_final = error.is_some() || is_confirmed;
        if is_final || self.agreement.stays_elsewhere(now, address) {
            let (proved, apart) = (true, error.is_none());
            let (name, digest, why) = (by, founding, error.map(ToString::to_string));
            let sender = OtherSender { name, address, proved, digest, apart, why };
            self.on_other(now, sender);
            self.weigh_agreement(is_confirmed);
        }
    }

    fn on_other(&mut self, now: Time, sender: OtherSender) {
        let Some(membership) = self.memberships.first() else { return };
        let notice = self.agreement.differs(now, sender, membership);
        self.notice(notice);
    }
}
