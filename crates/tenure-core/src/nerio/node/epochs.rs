//! The epoch of a node's candidates and observers: how they learn of it, and how they enter it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::epoch::{
    Current, Decided, Document, DocumentError, DocumentPart, EpochId, EpochNews, Membership,
    ReadOutcome,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::grantor::Grantor;
use super::super::identity::Inc;
use super::super::message::Sender;
use super::super::words::{Effect, Out, emit};
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
        if !self.is_meant(current.asker, out) {
            return;
        }
        // The candidates beside a grantor follow it.
        if let Some(grantor) = &mut self.grantor {
            return grantor.on_current(now, from, current, out);
        }
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        if !current.entered {
            return ignore(out, None, Ignored::Unasked);
        }
        if current.epoch == self.context.membership.id() {
            self.context.confirmed = true;
        }
        let epoch = current.epoch;
        if self.learning.reads(epoch) || !self.wants(epoch, current.founding) {
            return ignore(out, None, Ignored::Unasked);
        }
        self.learn(now, EpochNews::of(from, current), epoch, out);
    }

    /// Handles the news that an epoch is decided, at a node without a grantor: that of a member of
    /// the epoch before it.
    pub(super) fn on_decided(
        &mut self,
        now: Time,
        from: &Sender,
        decided: &Decided,
        out: &mut Out,
    ) {
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        let (epoch, founding) = (decided.successor, self.context.membership.founding());
        if self.learning.reads(epoch) || epoch.number <= self.context.membership.id().number {
            return ignore(out, None, Ignored::Unasked);
        }
        let (by, address) = (from.who.name.clone(), from.address);
        self.learn(now, EpochNews { by, address, founding }, epoch, out);
    }

    /// Reads the document of an epoch from the member that named it.
    fn learn(&mut self, now: Time, news: EpochNews, epoch: EpochId, out: &mut Out) {
        if let Some(error) = self.learning.refusal(epoch).cloned() {
            return misfit(news, error, out);
        }
        self.learning.begin(now, news, epoch);
        self.read_on(now, out);
    }

    /// Whether candidates and observers go on in this epoch, at a node without a grantor.
    fn wants(&self, epoch: EpochId, founding: u64) -> bool {
        let own = &self.context.membership;
        let is_later = founding == own.founding() && epoch.number > own.id().number;
        epoch != own.id() && (is_later || !self.context.confirmed)
    }

    pub(super) fn is_meant(&self, asker: Inc, out: &mut Out) -> bool {
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
        if !self.is_meant(part.asker, out) {
            return;
        }
        if let Some(grantor) = &mut self.grantor {
            if !grantor.on_document_part(now, from, part, out) {
                ignore(out, None, Ignored::Unasked);
            }
            return;
        }
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        match self.learning.on_part(part) {
            None | Some((_, ReadOutcome::Unexpected)) => ignore(out, None, Ignored::Unasked),
            Some((_, ReadOutcome::Unfinished)) => self.read_on(now, out),
            Some((_, ReadOutcome::Unusable)) => {}
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
                self.learning.refuse(document.id(), error.clone());
                misfit(news, error, out);
            }
        }
    }

    /// Lets the candidates and observers beside a grantor follow it to the latest epoch that it
    /// knows, and reports the epochs before all other effects of this input: the driver learns
    /// first where their members are.
    pub(super) fn follow(&mut self, now: Time, begin: usize, out: &mut Out) {
        if let Some(grantor) = &mut self.grantor
            && grantor.take_news()
        {
            let latest = Arc::clone(grantor.latest());
            self.is_news = true;
            if latest.id().number > self.context.membership.id().number {
                self.switch(now, latest, out);
            }
        }
        if core::mem::take(&mut self.is_news) {
            let epochs = self.epochs(now);
            let ids: Vec<_> = epochs.iter().map(|one| one.id()).collect();
            if ids != self.told_epochs {
                self.told_epochs = ids;
                let event = OwnEvent::Epochs(epochs).into();
                out.insert(begin, Effect::Emit { election: None, event });
            }
        }
    }

    /// The epochs from whose members messages may come: that of the candidates, the one before it,
    /// and those of the grantor.
    fn epochs(&self, now: Time) -> Vec<Arc<Membership>> {
        let own = [Some(&self.context.membership), self.context.before(now)];
        let grantor = self.grantor.iter().flat_map(Grantor::epochs);
        let mut all: Vec<Arc<Membership>> = Vec::new();
        for one in own.into_iter().flatten().chain(grantor) {
            if all.iter().all(|other| other.id() != one.id()) {
                all.push(Arc::clone(one));
            }
        }
        all
    }

    /// Candidates and observers go on in the epoch of `membership`.
    fn switch(&mut self, now: Time, membership: Arc<Membership>, out: &mut Out) {
        self.is_news = true;
        let Self { context, candidates, candidates_due, observers, observers_due, .. } = self;
        context.silence.switch(&context.membership, &membership);
        let before = core::mem::replace(&mut context.membership, membership);
        let longest = context.config.lease.max(context.config.lease_first());
        let drift = context.config.drift;
        context.before = Some((before, now.after(drift.stretch(drift.stretch(longest)))));
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
