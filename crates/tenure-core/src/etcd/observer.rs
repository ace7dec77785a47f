//! An observer reports the leader (ruling 9, E8): the present one first, then every change, and
//! always from etcd's answers. "To find out the current leader a client simply queries for all the
//! keys with the given election name as prefix. Then sort by creation key ascending. Then limit to
//! 1 response."

use alloc::vec;
use core::time::Duration;

use super::calls::{Asker, Calls};
use super::config::BACKOFF;
use super::context::Context;
use super::event::{Event, Ignored, OwnEvent};
use super::key::{self, Bytes, Foreign, Keys};
use super::message::{
    Act, Answer, CallId, Change, Header, KeyValue, Op, Pick, Read, Reply, Revision, Txn,
};
use super::words::{Out, emit};
use crate::deadlines::Booking;
use crate::name::ElectionName;
use crate::time::Time;
use crate::view::{LeaderView, View};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Observer {
    election: ElectionName,
    look: Option<CallId>,
    /// The revision of an event; only a query at this revision or later shows its effect.
    unexplained: Revision,
    watch: Option<CallId>,
    /// The leader's key, if known.
    leader: Option<KeyValue>,
    /// The revision of the last query. A watch may report older events late; these are dropped.
    read: Revision,
    reported: Option<View>,
    /// The foreign key that was reported to come first.
    foreign: Option<Foreign>,
    /// Whether a new subscriber waits for a view: the next view is then reported even if unchanged.
    owed: bool,
    /// The time of the next query, while no query is under way.
    again: Time,
    failures: u32,
    draws: u64,
    pub(super) booking: Booking,
}

impl Observer {
    pub(super) fn new(election: ElectionName, now: Time) -> Self {
        Self {
            election,
            look: None,
            unexplained: 0,
            watch: None,
            leader: None,
            read: 0,
            reported: None,
            foreign: None,
            owed: false,
            again: now,
            failures: 0,
            draws: 0,
            booking: Booking::default(),
        }
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.look.is_none().then_some(self.again)
    }

    pub(super) fn run_due(&mut self, context: &mut Context<'_>) {
        if self.due().is_some_and(|due| due <= context.now) {
            self.look(context);
        }
    }

    /// Queries the leader, in one linearizable read, unless a query is under way.
    fn look(&mut self, context: &mut Context<'_>) {
        if self.look.is_some() {
            return;
        }
        let read =
            Act::Read(Read { keys: self.keys(context), pick: Pick::First, keys_only: false });
        let txn = Txn { when: vec![], then: vec![read], otherwise: vec![] };
        let within = context.config.patience(context.config.ttl());
        let asker = Asker::Observer(self.election.clone());
        let op = Op::Txn(txn);
        self.look = Some(context.calls.ask(context.now, within, asker, op, context.out));
    }

    /// Queries the leader anew for another subscriber.
    pub(super) fn look_anew(&mut self, context: &mut Context<'_>) {
        if let Some(look) = self.look.take() {
            context.calls.forget(look);
        }
        self.owed = true;
        self.look(context);
    }

    pub(super) fn on_answer(&mut self, answer: Answer, context: &mut Context<'_>) {
        let Answer { call, header, reply } = answer;
        if self.watch == Some(call) {
            return self.on_watched(reply, context);
        }
        if self.look != Some(call) {
            return emit(Some(&self.election), OwnEvent::Ignored(Ignored::Unasked), context.out);
        }
        self.look = None;
        match (reply, header) {
            (Reply::Txn { mut found, .. }, Some(header)) if found.len() == 1 => {
                if self.watch.is_some() {
                    self.failures = 0;
                }
                self.again = context.now.after(self.every(context));
                self.leader = self.newer(found.pop().flatten(), header.revision);
                self.read = header.revision;
                if self.watch.is_none() {
                    self.watch(header, context);
                }
                self.tell_leader(context);
                if header.revision < self.unexplained {
                    self.look(context);
                }
            }
            (reply, _) => {
                self.doubt("asking who leads", reply, context);
                self.pause(context);
            }
        }
    }

    /// Returns the newer of the known and the found state of the leader's key. The watch may have
    /// reported changes after the query at `read`. A known state from before `read` is not newer,
    /// even with a higher revision: a restore brings old revisions back.
    fn newer(&self, found: Option<KeyValue>, read: Revision) -> Option<KeyValue> {
        let known = self.leader.as_ref().filter(|_| self.watch.is_some());
        match (known, found) {
            (Some(known), Some(found))
                if (&known.key, known.created) == (&found.key, found.created)
                    && known.modified > read =>
            {
                Some(known.clone())
            }
            (_, found) => found,
        }
    }

    fn on_watched(&mut self, reply: Reply, context: &mut Context<'_>) {
        match reply {
            Reply::Watching => self.failures = 0,
            Reply::Changed(changes) => self.on_changes(&changes, context),
            Reply::Compacted { .. } => {
                // The events in between are lost, so query the present state.
                self.watch = None;
                self.reset(context);
            }
            reply => {
                self.watch = None;
                self.doubt("watching who leads", reply, context);
                self.pause(context);
            }
        }
    }

    /// Handles the events of one revision, which come together: a revoked lease takes all its keys
    /// with it.
    fn on_changes(&mut self, changes: &[Change], context: &mut Context<'_>) {
        // The answer to an open query may be older than these changes.
        if self.look.is_some()
            && let Some(newest) = changes.iter().map(Change::revision).max()
        {
            self.unexplained = self.unexplained.max(newest);
        }
        let leader = self.leader.clone();
        let concerns = |change: &Change| match &leader {
            Some(leader) => *change.key() == leader.key,
            None => !matches!(change, Change::Deleted { .. }),
        };
        let is_news = |change: &Change| change.revision() > self.read;
        let news = changes.iter().filter(|change| is_news(change) && concerns(change));
        for change in news {
            match (change, &mut self.leader) {
                // The key is the same; its value or its lease has changed.
                (Change::Put(kv), Some(leader)) if kv.created == leader.created => {
                    *leader = kv.clone();
                }
                _ => {
                    self.unexplained = change.revision();
                    return self.look(context);
                }
            }
        }
        // While a query is open, or in doubt, report nothing: the known leader may have ended.
        if self.look.is_none() && matches!(self.reported, Some(View::Leader(_))) {
            self.tell_leader(context);
        }
    }

    /// Starts anew, because the store went back.
    pub(super) fn on_reset(&mut self, context: &mut Context<'_>) {
        self.stop(context.calls, context.out);
        self.unexplained = 0;
        self.reset(context);
    }

    /// Reports a gap, because events were missed; the next view is reported even if unchanged.
    fn reset(&mut self, context: &mut Context<'_>) {
        self.reported = None;
        emit(Some(&self.election), Event::Gap, context.out);
        self.look(context);
    }

    pub(super) fn stop(&mut self, calls: &mut Calls, out: &mut Out) {
        if let Some(look) = self.look.take() {
            calls.forget(look);
        }
        if let Some(watch) = self.watch.take() {
            calls.unwatch(watch, out);
        }
    }

    fn watch(&mut self, header: Header, context: &mut Context<'_>) {
        let op =
            Op::Watch { keys: self.keys(context), from: header.revision + 1, deletions: false };
        let within = context.config.patience(context.config.ttl());
        let asker = Asker::Observer(self.election.clone());
        self.watch = Some(context.calls.ask(context.now, within, asker, op, context.out));
    }

    fn tell_leader(&mut self, context: &mut Context<'_>) {
        let namespace = &context.config.namespace;
        let foreign = self.leader.as_ref().and_then(|KeyValue { key, lease, .. }| {
            key::foreign(namespace, &self.election, key, Some(lease.is_some()))
        });
        let view = match (&self.leader, &foreign) {
            // Another program's leader may not notice that its key has lost its lease, and goes on
            // leading. Or the program names its key in another way.
            (_, Some(foreign)) if foreign.may_lead() => self.unknown(context),
            (None, _) | (_, Some(_)) => View::Vacant,
            (Some(KeyValue { key, value, created, .. }), None) => {
                let id = key::id(namespace, &self.election, key);
                let known = LeaderView::new(id, value.clone().into());
                View::Leader(LeaderView { fence: context.config.fence(*created), ..known })
            }
        };
        if self.foreign != foreign {
            self.foreign.clone_from(&foreign);
            emit(Some(&self.election), OwnEvent::Foreign(foreign), context.out);
        }
        self.tell(view, context.out);
    }

    /// The view of an unknown leader, with the time of the first such report in a row.
    const fn unknown(&self, context: &Context<'_>) -> View {
        match self.reported {
            Some(View::Unknown { since }) => View::Unknown { since },
            _ => View::Unknown { since: context.now },
        }
    }

    /// Reports that the leader is unknown: a missing answer is no vacancy.
    fn doubt(&mut self, doing: &'static str, reply: Reply, context: &mut Context<'_>) {
        let event = match reply {
            Reply::Unknown { why } => OwnEvent::Unsure { doing, why },
            Reply::Refused(refusal) => OwnEvent::Obstacle { doing, refusal },
            _ => OwnEvent::Ignored(Ignored::Misfit),
        };
        emit(Some(&self.election), event, context.out);
        self.tell(self.unknown(context), context.out);
    }

    fn tell(&mut self, view: View, out: &mut Out) {
        let owed = core::mem::take(&mut self.owed);
        if owed || self.reported.as_ref() != Some(&view) {
            self.reported = Some(view.clone());
            emit(Some(&self.election), Event::View(view.into()), out);
        }
    }

    fn pause(&mut self, context: &Context<'_>) {
        self.failures = self.failures.saturating_add(1);
        let pause = BACKOFF.pause(self.failures, |bound| self.draw(bound, "pause", context));
        self.again = context.now.after(pause);
    }

    /// The interval of queries while nothing changes. Without queries an observer might wait for
    /// ever: a watch from a revision that a restored store has not reached yet is silent.
    fn every(&mut self, context: &Context<'_>) -> Duration {
        let every = context.config.lease.max(Duration::from_secs(10));
        every + self.draw(every / 8, "look", context)
    }

    fn draw(&mut self, bound: Duration, purpose: &'static str, context: &Context<'_>) -> Duration {
        self.draws += 1;
        context.draw.span(bound, self.election.as_str(), purpose, self.draws)
    }

    fn keys(&self, context: &Context<'_>) -> Keys {
        let prefix: Bytes = key::prefix(&context.config.namespace, &self.election);
        Keys::Prefix(prefix)
    }
}
