//! Requests, and their failures at a member.

use tenure_core::etcd::{
    Act, CallId, Compare, Header, KeyValue, Op, Refusal, Reply, Revision, Txn,
};

use super::note::Cause;
use super::state::{Entry, is_linearizable, no_space, operations, writes};
use super::streams::StreamId;
use super::{Ask, Cluster, MS, Out, PendingReply, Task, answer, unknown};

/// Time limit of a write without a leader.
const WRITE_FAILS: u64 = 7_000 * MS;
/// Time limit of a read without a leader.
const READ_FAILS: u64 = 10_000 * MS;
/// Salts of draws.
const LATENCY: u64 = 11;
const ORPHAN: u64 = 12;
const ANYWAY: u64 = 13;
/// The interval at which the stranger reads values. The next constant is the value that it writes.
const ARGUES: u64 = 50 * MS;
const ARGUED: &str = "argued";
/// The shortest granted lease, in seconds.
const TTL_MIN: u32 = 2;

impl Cluster {
    /// Handles a request at a member.
    pub(super) fn receive(&mut self, ask: Ask, out: &mut Out) {
        if let Op::Unwatch { watch } = ask.request.op {
            self.streams.remove(&StreamId { node: ask.node, life: ask.life, call: watch });
            return;
        }
        if self.members[ask.member].dead > self.now {
            return answer(&ask, None, unknown("connection refused"), out);
        }
        if self.members[ask.member].stopped > self.now {
            return;
        }
        if self.denied.get(&ask.node).is_some_and(|until| *until > self.now) {
            let said = "etcdserver: permission denied".into();
            return answer(&ask, None, Reply::Refused(Refusal::Denied { said }), out);
        }
        let latency = self.latency(&ask);
        match &ask.request.op {
            Op::Txn(txn) if operations(txn) > self.setting.operations => {
                let said = "etcdserver: too many operations in txn request".into();
                let refused = Reply::Refused(Refusal::TooManyOperations { said });
                answer(&ask, None, refused, out);
            }
            Op::Watch { .. } => self.open(&ask, out),
            Op::KeepAlive { lease } => {
                let lease = *lease;
                let header = self.header(ask.member);
                let Some(leader) = self.leader_of(ask.member) else { return };
                self.plan(latency, Task::Renew { ask, header, leader, lease });
            }
            // A serializable read is served from the member's own state, however old (ruling 2).
            Op::Txn(txn) if !is_linearizable(txn) => {
                let member = &self.members[ask.member];
                answer(&ask, Some(self.header(ask.member)), member.state.look(txn), out);
            }
            Op::Txn(_) | Op::Grant { .. } | Op::Revoke { .. } | Op::Unwatch { .. } => {
                self.plan(latency, Task::Serve(ask));
            }
        }
    }

    fn latency(&self, ask: &Ask) -> u64 {
        self.span(LATENCY ^ ask.life, ask.request.call.0, self.setting.latency)
    }

    /// Passes the request to the leader, if there is one.
    pub(super) fn serve(&mut self, ask: Ask, out: &mut Out) {
        if self.members[ask.member].dead > self.now {
            return answer(&ask, None, unknown("connection reset"), out);
        }
        if self.leader.is_none() || !self.takes_part(ask.member) {
            return self.hang(ask);
        }
        let entry = match &ask.request.op {
            Op::Txn(txn) if !writes(txn) => None,
            Op::Txn(txn) => Some(Entry::Txn(txn.clone())),
            Op::Grant { lease, ttl } => Some(Entry::Grant(*lease, (*ttl).max(TTL_MIN))),
            Op::Revoke { lease } => Some(Entry::Revoke(*lease)),
            Op::KeepAlive { .. } | Op::Watch { .. } | Op::Unwatch { .. } => return,
        };
        let cause = Cause::Asked { node: ask.node };
        let Some(ask) = self.happens(ask, out) else { return };
        let reply = entry.map(|entry| self.write(&ask, entry, cause, out));
        let member = ask.member;
        let index = self.index();
        self.waiting.push(PendingReply { ask, index, reply });
        self.answer_waiting(member, out);
    }

    /// Commits a client's entry. Once the quota is used up, etcd sometimes carries out a write and
    /// answers that it refused the write for lack of room. This happens between the write that
    /// reaches the quota and the alarm, and after an operator disarms the alarm without making
    /// room.
    fn write(&mut self, ask: &Ask, entry: Entry, cause: Cause, out: &mut Out) -> (Reply, Revision) {
        let drawn = self.draw(ANYWAY ^ ask.life, ask.request.call.0).is_multiple_of(3);
        if !self.truth.full || !entry.needs_room() || !drawn {
            return self.commit(&entry, cause, out);
        }
        match self.commit(&Entry::Anyway(Box::new(entry)), cause, out) {
            (Reply::Txn { .. } | Reply::Granted { .. }, revision) => (no_space(), revision),
            other => other,
        }
    }

    /// Writes the stranger's value into the first key of each election, twenty times a second, as
    /// long as the fault lasts.
    pub(super) fn argue(&mut self, out: &mut Out) {
        if self.now >= self.argued {
            return;
        }
        self.plan(ARGUES, Task::Argue);
        if self.leader.is_none() {
            return;
        }
        let is_other = |kv: &&KeyValue| kv.value != ARGUED.into();
        let others: Vec<KeyValue> = self.truth.firsts().filter(is_other).cloned().collect();
        for KeyValue { key, created, .. } in others {
            let when = vec![Compare::Created { key: key.clone(), revision: created }];
            let then = vec![Act::Proclaim { key, value: ARGUED.into() }];
            let txn = Txn { when, then, otherwise: Vec::new() };
            self.commit(&Entry::Txn(txn), Cause::Meddled, out);
        }
    }

    /// Answers requests whose entries a member has applied.
    pub(super) fn answer_waiting(&mut self, member: usize, out: &mut Out) {
        let applied = self.members[member].applied;
        let is_done = |w: &mut PendingReply| w.ask.member == member && w.index <= applied;
        let done: Vec<PendingReply> = self.waiting.extract_if(.., is_done).collect();
        for PendingReply { ask, reply, .. } in done {
            let header = self.header(member);
            match reply {
                Some((reply, revision)) => {
                    // An error needs no applied entry.
                    let is_error =
                        matches!(reply, Reply::Refused(_) | Reply::LeaseGone | Reply::LeaseExists);
                    let header = (!is_error).then_some(Header { revision, ..header });
                    answer(&ask, header, reply, out);
                }
                None => {
                    let look = |txn: &Txn| self.members[member].state.look(txn);
                    if let Op::Txn(txn) = &ask.request.op {
                        answer(&ask, Some(header), look(txn), out);
                    }
                }
            }
        }
    }

    /// Lets the request hang: no leader can serve it now.
    fn hang(&mut self, ask: Ask) {
        let is_read = matches!(&ask.request.op, Op::Txn(txn) if !writes(txn));
        let fails = ask.arrived + if is_read { READ_FAILS } else { WRITE_FAILS };
        let Ask { node, life, .. } = ask;
        let give_up = Task::GiveUp { node, life, call: ask.request.call };
        self.plan(fails.saturating_sub(self.now), give_up);
        self.hung.push(ask);
    }

    /// Tries the hanging requests again.
    pub(super) fn go_on(&mut self) {
        for ask in std::mem::take(&mut self.hung) {
            let latency = self.latency(&ask);
            self.plan(latency, Task::Serve(ask));
        }
    }

    /// Gives up a request of a client: the request may still be carried out.
    pub(super) fn give_up(&mut self, node: usize, life: u64, call: CallId, out: &mut Out) {
        let is_it =
            |ask: &Ask| (ask.node, ask.life, ask.request.call) == (node, life, call) && ask.awaited;
        let Some(nth) = self.hung.iter().position(is_it) else { return };
        let mut ask = self.hung.swap_remove(nth);
        answer(&ask, None, unknown("etcdserver: request timed out"), out);
        let is_read = matches!(&ask.request.op, Op::Txn(txn) if !writes(txn));
        if !is_read && self.draw(ORPHAN ^ life, call.0).is_multiple_of(3) {
            ask.awaited = false;
            self.hung.push(ask);
        }
    }
}
