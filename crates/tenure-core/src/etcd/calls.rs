//! What was asked of etcd and is not answered yet.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::message::{CallId, Header, Message, Op, Request, Revision};
use super::words::{Effect, Out, Store};
use crate::name::ElectionName;
use crate::time::Time;

/// Who asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Asker {
    Session,
    Candidate(ElectionName),
    Observer(ElectionName),
}

/// A call without an answer, or a watch that goes on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    pub(super) asker: Asker,
    /// The highest revision known when it was sent: a linearizable answer is not below.
    pub(super) floor: Revision,
    /// Which member had answered last before, and in which term.
    told: Option<(u64, u64)>,
    /// Until when it is waited for; `None` for a watch that is open.
    due: Option<Time>,
    is_watch: bool,
}

/// All of them. Bounded by what elections and sessions ask: a few for each.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<CallId, Call>,
    due: BTreeSet<(Time, CallId)>,
    /// The highest revision that etcd has named (ruling 7, E6).
    pub(super) seen: Revision,
    /// Which member answered last, and in which term.
    told: Option<(u64, u64)>,
    /// The latest term that is established (ruling 14, E3b): leaders of earlier ones get nothing
    /// carried out any more but what they forward to a later one.
    pub(super) term: Option<u64>,
}

impl Calls {
    /// Asks. Time counts from here: the clock was read before anything is sent.
    pub(super) fn ask(
        &mut self,
        (now, within): (Time, Duration),
        asker: Asker,
        op: Op,
        out: &mut Out,
    ) -> CallId {
        self.last += 1;
        let call = CallId(self.last);
        let due = now.after(within);
        let is_watch = matches!(op, Op::Watch { .. });
        self.open.insert(
            call,
            Call { asker, floor: self.seen, told: self.told, due: Some(due), is_watch },
        );
        self.due.insert((due, call));
        let message = Message::Request(Request { call, within, op });
        out.push(Effect::Send { to: Store, message });
        call
    }

    /// Whose call this is, and that it is answered. `last` when no other answer follows.
    pub(super) fn answered(&mut self, id: CallId, last: bool) -> Option<Call> {
        let call = self.open.get_mut(&id)?;
        if let Some(due) = call.due.take() {
            self.due.remove(&(due, id));
        }
        if last || !call.is_watch { self.open.remove(&id) } else { Some(call.clone()) }
    }

    /// What the header of an answer shows. A linearizable one establishes a term if its member had
    /// answered in that term before it was asked: one header alone proves nothing, for it is filled
    /// after the read.
    pub(super) fn learn(&mut self, call: &Call, header: Header, linearizable: bool) {
        let told = Some((header.member, header.term));
        if linearizable && call.told == told {
            self.term = self.term.max(Some(header.term));
        }
        self.told = told;
    }

    /// The store went back: nothing that was learned from it counts.
    pub(super) fn forget_terms(&mut self) {
        (self.told, self.term) = (None, None);
    }

    /// Nobody waits for this any more.
    pub(super) fn forget(&mut self, id: CallId) {
        if let Some(Call { due: Some(due), .. }) = self.open.remove(&id) {
            self.due.remove(&(due, id));
        }
    }

    /// Ends a watch.
    pub(super) fn unwatch(&mut self, watch: CallId, out: &mut Out) {
        if self.open.contains_key(&watch) {
            self.forget(watch);
            self.last += 1;
            let (call, within) = (CallId(self.last), Duration::ZERO);
            let message = Message::Request(Request { call, within, op: Op::Unwatch { watch } });
            out.push(Effect::Send { to: Store, message });
        }
    }

    /// A call that was not answered in time, and who asked. A watch that did not open is ended.
    pub(super) fn overdue(&mut self, now: Time, out: &mut Out) -> Option<(CallId, Asker)> {
        let (_, id) = *self.due.first().filter(|(due, _)| *due <= now)?;
        let Call { asker, is_watch, .. } = self.open.get(&id)?.clone();
        if is_watch {
            self.unwatch(id, out);
        }
        self.forget(id);
        Some((id, asker))
    }

    /// When the next one is overdue.
    pub(super) fn due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }
}
