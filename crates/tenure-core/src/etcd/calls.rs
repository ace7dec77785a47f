//! Calls to etcd without an answer yet: when a call is overdue, and which term an answer
//! establishes.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use super::message::{CallId, Header, Message, Op, Request, Revision};
use super::words::{Effect, Out, Store};
use crate::name::ElectionName;
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Asker {
    Session,
    Candidate(ElectionName),
    Observer(ElectionName),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MemberTerm {
    member: u64,
    term: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Call {
    pub(super) asker: Asker,
    /// The highest revision that was known at the send. A linearizable answer must not be below it.
    pub(super) floor: Revision,
    /// The member that gave the last answer before the send, and its term.
    last: Option<MemberTerm>,
    /// The time at which the wait for an answer ends; `None` for an open watch.
    due: Option<Time>,
    is_watch: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: BTreeMap<CallId, Call>,
    due: BTreeSet<(Time, CallId)>,
    /// The highest revision that etcd has named (ruling 7, E6).
    pub(super) seen: Revision,
    last_member: Option<MemberTerm>,
    /// The latest established term (ruling 14, E3b). A leader of an earlier term can bring entries
    /// into the log only through a later leader.
    pub(super) term: Option<u64>,
}

impl Calls {
    /// Sends a call. The wait for its answer begins at `now`, a time before the send.
    pub(super) fn ask(
        &mut self,
        now: Time,
        within: Duration,
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
            Call { asker, floor: self.seen, last: self.last_member, due: Some(due), is_watch },
        );
        self.due.insert((due, call));
        let message = Message::Request(Request { call, within, op });
        out.push(Effect::Send { to: Store, message });
        call
    }

    /// Removes an answered call and returns it. If `last` is false, more answers follow, and the
    /// call stays.
    pub(super) fn answered(&mut self, id: CallId, last: bool) -> Option<Call> {
        let call = self.open.get_mut(&id)?;
        if let Some(due) = call.due.take() {
            self.due.remove(&(due, id));
        }
        if last || !call.is_watch { self.open.remove(&id) } else { Some(call.clone()) }
    }

    /// Takes in the header of an answer. A linearizable answer establishes a term if its member had
    /// answered in that term before the call was sent. A header alone proves nothing: etcd fills it
    /// after the read.
    pub(super) fn learn(&mut self, call: &Call, header: Header, linearizable: bool) {
        let member = Some(MemberTerm { member: header.member, term: header.term });
        if linearizable && call.last == member {
            self.term = self.term.max(Some(header.term));
        }
        self.last_member = member;
    }

    /// Forgets the established term, because the store went back.
    pub(super) fn forget_terms(&mut self) {
        self.last_member = None;
        self.term = None;
    }

    pub(super) fn forget(&mut self, id: CallId) {
        if let Some(Call { due: Some(due), .. }) = self.open.remove(&id) {
            self.due.remove(&(due, id));
        }
    }

    pub(super) fn unwatch(&mut self, watch: CallId, out: &mut Out) {
        if self.open.contains_key(&watch) {
            self.forget(watch);
            self.last += 1;
            let call = CallId(self.last);
            let within = Duration::ZERO;
            let message = Message::Request(Request { call, within, op: Op::Unwatch { watch } });
            out.push(Effect::Send { to: Store, message });
        }
    }

    /// Removes a call that was not answered in time, and returns it with its sender. A watch that
    /// did not open in time ends.
    pub(super) fn overdue(&mut self, now: Time, out: &mut Out) -> Option<(CallId, Asker)> {
        let (_, id) = *self.due.first().filter(|(due, _)| *due <= now)?;
        let Call { asker, is_watch, .. } = self.open.get(&id)?.clone();
        if is_watch {
            self.unwatch(id, out);
        }
        self.forget(id);
        Some((id, asker))
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }
}
