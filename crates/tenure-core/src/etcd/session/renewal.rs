//! How the lease is renewed: a keep-alive, and an entry of the log that reads own keys.

use alloc::vec::Vec;

use super::super::config::BACKOFF;
use super::super::context::Context;
use super::super::event::{Lost, OwnEvent};
use super::super::message::{Act, CallId, Compare, Header, Op, Reply, Txn};
use super::super::words::emit;
use super::{Alive, Found, Lease, Own, Phase, Renewal, Session, SessionEvent, third};
use crate::backoff::Backoff;
use crate::name::ElectionName;
use crate::time::Time;

impl Session {
    pub(super) fn on_alive(
        &mut self,
        sent: Time,
        header: Option<Header>,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let doing = "renewing the lease";
        match (reply, header) {
            (Reply::Alive { ttl: Some(ttl) }, Some(Header { term, .. })) if ttl > 0 => {
                let Phase::Open(lease) = &mut self.phase else { return SessionEvent::Nothing };
                lease.ttl = ttl;
                let (alive, asked) = (Alive { sent, ttl, term }, Vec::new());
                let (call, witness) = (CallId::default(), 0);
                lease.renewal = Renewal::Confirming { call, alive, asked, witness };
                return SessionEvent::Answered;
            }
            // Not an error of etcd's: it answers without a TTL (ruling 3, E2).
            (Reply::Alive { ttl: None } | Reply::LeaseGone, _) => {
                return SessionEvent::Lost(Lost::LeaseGone);
            }
            // It renews nothing, and E stands (ruling 11, E10).
            (Reply::Refused(refusal), _) => {
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            (reply, _) => context.unsure(doing, reply),
        }
        self.rest(true, context);
        SessionEvent::Nothing
    }

    /// Reads keys of ours: only that shows that the member which answered a keep-alive was not
    /// one that is cut off or stuck (ruling 4, E3).
    pub(in crate::etcd) fn confirm(&mut self, own: Vec<Own>, context: &mut Context<'_>) {
        let Self { phase, old, .. } = self;
        let Phase::Open(Lease { proven, promised, renewal, .. }) = phase else { return };
        let Renewal::Confirming { alive, .. } = *renewal else { return };
        let end = alive.sent.after(context.config.proven(alive.ttl));
        if !own.is_empty() {
            return self.read(alive, own, context);
        }
        // Nobody can lead by it, but keys can be made. What was proven before bears no claim any
        // more, unless a leader comes from the lease before: the first key proves the lease anew.
        *promised = end.max(*promised);
        let leads_elsewhere = old.iter().any(|old| old.proven.is_some());
        if !leads_elsewhere {
            *proven = None;
        }
        self.rest(false, context);
        if let Phase::Open(Lease { renewal: Renewal::Idle { bare, .. }, .. }) = &mut self.phase {
            *bare = Some(alive);
        }
    }

    /// Whether there was no key to confirm the last keep-alive.
    pub(in crate::etcd) const fn is_unconfirmed(&self) -> bool {
        matches!(
            self.phase,
            Phase::Open(Lease { renewal: Renewal::Idle { bare: Some(_), .. }, .. })
        )
    }

    /// There are keys that confirm it now.
    pub(in crate::etcd) fn confirm_late(&mut self, own: Vec<Own>, context: &mut Context<'_>) {
        let Phase::Open(Lease { renewal, .. }) = &self.phase else { return };
        if let Renewal::Idle { bare: Some(alive), .. } = *renewal {
            self.read(alive, own, context);
        }
    }

    /// If there is no key of ours, delete it, else read: what may write goes through Raft, whatever
    /// it does, and a deletion needs no room. Only an entry of the log cannot hide its term: of one
    /// that was brought up to date with a snapshot a header says an earlier one until then.
    fn read(&mut self, alive: Alive, own: Vec<Own>, context: &mut Context<'_>) {
        let read = |(.., key, _): &Own| Act::read(key.clone());
        // One that may not be written does not stand in the way for long.
        let witness = (self.failures as usize).checked_rem(own.len()).unwrap_or(0);
        let reads: Vec<Act> = own.iter().map(read).collect();
        let mut txn = Txn { when: Vec::new(), then: reads, otherwise: Vec::new() };
        if let Some((_, key, _)) = own.get(witness) {
            txn.when.push(Compare::Created { key: key.clone(), revision: 0 });
            txn.otherwise.clone_from(&txn.then);
            txn.then.remove(witness);
            txn.then.insert(0, Act::Delete { key: key.clone() });
        }
        let asked: Vec<_> = own.into_iter().map(|(name, _, created)| (name, created)).collect();
        self.cursor = asked.last().map(|(name, _)| name.clone());
        let within = context.config.patience(alive.ttl);
        let call = context.ask(within, Op::Txn(txn));
        if let Phase::Open(Lease { renewal, .. }) = &mut self.phase {
            *renewal = Renewal::Confirming { call, alive, asked, witness };
        }
    }

    /// After which election the next confirmation begins.
    pub(in crate::etcd) const fn cursor(&self) -> Option<&ElectionName> {
        self.cursor.as_ref()
    }

    pub(super) fn on_read(
        &mut self,
        header: Option<Header>,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let doing = "confirming a renewal";
        let Phase::Open(Lease { renewal, .. }) = &mut self.phase else {
            return SessionEvent::Nothing;
        };
        let Renewal::Confirming { alive, asked, witness, .. } = renewal else {
            return SessionEvent::Nothing;
        };
        let reply = with_the_witness(reply, *witness);
        match (reply, header) {
            (Reply::Txn { found, .. }, Some(header)) if found.len() == asked.len() => {
                // Another leader may not know of the renewal (E3).
                if header.term != alive.term {
                    self.rest(true, context);
                    return SessionEvent::Nothing;
                }
                let asked = core::mem::take(asked).into_iter().zip(found);
                let found = asked.map(|((election, asked), kv)| Found { election, asked, kv });
                return SessionEvent::Found(found.collect());
            }
            (Reply::Refused(refusal), _) => {
                let count = asked.len();
                // The keep-alive before it still counts.
                if self.takes_fewer(&refusal, count) {
                    return SessionEvent::Answered;
                }
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            (reply, _) => context.unsure(doing, reply),
        }
        self.rest(true, context);
        SessionEvent::Nothing
    }

    /// The confirmation found at least one key as it should be, or none. Whether E moved.
    pub(in crate::etcd) fn confirmed(&mut self, alive: bool, context: &mut Context<'_>) -> bool {
        let Phase::Open(Lease { term, proven, promised, renewal, .. }) = &mut self.phase else {
            return false;
        };
        let Renewal::Confirming { alive: Alive { sent, ttl, term: renewed }, .. } = renewal else {
            return false;
        };
        // Leaders of earlier terms know the lease, and may revoke it late (ruling 14, E3b).
        let counts = renewed == term;
        let end = sent.after(context.config.proven(*ttl));
        let moved =
            alive && counts && context.now < end && proven.is_none_or(|proven| proven < end);
        if moved {
            *proven = Some(end);
            *promised = end.max(*promised);
        }
        self.rest(!alive, context);
        moved
    }

    /// Until the next keep-alive: a third of the TTL after the last one, or sooner after a
    /// failure.
    fn rest(&mut self, failed: bool, context: &Context<'_>) {
        let failures = if failed { self.failures.saturating_add(1) } else { 0 };
        self.failures = failures;
        let Phase::Open(Lease { ttl, renewal, .. }) = &self.phase else { return };
        let (ttl, renewal) = (*ttl, renewal.clone());
        let until = match renewal {
            _ if failed => {
                let backoff = Backoff { longest: third(ttl), ..BACKOFF };
                context.now.after(context.pause(failures, backoff, "renewal"))
            }
            Renewal::KeepAliveSent { sent, .. }
            | Renewal::Confirming { alive: Alive { sent, .. }, .. } => {
                sent.after(self.rest_for(ttl, context))
            }
            Renewal::Idle { until, .. } => until,
        };
        let Phase::Open(Lease { renewal, .. }) = &mut self.phase else { return };
        *renewal = Renewal::Idle { until: until.max(context.now), bare: None };
    }
}

/// A key that was to be deleted if it is not there was not read: it is not there.
fn with_the_witness(reply: Reply, witness: usize) -> Reply {
    match reply {
        Reply::Txn { succeeded: true, mut found } => {
            found.insert(witness.min(found.len()), None);
            Reply::Txn { succeeded: true, found }
        }
        reply => reply,
    }
}
