//! Watches: each on one member, from a revision on, event by event, one revision at a time.

use std::collections::BTreeMap;

use tenure_core::Effect;
use tenure_core::etcd::{Answer, CallId, Change, Header, Keys, Op, Reply, Revision};

use super::{Ask, Cluster, MS, Out, unknown};
use crate::etcd::packet::{Packet, Place};

/// The time without a leader after which a member ends watches that require a leader.
const LONELY: u64 = 3_000 * MS;

/// An open watch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Stream {
    member: usize,
    keys: Keys,
    deletions: bool,
    /// First unreported revision.
    next: Revision,
    /// Number of answers.
    told: u32,
}

/// Key of a stream: a watch of one life of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct StreamId {
    pub(super) node: usize,
    pub(super) life: u64,
    pub(super) call: CallId,
}

impl Cluster {
    /// Opens a watch, if its first revision is still known.
    pub(super) fn open(&mut self, ask: &Ask, out: &mut Out) {
        let Op::Watch { keys, from, deletions } = &ask.request.op else { return };
        let id = StreamId { node: ask.node, life: ask.life, call: ask.request.call };
        let member = ask.member;
        let header = self.header(ask.member);
        let keys = keys.clone();
        let next = *from;
        let mut stream = Stream { member, keys, deletions: *deletions, next, told: 0 };
        let state = &self.members[member].state;
        if next <= state.compacted {
            let revision = state.compacted + 1;
            return send(id, &mut stream, header, Reply::Compacted { revision }, out);
        }
        send(id, &mut stream, header, Reply::Watching, out);
        // A process has one life at a time: drop the streams of earlier lives.
        self.streams.retain(|other, _| other.node != id.node || other.life == id.life);
        self.streams.insert(id, stream);
        self.pour(member, next, out);
    }

    /// Reports a member's changes from a revision on.
    pub(super) fn pour(&mut self, member: usize, from: Revision, out: &mut Out) {
        let header = self.header(member);
        let state = &self.members[member].state;
        for (revision, changes) in state.since(from) {
            for (id, stream) in &mut self.streams {
                if stream.member != member || revision < stream.next {
                    continue;
                }
                let concerns = |change: &&Change| {
                    let is_told = matches!(change, Change::Deleted { .. }) || !stream.deletions;
                    is_told && stream.keys.contains(change.key())
                };
                let told: Vec<Change> = changes.iter().filter(concerns).cloned().collect();
                stream.next = revision + 1;
                if !told.is_empty() {
                    let header = Header { revision, ..header };
                    send(*id, stream, header, Reply::Changed(told), out);
                }
            }
        }
    }

    /// Ends the streams of a member, with a message to each client.
    pub(super) fn end_streams(&mut self, member: usize, why: &str, out: &mut Out) {
        let header = self.header(member);
        for (id, stream) in &mut self.streams {
            if stream.member == member {
                send(*id, stream, header, unknown(why), out);
            }
        }
        self.streams.retain(|_, stream| stream.member != member);
    }

    /// Sends signs of life, and ends streams that require a leader and have none.
    pub(super) fn beat(&mut self, out: &mut Out) {
        for member in 0..self.members.len() {
            let lonely = self.members[member].lonely;
            if lonely.is_some_and(|since| since + LONELY < self.now) {
                self.end_streams(member, "etcdserver: no leader", out);
            }
        }
        let mut open: BTreeMap<(usize, u64), Vec<(CallId, u32)>> = BTreeMap::new();
        for (StreamId { node, life, call }, stream) in &self.streams {
            open.entry((*node, *life)).or_default().push((*call, stream.told));
        }
        for ((node, life), open) in open {
            let message = Packet::Streams { life, open };
            out.push(Effect::Send { to: Place(node), message });
        }
    }
}

fn send(id: StreamId, stream: &mut Stream, header: Header, reply: Reply, out: &mut Out) {
    stream.told += 1;
    let answer = Answer { call: id.call, header: Some(header), reply };
    let message = Packet::Tell { life: id.life, answer, nth: Some(stream.told) };
    out.push(Effect::Send { to: Place(id.node), message });
}
