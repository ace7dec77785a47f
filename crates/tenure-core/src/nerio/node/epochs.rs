//! The epoch of a node's candidates and observers: how they learn of it, and how they enter it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::context::Context;
use super::super::epoch::{
    Confirmation, Current, Decided, DocumentPart, EpochId, EpochNews, Membership, Origin, Taken,
    Verdict, Where,
};
use super::super::event::{Ignored, OwnEvent};
use super::super::grantor::Grantor;
use super::super::identity::Inc;
use super::super::message::Sender;
use super::super::words::{Effect, Out, send};
use super::{Nerio, ignore};
use crate::time::Time;

impl Nerio {
    /// Asks the members for their epoch, until a quorum has confirmed the epoch of this node.
    /// Candidates and observers ask the members anyway, but a node may have neither.
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

    /// Notes that a member answers the question of `start` in this node's epoch. Callers leave out
    /// answers that may be of a blank (founding by document 3.11). A blank answers in the epoch of
    /// its settings, and later enters the founded epoch. If its answer confirmed the epoch of this
    /// node, the node would not follow.
    pub(super) fn confirm(&mut self, member: usize, start: Time) {
        if self.context.has_asked(start) {
            self.context.confirmation.answers(member, start, &self.context.membership);
        }
    }

    /// Handles the epoch that a member has entered: reads its document if candidates and observers
    /// may go on in that epoch.
    pub(super) fn on_current(
        &mut self,
        now: Time,
        from: &Sender,
        current: &Current,
        out: &mut Out,
    ) {
        if !self.admit_answer(current.asker, out) {
            return;
        }
        // The candidates of a node follow its grantor.
        if let Some(grantor) = &mut self.grantor {
            return grantor.on_current(now, from, current, out);
        }
        let Some(member) = self.member(from) else {
            return ignore(out, None, Ignored::NotAMember);
        };
        if !current.entered {
            return ignore(out, None, Ignored::Unasked);
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
        if is_other && !self.wants(epoch, founding) {
            return news.differs(None, out);
        }
        self.learn(now, news, epoch, current.is_readable(), out);
    }

    /// Handles a member's news that the next epoch is decided, at a node without a grantor.
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
        let (by, address) = (from.who.name.clone(), from.address);
        let founding = self.context.membership.founding();
        let news = EpochNews { by, address, founding };
        self.learn(now, news, decided.successor, true, out);
    }

    /// Goes on in an epoch that a member has named, or reads its document first.
    fn learn(
        &mut self,
        now: Time,
        news: EpochNews,
        epoch: EpochId,
        is_readable: bool,
        out: &mut Out,
    ) {
        if !self.wants(epoch, news.founding) || self.learning.reads(epoch) {
            return ignore(out, None, Ignored::Unasked);
        }
        match self.learning.hear_of(epoch) {
            Some(Verdict::Fits(membership)) if self.may_enter(&membership) => {
                self.switch(now, membership, out);
            }
            // The epoch has the members of the settings, so this is no error. If the other members
            // are blanks, no quorum names the epoch, and the node stays in its own.
            Some(Verdict::Fits(membership)) if self.is_of_settings(&membership) => {
                ignore(out, None, Ignored::Unasked);
            }
            Some(Verdict::Fits(_)) => news.differs(None, out),
            Some(Verdict::Misfit(error)) => news.differs(Some(error), out),
            Some(Verdict::Unreadable { .. }) => ignore(out, None, Ignored::Unasked),
            None if !is_readable => self.learning.fail(news, epoch, out),
            None => {
                self.learning.begin(now, news, epoch);
                self.read_on(now, out);
            }
        }
    }

    /// Whether an epoch has the members and the quorums of the settings.
    fn is_of_settings(&self, epoch: &Membership) -> bool {
        let own = self.context.config.membership();
        own.names() == epoch.names() && own.document().quorums == epoch.document().quorums
    }

    /// Whether this node, which has no grantor, reads the document of `epoch`: if the epoch is
    /// later, or if it is of another cluster and this node's epoch is not confirmed. The document
    /// also shows why two nodes differ.
    fn wants(&self, epoch: EpochId, founding: u64) -> bool {
        let Context { membership, confirmation, .. } = &self.context;
        let is_other = founding != membership.founding() && !confirmation.is_confirmed();
        is_other || self.is_later(epoch, founding)
    }

    /// Whether an epoch is later than that of candidates and observers, in the same cluster.
    fn is_later(&self, epoch: EpochId, founding: u64) -> bool {
        let own = &self.context.membership;
        founding == own.founding() && epoch.number > own.id().number
    }

    /// Admits an answer to this incarnation, and ignores an answer to another incarnation.
    pub(super) fn admit_answer(&self, asker: Inc, out: &mut Out) -> bool {
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
        if !self.admit_answer(part.asker, out) {
            return;
        }
        if let Some(grantor) = &mut self.grantor {
            return grantor.on_document_part(now, from, part, out);
        }
        if self.member(from).is_none() {
            return ignore(out, None, Ignored::NotAMember);
        }
        match self.learning.on_part(&from.who.name, part, &self.context.config, out) {
            Taken::Unfinished => self.read_on(now, out),
            Taken::Fits(membership) if self.may_enter(&membership) => {
                self.switch(now, membership, out);
            }
            Taken::Fits(_) | Taken::Useless => {}
        }
    }

    /// Whether the epoch of `membership` is later, or a quorum of the node's members names its
    /// cluster.
    fn may_enter(&self, membership: &Membership) -> bool {
        let Context { membership: own, confirmation, .. } = &self.context;
        let founding = membership.founding();
        confirmation.is_named_by_quorum(founding, own) || self.is_later(membership.id(), founding)
    }

    /// Lets the candidates and observers of a node follow its grantor to the latest epoch that the
    /// grantor knows. Reports changed epochs before all other effects of this input, so that the
    /// driver first learns where the members are.
    pub(super) fn follow(&mut self, now: Time, begin: usize, out: &mut Out) {
        if let Some(grantor) = &mut self.grantor
            && grantor.take_news()
        {
            let latest = Arc::clone(grantor.latest());
            self.context.not_let_in = grantor.not_let_in();
            self.is_news = true;
            if self.is_followed_by(&latest) {
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

    /// Whether candidates and observers go on in this epoch of their node's grantor.
    fn is_followed_by(&self, latest: &Membership) -> bool {
        let own = &self.context.membership;
        let founds = latest.document().origin == Origin::Founded
            && own.document().origin == Origin::Upgraded;
        founds || latest.id().number > own.id().number
    }

    /// The epochs from whose members messages may come: the epoch of the candidates, the previous
    /// epoch, and the epochs of the grantor.
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

    /// Moves candidates and observers to the epoch of `membership`.
    fn switch(&mut self, now: Time, membership: Arc<Membership>, out: &mut Out) {
        self.is_news = true;
        let has_grantor = self.grantor.is_some();
        let Self { context, candidates, candidates_due, observers, observers_due, .. } = self;
        context.silence.switch(&context.membership, &membership);
        context.rates.switch(&context.membership, &membership);
        let before = core::mem::replace(&mut context.membership, membership);
        let until = now.after(context.config.given_up(context.longest_lease()));
        // Candidates have led by the previous list only if that list is an epoch of this cluster.
        let is_epoch = before.founding() == context.membership.founding();
        context.before = is_epoch.then_some((before, until));
        context.confirmation = Confirmation::new(now);
        if has_grantor {
            context.confirmation.confirm();
        }
        candidates.each(|candidate| {
            candidate.switch(now, context, out);
            candidate.book(candidates_due);
        });
        for observer in observers.values_mut() {
            observer.switch(now, context, out);
            observer.book(observers_due);
        }
        self.judge_own_clock(now, out);
        self.begin_ring(now, out);
    }
}
