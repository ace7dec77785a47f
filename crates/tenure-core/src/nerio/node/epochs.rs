//! The epoch of a node's candidates and observers: how they learn of it, and how they enter it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::epoch::{
    Current, Document, DocumentError, DocumentPart, EpochId, EpochNews, Membership, ReadOutcome,
    Verdict,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::Inc;
use super::super::message::Sender;
use super::super::words::{Out, emit};
use super::{Nerio, ignore};
use crate::time::Time;

impl Nerio {
    /// Handles the epoch that a member has entered: reads its document if the epoch is that of a
    /// later membership, or of any while this node only has its settings.
    pub(super) fn on_current(
        &mut self,
        now: Time,
        from: &Sender,
        current: &Current,
        out: &mut Out,
    ) {
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        if !self.is_meant(current.asker, out) {
            return;
        }
        if current.epoch == self.context.membership.id() {
            self.context.confirmed = true;
        }
        let epoch = current.epoch;
        if self.learning.reads(epoch) || !self.wants(epoch, current.founding) {
            return ignore(out, None, Ignored::Unasked);
        }
        let news = EpochNews::of(from, current);
        match self.learning.verdict(epoch) {
            Some(Verdict::Misfit(error)) => misfit(news, error, out),
            Some(Verdict::Unreadable { .. }) => ignore(out, None, Ignored::Unasked),
            None if !current.is_readable() => self.learning.fail(news, epoch, out),
            None => {
                self.learning.begin(now, news, epoch);
                self.read_on(now, out);
            }
        }
    }

    /// Whether candidates and observers go on in this epoch. Only a grantor can tell whether it has
    /// entered an epoch, so the candidates beside it stay in its epoch.
    fn wants(&self, epoch: EpochId, founding: u64) -> bool {
        let own = &self.context.membership;
        let is_later = founding == own.founding() && epoch.number > own.id().number;
        self.grantor.is_none() && epoch != own.id() && (is_later || !self.context.confirmed)
    }

    fn is_meant(&self, asker: Inc, out: &mut Out) -> bool {
        let is_meant = asker == self.context.who.inc;
        if !is_meant {
            ignore(out, None, Ignored::OtherIncarnation);
        }
        is_meant
    }

    /// Asks for the next part of the document, or gives up.
    fn read_on(&mut self, now: Time, out: &mut Out) {
        let (own, retry) = (self.context.membership.id(), self.context.retry());
        self.learning.ask(now, own, retry, out);
    }

    /// Repeats the question for a part that has not come.
    pub(super) fn read_due(&mut self, now: Time, out: &mut Out) {
        if self.learning.due().is_some_and(|due| due <= now) {
            self.read_on(now, out);
        }
    }

    pub(super) fn on_document_part(
        &mut self,
        now: Time,
        from: &Sender,
        part: &DocumentPart,
        out: &mut Out,
    ) {
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        if !self.is_meant(part.asker, out) {
            return;
        }
        match self.learning.on_part(part) {
            None | Some((_, ReadOutcome::Unexpected)) => ignore(out, None, Ignored::Unasked),
            Some((_, ReadOutcome::Unfinished)) => self.read_on(now, out),
            Some((news, ReadOutcome::Unusable)) => self.learning.fail(news, part.epoch, out),
            Some((news, ReadOutcome::Finished(document))) => {
                self.on_document(now, news, *document, out);
            }
        }
    }

    /// Enters the epoch of a document that was read, if this node still wants it.
    fn on_document(&mut self, now: Time, news: EpochNews, document: Document, out: &mut Out) {
        let config = &self.context.config;
        match document.check(&config.cluster, config.drift) {
            Ok(quorums) => {
                let membership = Membership::new(document, quorums);
                if self.wants(membership.id(), membership.founding()) {
                    self.switch(now, Arc::new(membership), out);
                }
            }
            Err(error) => {
                self.learning.judge(document.id(), Verdict::Misfit(error.clone()));
                misfit(news, error, out);
            }
        }
    }

    /// Candidates and observers go on in the epoch of `membership`. The driver learns first where
    /// its members are.
    fn switch(&mut self, now: Time, membership: Arc<Membership>, out: &mut Out) {
        emit(out, None, OwnEvent::Epochs(alloc::vec![Arc::clone(&membership)]));
        let Self { context, candidates, candidates_due, observers, observers_due, .. } = self;
        context.silence.switch(&context.membership, &membership);
        context.membership = membership;
        context.confirmed = true;
        candidates.retain(|candidate| {
            candidate.switch(now, context, out);
            candidate.book(candidates_due);
            true
        });
        for observer in observers.values_mut() {
            observer.switch(now, context, out);
            observer.book(observers_due);
        }
    }
}

/// Reports that a member's document does not fit the settings of this node.
fn misfit(news: EpochNews, error: DocumentError, out: &mut Out) {
    let EpochNews { by, address, founding } = news;
    let error = Box::new(error);
    emit(out, None, OwnEvent::OtherDocument { by, address, founding, error });
}
