//! A foreign candidate, as `etcdctl elect` and Go's client leave it in the store.
//!
//! The candidate makes its key as these two programs do, keeps the key for a while, and leaves in
//! any way in which a program can end. Checks use only the key, and not the candidate's beliefs.

use std::time::Duration;

use tenure_core::etcd::{
    Act, Answer, Bytes, CallId, Compare, LeaseId, Op, Reply, Request, Revision, Txn,
};
use tenure_core::{Deadline, Effect, ElectionName, Input, Time};

use super::packet::{Order, Packet, Place};
use super::store::MEMBERS;
use super::words::{Out, Words};
use crate::rng::mix;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Idle,
    /// The candidate has asked for a lease, or for its key.
    Asking {
        due: Time,
    },
    /// The candidate has its key.
    Holding {
        created: Revision,
        until: Time,
        beat: Time,
    },
}

/// A foreign process with one candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Foreign {
    store: Place,
    node: usize,
    life: u64,
    /// Length of its leases, in seconds.
    ttl: u32,
    election: Option<ElectionName>,
    lease: LeaseId,
    calls: u64,
    phase: Phase,
}

impl Foreign {
    #[must_use]
    pub const fn new(store: usize, ttl: u32) -> Self {
        let election = None;
        let lease = LeaseId(0);
        let phase = Phase::Idle;
        Self { store: Place(store), node: 0, life: 0, ttl, election, lease, calls: 0, phase }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let at = match self.phase {
            Phase::Idle => return None,
            Phase::Asking { due } => due,
            Phase::Holding { until, beat, .. } => until.min(beat),
        };
        Some(Deadline { at, why: "a foreign candidate" })
    }

    pub(super) fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Out) {
        match input {
            Input::Start(begin) => {
                self.life = begin.life;
                self.node = begin.node;
            }
            Input::Command { election, command: Order::Contend } if self.phase == Phase::Idle => {
                self.election = Some(election);
                let id = mix(self.life ^ mix(self.calls)) >> 1;
                self.lease = LeaseId(id.max(1).cast_signed());
                self.phase = Phase::Asking { due: now.after(PATIENCE) };
                self.ask(Op::Grant { lease: self.lease, ttl: self.ttl }, out);
            }
            Input::Message { message: Packet::Tell { life, answer, .. }, .. }
                if life == self.life && answer.call == CallId(self.calls) =>
            {
                self.hear(now, answer, out);
            }
            Input::Timeout => self.work(now, out),
            _ => {}
        }
    }

    fn hear(&mut self, now: Time, answer: Answer, out: &mut Out) {
        let Phase::Asking { .. } = self.phase else { return };
        match answer.reply {
            Reply::Granted { .. } => {
                let key = self.key();
                let lease = self.lease;
                let value = "foreign".into();
                let read = Act::read(key.clone());
                let txn = Txn {
                    when: vec![Compare::Created { key: key.clone(), revision: 0 }],
                    then: vec![Act::Put { key, value, lease }],
                    otherwise: vec![read],
                };
                self.ask(Op::Txn(txn), out);
            }
            Reply::Txn { succeeded: true, .. } => {
                let created = answer.header.map_or(0, |header| header.revision);
                let ttl = u64::from(self.ttl) * 1_000_000_000;
                let stays = self.draw() % (3 * ttl);
                let until = now.after(Duration::from_nanos(stays));
                self.phase = Phase::Holding { created, until, beat: now.after(self.third()) };
            }
            // The application starts the candidate again; the lease ends without a revocation.
            _ => self.phase = Phase::Idle,
        }
    }

    fn work(&mut self, now: Time, out: &mut Out) {
        match self.phase {
            Phase::Asking { due } if due <= now => self.phase = Phase::Idle,
            Phase::Holding { created, until, .. } if until <= now => {
                self.phase = Phase::Idle;
                let key = self.key();
                match self.draw() % 3 {
                    // The candidate resigns, and revokes its lease.
                    0 => {
                        let key_is = Compare::Created { key: key.clone(), revision: created };
                        let when = vec![key_is];
                        let otherwise = Vec::new();
                        let then = vec![Act::Delete { key }];
                        self.ask(Op::Txn(Txn { when, then, otherwise }), out);
                        self.ask(Op::Revoke { lease: self.lease }, out);
                    }
                    // The candidate ends its session, and does not resign.
                    1 => self.ask(Op::Revoke { lease: self.lease }, out),
                    // The candidate dies without a message.
                    _ => {}
                }
            }
            Phase::Holding { created, until, beat } if beat <= now => {
                self.ask(Op::KeepAlive { lease: self.lease }, out);
                self.phase = Phase::Holding { created, until, beat: now.after(self.third()) };
            }
            _ => {}
        }
    }

    fn third(&self) -> Duration {
        Duration::from_secs(u64::from(self.ttl)) / 3
    }

    const fn draw(&self) -> u64 {
        mix(self.life ^ mix(self.calls ^ 1 << 40))
    }

    fn key(&self) -> Bytes {
        let election = self.election.as_ref().map_or("", ElectionName::as_str);
        format!("{election}/{}", self.lease).as_str().into()
    }

    fn ask(&mut self, op: Op, out: &mut Out) {
        self.calls += 1;
        let request = Request { call: CallId(self.calls), within: PATIENCE, op };
        let member = self.node % MEMBERS;
        let message = Packet::Ask { life: self.life, member, request };
        out.push(Effect::Send { to: self.store, message });
    }
}
