//! What a candidate makes of what etcd answers.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::super::event::{Event, Ignored, Objection, OwnEvent};
use super::super::key::{self, Bytes, LeaseId};
use super::super::message::{CallId, Change, Header, KeyValue, Refusal, Reply, Revision};
use super::super::words::Effect;
use super::{Candidate, Context, Doing, LOOK_AGAIN, MEND_AGAIN, Phase};
use crate::time::Time;
use crate::waiting::Waiting;

impl Candidate {
    /// An answer to a call or a watch of this candidate's.
    pub(in crate::etcd) fn on_answer(
        &mut self,
        (call, header, reply): (CallId, Option<Header>, Reply),
        context: &mut Context<'_>,
    ) {
        if self.watch.as_ref().is_some_and(|watch| watch.call == call) {
            return self.on_watched(reply, context);
        }
        let Some((_, doing)) = self.call.filter(|(asked, _)| *asked == call) else {
            return self.tell(OwnEvent::Ignored(Ignored::Unasked), context.out);
        };
        self.call = None;
        match (reply, header) {
            (Reply::Txn { succeeded, found }, Some(header)) => {
                // A look because the watch does not open is no progress.
                let looks = matches!(doing, Doing::Look | Doing::Wait | Doing::Check);
                if self.watch.is_some() || !looks {
                    self.failures = 0;
                }
                let fits = self.on_txn(doing, succeeded, found, header, context);
                if fits.is_none() {
                    self.tell(OwnEvent::Ignored(Ignored::Misfit), context.out);
                    self.pause(context);
                }
            }
            (Reply::LeaseGone, _) => {
                context.session.doubt(self.home, context.now);
                self.pause(context);
            }
            (Reply::Refused(refusal), _) => self.on_refused(doing, refusal, context),
            (Reply::Unknown { why }, _) => {
                self.tell(OwnEvent::Unsure { doing: doing.words(), why }, context.out);
                if doing == Doing::Create {
                    self.create_unsure();
                }
                self.stale_value |= doing == Doing::Proclaim;
                self.pause(context);
            }
            _ => {
                self.tell(OwnEvent::Ignored(Ignored::Misfit), context.out);
                self.pause(context);
            }
        }
    }

    /// `None` when the answer does not fit the question.
    fn on_txn(
        &mut self,
        doing: Doing,
        succeeded: bool,
        found: Vec<Option<KeyValue>>,
        header: Header,
        context: &mut Context<'_>,
    ) -> Option<()> {
        let mut found = found.into_iter();
        match (doing, succeeded) {
            (Doing::Create, true) => self.queue(header.revision, context),
            (Doing::Create, false) => {
                let found = found.next()??;
                self.on_found(&found, context);
            }
            (Doing::Clear, true) => self.create(context),
            (Doing::Clear, false) => {
                match found.next()? {
                    Some(found) => self.phase = Phase::Clearing { revision: found.created },
                    None => self.phase = Phase::Creating { unsure: true },
                }
                self.pause(context);
            }
            (Doing::Look, true) => {
                let (first, before) = (found.next()?, found.next()?);
                self.on_first(first, before, header, context);
            }
            (Doing::Wait, true) => self.wait_on(header, context),
            (Doing::Wait, false) => self.wait_no_longer(found.next()?.as_ref(), context),
            (Doing::Look, false) => self.look_elsewhere(found.next()?.as_ref(), context),
            (Doing::Proclaim | Doing::Check, false) => self.on_key_lost(context),
            (Doing::Proclaim, true) => {
                if self.watch.is_none() {
                    self.look(context);
                }
            }
            (Doing::Check, true) => {
                let own = found.next()??;
                self.on_checked(&own, header, context);
            }
            (Doing::Leave, true) => self.left(context),
            (Doing::Leave, false) => self.on_other(found.next()?, context),
            (Doing::Sweep, true) => self.sweep_later(header, context),
            (Doing::Sweep, false) => {
                let found = found.next()??;
                self.on_late_key(found.created, found.lease, context);
                // Somebody else's.
                if self.phase == Phase::Over {
                    self.sweep_later(header, context);
                }
            }
        }
        Some(())
    }

    /// The key that was to go is not there, or another one is: that goes, too, if it is ours.
    fn on_other(&mut self, found: Option<KeyValue>, context: &mut Context<'_>) {
        match found {
            Some(found) if context.session.owns(found.lease) => {
                self.phase = Phase::Leaving { revision: Some(found.created) };
                self.again = Some(context.now);
                self.work(context);
            }
            Some(_) | None => self.left(context),
        }
    }

    /// Its own key is there; on a lease of somebody else it is not its own.
    fn on_checked(&mut self, own: &KeyValue, header: Header, context: &mut Context<'_>) {
        if !context.session.owns(own.lease) {
            return self.on_key_lost(context);
        }
        self.watch(own.key.clone(), header.revision + 1, context);
        self.check_value(own, context);
    }

    /// A key is in the way. It is ours if a create of this campaign made it; one of an earlier
    /// process or campaign has a fence that is used up (ruling 6, E5), and may be there again in a
    /// restored store (E7). On a lease that was handed in nobody can tell, whatever the value.
    fn on_found(&mut self, found: &KeyValue, context: &mut Context<'_>) {
        let made_here = !context.session.is_given();
        let ours = self.phase == (Phase::Creating { unsure: true })
            && made_here
            && found.lease == context.lease()
            && found.created > self.since
            && found.value == self.value.as_str().into();
        if ours {
            self.home = found.lease;
            return self.queue(found.created, context);
        }
        self.phase = Phase::Clearing { revision: found.created };
        self.again = Some(context.now);
        self.work(context);
    }

    fn create(&mut self, context: &mut Context<'_>) {
        self.phase = Phase::Creating { unsure: false };
        self.again = Some(context.now);
        self.work(context);
    }

    /// The key may be made, now or later.
    fn create_unsure(&mut self) {
        self.late_on = self.home;
        self.phase = Phase::Creating { unsure: true };
    }

    /// The key is made.
    fn queue(&mut self, revision: Revision, context: &mut Context<'_>) {
        self.phase = Phase::Queued { revision, first: false };
        if context.config.fence(revision).is_none() {
            return self.leave(Objection::RevisionTooHigh { revision }.into(), context);
        }
        self.look(context);
    }

    fn look(&mut self, context: &mut Context<'_>) {
        self.again = Some(context.now);
        self.work(context);
    }

    /// Who is first, and who is just before us.
    fn on_first(
        &mut self,
        first: Option<KeyValue>,
        before: Option<KeyValue>,
        header: Header,
        context: &mut Context<'_>,
    ) {
        let Some(before) = before else {
            self.before = None;
            let key = self.key(context);
            // By its name, too: two puts of one transaction share a create revision (E9).
            let is_own =
                |first: &KeyValue| Some(first.created) == self.revision() && first.key == key;
            if first.as_ref().is_some_and(is_own) {
                return self.win(header, context);
            }
            return self.on_key_lost(context);
        };
        self.before = Some((before.key.clone(), before.created));
        if self.watch.as_ref().is_none_or(|watch| watch.key != before.key) {
            self.say_behind(&before.key, context);
            self.unwatch(context);
            self.watch(before.key, header.revision + 1, context);
        }
        self.look_later(context);
    }

    /// The key before the own one has to go first.
    fn say_behind(&self, key: &Bytes, context: &mut Context<'_>) {
        let namespace = &context.config.namespace;
        // A look tells keys without their leases.
        let waiting = match key::foreign(namespace, &self.election, key, None) {
            Some(foreign) => {
                let (key, why) = (key.to_string().into(), foreign.why());
                self.tell(OwnEvent::Foreign(Some(foreign)), context.out);
                Waiting::Foreign { key, why }
            }
            None => {
                let who = key::id(namespace, &self.election, key);
                Waiting::Behind { who, leading: false }
            }
        };
        self.tell(Event::Waiting(waiting), context.out);
    }

    /// The own key is not there, or not on the lease on which it was thought to be. On another one
    /// of ours it was moved, and the answer to that was lost; on one of somebody else it is not
    /// ours, even if somebody else made it.
    fn look_elsewhere(&mut self, own: Option<&KeyValue>, context: &mut Context<'_>) {
        let own = own.filter(|own| Some(own.created) == self.revision());
        let lease = own.and_then(|own| own.lease).filter(|_| self.fence().is_none());
        if lease == self.home || !context.session.owns(lease) {
            return self.on_key_lost(context);
        }
        self.home = lease;
        self.look(context);
    }

    /// The key before the own one is as it was made. Nobody comes in between, and one that is made
    /// anew is behind: it is still the one to wait for.
    fn wait_on(&mut self, header: Header, context: &mut Context<'_>) {
        if let Some((before, _)) = self.before.clone().filter(|_| self.watch.is_none()) {
            // Whatever ended the watch was told as what it waits for.
            self.say_behind(&before, context);
            self.watch(before, header.revision + 1, context);
        }
        self.look_later(context);
    }

    /// The key before the own one has gone, or the own one has.
    fn wait_no_longer(&mut self, own: Option<&KeyValue>, context: &mut Context<'_>) {
        self.before = None;
        match own.is_some_and(|own| Some(own.created) == self.revision()) {
            true => self.look(context),
            false => self.on_key_lost(context),
        }
    }

    /// Ruling 1: a candidate that waits looks again, whatever its watch says.
    fn look_later(&mut self, context: &Context<'_>) {
        let least = context.length().max(LOOK_AGAIN);
        let jitter = self.draw(least / 8, "look", context);
        self.again = Some(context.now.after(least + jitter));
    }

    /// Nobody is before us.
    fn win(&mut self, header: Header, context: &mut Context<'_>) {
        let Some(revision) = self.revision() else { return };
        let Some(fence) = context.config.fence(revision) else { return };
        let Some(until) = context.session.until(self.home, context.now) else {
            // The lease exists, but since when is not known: that comes first.
            context.session.hurry(context.now);
            self.phase = Phase::Queued { revision, first: true };
            return self.look_later(context);
        };
        self.unwatch(context);
        let key = self.key(context);
        self.watch(key.clone(), header.revision + 1, context);
        self.phase = Phase::Leading { revision, fence, settled: false };
        self.again = self.stale_value.then_some(context.now);
        let election = self.election.clone();
        context.out.push(Effect::Raise { election, until, fence: Some(fence) });
        let id = key::id(&context.config.namespace, &self.election, &key);
        self.tell(Event::Elected { id, fence: Some(fence) }, context.out);
        self.settle(until, (context.now, context.length()), context.out);
        if self.home != context.lease() {
            context.session.moves_first(&self.election);
        }
        self.work(context);
    }

    /// There is an E, which there was not when this candidate saw that it is first.
    pub(in crate::etcd) fn on_proven(&mut self, context: &mut Context<'_>) {
        let lacked_it = matches!(self.phase, Phase::Queued { first: true, .. });
        if lacked_it && self.call.is_none() {
            self.look(context);
        }
    }

    fn on_watched(&mut self, reply: Reply, context: &mut Context<'_>) {
        match reply {
            Reply::Watching => self.failures = 0,
            Reply::Changed(changes) => self.on_changes(&changes, context),
            // It has ended: what it would have told must be asked.
            reply => {
                self.watch = None;
                let doing = "watching a key";
                match reply {
                    Reply::Unknown { why } => {
                        self.tell(OwnEvent::Unsure { doing, why }, context.out)
                    }
                    Reply::Refused(refusal) => {
                        self.tell(OwnEvent::Obstacle { doing, refusal }, context.out);
                    }
                    _ => {}
                }
                self.pause(context);
            }
        }
    }

    fn on_changes(&mut self, changes: &[Change], context: &mut Context<'_>) {
        let Some(watched) = self.watch.as_ref().map(|watch| watch.key.clone()) else { return };
        let gone = changes
            .iter()
            .any(|change| matches!(change, Change::Deleted { key, .. } if *key == watched));
        match self.phase {
            Phase::Queued { .. } if gone => {
                self.before = None;
                self.unwatch(context);
                self.drop_call(context);
                // Who has left may have been in the middle (ruling 1).
                self.look(context);
            }
            Phase::Leading { revision, .. } => {
                let other = |change: &Change| match change {
                    Change::Deleted { revision: at, .. } => *at > revision,
                    Change::Put(kv) => kv.created != revision,
                    Change::TooLarge { .. } => false,
                };
                if changes.iter().any(other) {
                    return self.on_key_lost(context);
                }
                // It may be from before its lease was left, or somebody else has put the key on
                // another one: a read tells.
                let elsewhere = |change: &Change| match change {
                    Change::Deleted { .. } => false,
                    Change::Put(kv) => !context.session.owns(kv.lease),
                    Change::TooLarge { .. } => true,
                };
                if changes.iter().any(elsewhere) {
                    self.unwatch(context);
                    return self.look(context);
                }
                for change in changes {
                    if let Change::Put(kv) = change {
                        self.check_value(kv, context);
                    }
                }
            }
            Phase::Over => {
                for change in changes {
                    if let Change::Put(kv) = change {
                        return self.on_late_key(kv.created, kv.lease, context);
                    }
                }
            }
            _ => {}
        }
    }

    /// A confirmation found its key as it should be, but perhaps not its value.
    pub(in crate::etcd) fn on_confirmed(&mut self, own: &KeyValue, context: &mut Context<'_>) {
        if self.call.is_none() && self.revision() == Some(own.created) {
            self.check_value(own, context);
        }
    }

    /// A proclamation of unknown outcome may be carried out late, over a newer one.
    fn check_value(&mut self, own: &KeyValue, context: &mut Context<'_>) {
        let is_other = own.value != self.value.as_str().into();
        if self.fence().is_none() || !is_other {
            return;
        }
        let at = self.mended.map_or(context.now, |last| context.now.max(last.after(MEND_AGAIN)));
        match self.stale_value {
            false => (self.stale_value, self.mended, self.again) = (true, Some(at), Some(at)),
            // It is written when it was to be.
            true => self.again = self.again.or(self.mended).or(Some(context.now)),
        }
        self.work(context);
    }

    /// Whether its value is to be written, and may be by now, whatever else it was woken up for.
    pub(super) fn may_write(&self, now: Time) -> bool {
        self.stale_value && self.mended.is_none_or(|at| at <= now)
    }

    /// A create of ours may still be carried out, as long as its lease is there.
    fn sweep_later(&mut self, header: Header, context: &mut Context<'_>) {
        if self.watch.is_none() {
            let key = self.key(context);
            self.watch(key, header.revision + 1, context);
        }
        self.again = Some(context.now.after(context.length()));
    }

    /// A key that a create of ours made after we had left. It would hang the election for ever.
    fn on_late_key(
        &mut self,
        created: Revision,
        lease: Option<LeaseId>,
        context: &mut Context<'_>,
    ) {
        if self.phase != Phase::Over || !context.session.owns(lease) {
            return;
        }
        let key = self.key(context);
        self.tell(OwnEvent::LateKey { key }, context.out);
        self.drop_call(context);
        self.unwatch(context);
        self.phase = Phase::Leaving { revision: Some(created) };
        self.again = Some(context.now);
        self.work(context);
    }

    fn on_refused(&mut self, doing: Doing, refusal: Refusal, context: &mut Context<'_>) {
        let is_permanent = refusal.is_permanent();
        let contends = matches!(doing, Doing::Create | Doing::Clear | Doing::Look | Doing::Wait);
        if is_permanent && contends {
            return self.leave(Objection::Refused(refusal).into(), context);
        }
        // etcd may say of a write that there is no room for it after it was carried out, when the
        // quota was crossed in between.
        let full = matches!(refusal, Refusal::NoSpace { .. });
        if doing == Doing::Create && full {
            self.create_unsure();
        }
        self.tell(OwnEvent::Obstacle { doing: doing.words(), refusal }, context.out);
        self.stale_value |= doing == Doing::Proclaim;
        self.pause(context);
        if is_permanent && doing == Doing::Leave {
            // The key goes with the lease, as soon as nobody else needs that; or the right to
            // delete it is given back before.
            self.denied = true;
            self.again = self.again.max(Some(context.now.after(context.length() / 3)));
        }
    }
}
