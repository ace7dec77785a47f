//! The documents of epochs that a grantor has read, or made.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::epoch::{DocumentPart, EpochId, EpochNews, Learning, Membership, Taken};
use super::super::event::{Ignored, OwnEvent};
use super::super::message::{Sender, ToGrantor};
use super::super::words::{Out, emit};
use super::Grantor;
use crate::time::Time;

/// Maximum number of documents that are kept in addition to those in use.
const SHELF_MAX: usize = 4;

/// Documents at hand, and the document that the grantor reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Documents {
    /// Kept documents, oldest first.
    shelf: Vec<Arc<Membership>>,
    learning: Learning,
    /// A message that the grantor handles again when it has read the document. After a failed
    /// reading the message stays until the next reading begins.
    waiting: Option<(Sender, ToGrantor)>,
}

impl Documents {
    /// Time of the next question for a part.
    pub(super) fn due(&self) -> Option<Time> {
        self.learning.due()
    }
}

impl Grantor {
    /// The membership of an epoch, if its document is at hand.
    pub(super) fn membership_of(&self, epoch: EpochId) -> Option<Arc<Membership>> {
        let accepted = self.votes.vote.accepted.as_ref().map(|(_, next)| next);
        let (own, latest) = (Some(&self.membership), Some(self.latest()));
        let proposed = self.proposals.running.as_ref().map(|proposal| &proposal.own);
        let in_use = [own, latest, self.before.as_ref(), accepted, proposed];
        let mut all = in_use.into_iter().flatten().chain(&self.documents.shelf);
        all.find(|one| one.id() == epoch).map(Arc::clone)
    }

    /// Keeps a document at hand. Drops the oldest one if there is no room.
    pub(super) fn keep(&mut self, membership: &Arc<Membership>) {
        let shelf = &mut self.documents.shelf;
        shelf.retain(|kept| kept.id() != membership.id());
        if shelf.len() == SHELF_MAX {
            shelf.remove(0);
        }
        shelf.push(Arc::clone(membership));
    }

    /// The membership of an epoch. If its document is not at hand, begins to read it from the
    /// sender that named the epoch, and handles `message` again afterwards.
    pub(super) fn need(
        &mut self,
        now: Time,
        from: &Sender,
        epoch: EpochId,
        message: Option<ToGrantor>,
        out: &mut Out,
    ) -> Option<Arc<Membership>> {
        let known = self.membership_of(epoch);
        if known.is_some() || self.is_unfit(epoch) || self.documents.learning.is_reading() {
            return known;
        }
        let documents = &mut self.documents;
        let (by, address) = (from.who.name.clone(), from.address);
        let news = EpochNews { by, address, founding: self.membership.founding() };
        documents.learning.begin(now, news, epoch);
        documents.waiting = message.map(|message| (from.clone(), message));
        self.read_on(now, out);
        None
    }

    /// Whether the document of this epoch was read, and does not fit the settings.
    pub(super) fn is_unfit(&self, epoch: EpochId) -> bool {
        self.documents.learning.is_misfit(epoch)
    }

    /// Asks for the next part. After too many questions gives up, until another message names the
    /// epoch.
    fn read_on(&mut self, now: Time, out: &mut Out) {
        let (own, retry) = (self.membership.id(), self.config.retry_after(self.config.round_trip));
        self.documents.learning.ask(now, own, retry, out);
    }

    pub(super) fn on_documents_due(&mut self, now: Time, out: &mut Out) {
        if self.documents.due().is_some_and(|due| due <= now) {
            self.read_on(now, out);
        }
    }

    pub(in crate::nerio) fn on_document_part(
        &mut self,
        now: Time,
        from: &Sender,
        part: &DocumentPart,
        out: &mut Out,
    ) {
        if !from.proved {
            return emit(out, None, OwnEvent::Ignored(Ignored::Unasked));
        }
        match self.documents.learning.on_part(&from.who.name, part, &self.config, out) {
            Taken::Unfinished => self.read_on(now, out),
            Taken::Fits(membership) => {
                self.keep(&membership);
                self.learn_before(now, &membership, out);
                self.conclude(now, out);
                if let Some((from, message)) = self.documents.waiting.take() {
                    self.on_message(now, &from, message, out);
                }
            }
            Taken::Useless => {}
        }
    }
}
