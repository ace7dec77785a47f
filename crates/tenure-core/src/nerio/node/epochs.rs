//! The epoch of a node's candidates and observers: how they learn of it, and how they enter it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::super::body::Released;
use super::super::context::Context;
use super::super::epoch::{
    Confirmation, Current, Document, DocumentError, DocumentPart, EpochId, EpochNews, Membership,
    ReadOutcome, Verdict, Where,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::identity::Inc;
use super::super::message::Sender;
use super::super::words::{Out, emit, send};
use super::{Nerio, ignore};
use crate::time::Time;

impl Nerio {
    /// Asks the members for their epoch, until a quorum has confirmed that of this node: candidates
    /// and observers ask them anyway, but a node may have neither.
    pub(super) fn ask_epoch(&mut self, now: Time, out: &mut Out) {
        let retry = self.context.retry();
        let Context { membership, confirmation, asked, .. } = &mut self.context;
        let is_early = asked.is_some_and(|asked| now < asked.after(retry));
        if confirmation.is_confirmed() || is_early {
            return;
        }
        *asked = Some(now);
        for member in membership.everyone().iter() {
            send(out, membership.to(member), Where { start: now });
        }
    }

    /// Handles the epoch that a member has entered: reads its document if the epoch may be the one
    /// in which candidates and observers go on.
    pub(super) fn on_current(
        &mut self,
        now: Time,
        from: &Sender,
        current: &Current,
        out: &mut Out,
    ) {
        let Some(member) = self.member(from) else {
            return ignore(out, None, Ignored::NotAMember);
        };
        if !self.is_meant(current.asker, out) {
            return;
        }
        let (epoch, founding, start) = (current.epoch, current.founding, current.start);
        let is_asked = self.context.has_asked(start);
        let Context { membership, confirmation, .. } = &mut self.context;
        if !is_asked || !confirmation.is_latest(member, start) {
            return ignore(out, None, Ignored::Unasked);
        }
        if epoch == membership.id() {
            return confirmation.answers(member, start, membership);
        }
        let is_other = founding != membership.founding();
        if is_other {
            confirmation.names(member, start, founding);
        }
        let news = EpochNews::of(from, current);
        let wants = self.wants(epoch, founding);
        if is_other && !wants {
            return differs(news, None, out);
        }
        if !wants || self.learning.reads(epoch) {
            return ignore(out, None, Ignored::Unasked);
        }
        match self.learning.verdict(epoch) {
            Some(Verdict::Fits(membership)) if self.may_enter(&membership) => {
                self.switch(now, membership, out);
            }
            Some(Verdict::Fits(_)) => differs(news, None, out),
            Some(Verdict::Misfit(error)) => differs(news, Some(error), out),
            Some(Verdict::Unreadable { .. }) => ignore(out, None, Ignored::Unasked),
            None if !current.is_readable() => self.learning.fail(news, epoch, out),
            None => {
                self.learning.begin(now, news, epoch);
                self.read_on(now, out);
            }
        }
    }

    /// Whether this node reads the document of an epoch: of a later one, and of another cluster
    /// while the own epoch is not confirmed. The document also shows why two nodes differ.
    fn wants(&self, epoch: EpochId, founding: u64) -> bool {
        let Context { membership, confirmation, .. } = &self.context;
        let is_other = founding != membership.founding() && !confirmation.is_confirmed();
        // Only a grantor can tell whether it has entered an epoch, so the candidates beside it stay
        // in its epoch.
        self.grantor.is_none() && (is_other || self.is_later(epoch, founding))
    }

    /// Whether an epoch is later than that of candidates and observers, in the same cluster.
    fn is_later(&self, epoch: EpochId, founding: u64) -> bool {
        let own = &self.context.membership;
        founding == own.founding() && epoch.number > own.id().number
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
        match self.learning.on_part(&from.who.name, part) {
            None | Some((_, ReadOutcome::Unexpected)) => ignore(out, None, Ignored::Unasked),
            Some((_, ReadOutcome::Unfinished)) => self.read_on(now, out),
            Some((news, ReadOutcome::Unusable)) => self.learning.fail(news, part.epoch, out),
            Some((news, ReadOutcome::Finished(document))) => {
                self.on_document(now, news, *document, out);
            }
        }
    }

    /// Handles the confirmation of a release in another epoch: of the epoch before, whose members
    /// have the release as well.
    pub(super) fn on_earlier_released(
        &mut self,
        now: Time,
        from: &Sender,
        released: &Released,
        out: &mut Out,
    ) {
        let candidate = self.candidates.get(&released.election);
        let pending = candidate.and_then(|candidate| candidate.pending.as_ref());
        if !from.proved || !pending.is_some_and(|pending| pending.is_for(from)) {
            return ignore(out, None, Ignored::OtherEpoch);
        }
        if !self.is_meant(released.asker, out) {
            return;
        }
        self.with_candidate(&released.election, out, |candidate, context, out| {
            candidate.on_released(now, from, released, context, out);
        });
    }

    fn on_document(&mut self, now: Time, news: EpochNews, document: Document, out: &mut Out) {
        let (epoch, origin) = (document.id(), document.origin);
        match Membership::read(Arc::new(document), &self.context.config) {
            Ok(membership) => {
                self.learning.judge(epoch, Verdict::Fits(Arc::clone(&membership)));
                if self.may_enter(&membership) {
                    self.switch(now, membership, out);
                }
            }
            Err(error) => {
                let verdict = if error.is_of_copy(origin) {
                    Verdict::unreadable()
                } else {
                    Verdict::Misfit(error.clone())
                };
                self.learning.judge(epoch, verdict);
                differs(news, Some(error), out);
            }
        }
    }

    /// Whether the epoch of `membership` is a later one, or the members move the node there.
    fn may_enter(&self, membership: &Membership) -> bool {
        let Context { membership: own, confirmation, .. } = &self.context;
        let founding = membership.founding();
        confirmation.is_outvoted(founding, own) || self.is_later(membership.id(), founding)
    }

    /// Candidates and observers go on in the epoch of `membership`. The driver learns first where
    /// its members are.
    fn switch(&mut self, now: Time, membership: Arc<Membership>, out: &mut Out) {
        emit(out, None, OwnEvent::Epochs(alloc::vec![Arc::clone(&membership)]));
        let Self { context, candidates, candidates_due, observers, observers_due, .. } = self;
        context.silence.switch(&context.membership, &membership);
        context.membership = membership;
        context.confirmation = Confirmation::new(now);
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

/// Reports a member of another cluster, and why its document does not fit this node.
fn differs(news: EpochNews, error: Option<DocumentError>, out: &mut Out) {
    let EpochNews { by, address, founding } = news;
    let error = error.map(Box::new);
    emit(out, None, OwnEvent::OtherDocument { by, address, founding, error });
}
