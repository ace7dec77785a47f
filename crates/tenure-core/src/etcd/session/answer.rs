//! The meaning of each answer of etcd for a session's leases: renewed, gone, confirmed in another
//! term.

use super::grant::{Grant, GrantOutcome};
use super::lease::{Alive, Lease, OldLease, Renewal, third};
use super::outcome::SessionEvent;
use super::own_keys::pair;
use super::{Session, SessionPhase};
use crate::etcd::context::Context;
use crate::etcd::event::{Lost, OwnEvent};
use crate::etcd::message::{Answer, Header, Reply};
use crate::etcd::words::emit;
use crate::time::Time;

/// The maximum number of leases of earlier terms with keys on them. After so many terms without
/// moving all keys the session gives up.
const OLD_MAX: usize = 8;

impl Session {
    pub(in crate::etcd) fn on_answer(
        &mut self,
        answer: Answer,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let Answer { call, header, reply } = answer;
        if self.retired.on_answer(call, &reply, context) {
            return SessionEvent::Nothing;
        }
        if self.shift.is(call) {
            return self.on_moved(reply, context);
        }
        if self.given.as_ref().is_some_and(|given| given.call == Some(call)) {
            return self.on_given_answer(reply, context);
        }
        if self.next.as_ref().is_some_and(|next| next.is(call)) {
            return self.on_next_answer(reply, context);
        }
        match &mut self.phase {
            SessionPhase::Establishing { call: asked, .. } if *asked == Some(call) => {
                self.on_established(reply, context)
            }
            SessionPhase::Granting(grant) if grant.is(call) => self.on_first_answer(reply, context),
            SessionPhase::Open(Lease {
                renewal: Renewal::KeepAliveSent { call: asked, sent },
                ..
            }) if *asked == call => {
                let sent = *sent;
                self.on_alive(sent, header, reply, context)
            }
            SessionPhase::Open(Lease {
                renewal: Renewal::Confirming { call: asked, .. }, ..
            }) if *asked == call => self.on_read(header, reply, context),
            _ => SessionEvent::Nothing,
        }
    }

    fn on_given_answer(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let ours = self.lease().map(|lease| lease.ttl);
        let Some(given) = &mut self.given else { return SessionEvent::Nothing };
        given.call = None;
        let is_first = matches!(self.phase, SessionPhase::Checking);
        let doing = "asking how long a lease lasts";
        match reply {
            Reply::Alive { ttl: Some(ttl) } if ttl > 0 => {
                // Ask within a third of this session's lease, so that a revocation by another
                // process is noticed in time.
                let rest = third(ours.unwrap_or(ttl).min(ttl));
                given.ttl = ttl;
                given.again = context.now.after(rest);
                if is_first {
                    self.name = Some(given.lease);
                    self.phase = SessionPhase::Establishing { call: None, again: context.now };
                    self.on_term(context);
                    self.run_due(context);
                }
                SessionEvent::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone if is_first => {
                self.given = None;
                self.phase = SessionPhase::Idle;
                self.want(context);
                SessionEvent::Nothing
            }
            Reply::Alive { .. } | Reply::LeaseGone => {
                self.given = None;
                SessionEvent::Lost(Lost::LeaseGone)
            }
            reply => {
                given.again = context.again(&mut self.failures, "lease");
                match reply {
                    Reply::Refused(refusal) if is_first => context.refused(doing, refusal),
                    Reply::Refused(refusal) => {
                        emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
                        SessionEvent::Nothing
                    }
                    reply => {
                        context.unsure(doing, reply);
                        SessionEvent::Nothing
                    }
                }
            }
        }
    }

    /// Handles the answer to a read that shows a term. If the answer proves the term,
    /// `Calls::learn` has established it already.
    fn on_established(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let doing = "asking for etcd's term";
        let later = context.again(&mut self.failures, "lease");
        // Read again at once: two answers are enough if one member gives both.
        let again = match &reply {
            Reply::Txn { .. } if self.failures <= 2 => context.now,
            _ => later,
        };
        self.phase = SessionPhase::Establishing { call: None, again };
        match reply {
            Reply::Txn { .. } => {
                self.on_term(context);
                self.run_due(context);
            }
            Reply::Refused(refusal) => {
                let event = context.refused(doing, refusal);
                if let (Some((election, _)), SessionEvent::Refused(refusal)) =
                    (self.probe.take(), event)
                {
                    return SessionEvent::Unread(election, refusal);
                }
            }
            reply => context.unsure(doing, reply),
        }
        SessionEvent::Nothing
    }

    fn on_first_answer(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let SessionPhase::Granting(mut grant) = core::mem::take(&mut self.phase) else {
            return SessionEvent::Nothing;
        };
        let (outcome, event) = grant.on_answer(reply, context);
        let grant = match outcome {
            GrantOutcome::Open { ttl, proven, promised, renewed } => {
                let Grant { lease: id, term, .. } = grant;
                let renewal = self.first_renewal(ttl, renewed, context);
                return self.on_lease(Lease { id, ttl, term, proven, promised, renewal }, context);
            }
            GrantOutcome::Wait => grant,
            GrantOutcome::Anew { is_ours } => self.ask_anew(grant, is_ours, context),
        };
        self.phase = SessionPhase::Granting(grant);
        self.run_due(context);
        event
    }

    fn on_next_answer(&mut self, reply: Reply, context: &mut Context<'_>) -> SessionEvent {
        let Some(mut grant) = self.next.take() else { return SessionEvent::Nothing };
        let (outcome, event) = grant.on_answer(reply, context);
        let grant = match outcome {
            GrantOutcome::Open { ttl, proven, promised, renewed } => {
                // Without a proof, take the earliest time at which the lease may have ended.
                let proven = proven.or(grant.joining);
                let Grant { lease: id, term, .. } = grant;
                let renewal = self.first_renewal(ttl, renewed, context);
                return self.open_next(Lease { id, ttl, term, proven, promised, renewal }, context);
            }
            GrantOutcome::Wait => grant,
            GrantOutcome::Anew { is_ours } => self.ask_anew(grant, is_ours, context),
        };
        self.next = Some(grant);
        self.run_due(context);
        event
    }

    fn first_renewal(&mut self, ttl: u32, renewed: Option<Time>, context: &Context<'_>) -> Renewal {
        let wait = self.draws.renewal_interval(ttl, context.draw);
        let until = renewed.map_or(context.now, |sent| sent.after(wait));
        Renewal::Idle { until, bare: None }
    }

    fn ask_anew(&mut self, grant: Grant, is_ours: bool, context: &mut Context<'_>) -> Grant {
        let term = grant.term;
        if is_ours {
            self.retired.give_up(grant, context);
        }
        Grant::new(self.draws.lease_id(context.draw), term, context.now)
    }

    /// Opens the lease of the new term: candidates make keys on it, and the node moves keys to it.
    /// The former lease keeps its E.
    fn open_next(&mut self, lease: Lease, context: &mut Context<'_>) -> SessionEvent {
        let SessionPhase::Open(current) = &self.phase else { return SessionEvent::Nothing };
        let of_old = self.old.iter().filter_map(|old| old.proven);
        let latest = of_old.chain(current.proven).max();
        // This lease must not end before the claims end. The answer to a move may have been lost:
        // the keys of these claims may be on this lease.
        if lease.proven < latest {
            self.retired.give_back(lease.id, lease.ttl, context);
            let id = self.draws.lease_id(context.draw);
            let mut next = Grant::new(id, lease.term, context.now);
            next.pause(context);
            self.next = Some(next);
            self.run_due(context);
            return SessionEvent::Nothing;
        }
        if self.old.len() >= OLD_MAX {
            self.retired.give_back(lease.id, lease.ttl, context);
            return SessionEvent::Lost(Lost::Expired);
        }
        let from = current.id;
        let to = lease.id;
        let moving = OwnEvent::Moving { from, to, granted: lease.ttl, term: lease.term };
        let opened = SessionPhase::Open(lease);
        let SessionPhase::Open(current) = core::mem::replace(&mut self.phase, opened) else {
            return SessionEvent::Nothing;
        };
        current.renewal.forget_call(context.calls);
        let Lease { id, ttl, proven, .. } = current;
        self.old.push(OldLease { id, ttl, proven });
        self.failures = 0;
        self.shift.restart(context);
        emit(None, moving, context.out);
        SessionEvent::Moving
    }

    /// Handles the answer to the keep-alive that was sent at `sent`. This answer alone proves
    /// nothing.
    fn on_alive(
        &mut self,
        sent: Time,
        header: Option<Header>,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let doing = "renewing the lease";
        match (reply, header) {
            (Reply::Alive { ttl: Some(ttl) }, Some(Header { term, .. })) if ttl > 0 => {
                let SessionPhase::Open(lease) = &mut self.phase else {
                    return SessionEvent::Nothing;
                };
                lease.ttl = ttl;
                let alive = Alive { sent, ttl, term };
                lease.renewal = Renewal::answered(alive);
                return SessionEvent::Answered;
            }
            // A lease that is gone shows as an answer without a TTL, not as an error (ruling 3,
            // E2).
            (Reply::Alive { ttl: None } | Reply::LeaseGone, _) => {
                return SessionEvent::Lost(Lost::LeaseGone);
            }
            // A refusal renews nothing, and E stands (ruling 11, E10).
            (Reply::Refused(refusal), _) => {
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            (reply, _) => context.unsure(doing, reply),
        }
        self.rest(true, context);
        SessionEvent::Nothing
    }

    fn on_read(
        &mut self,
        header: Option<Header>,
        reply: Reply,
        context: &mut Context<'_>,
    ) -> SessionEvent {
        let doing = "confirming a renewal";
        let SessionPhase::Open(Lease { renewal, .. }) = &mut self.phase else {
            return SessionEvent::Nothing;
        };
        let Renewal::Confirming { alive, asked, witness, .. } = renewal else {
            return SessionEvent::Nothing;
        };
        let reply = with_the_witness(reply, *witness);
        match (reply, header) {
            (Reply::Txn { found, .. }, Some(header)) if found.len() == asked.len() => {
                // A leader of another term may not know of the renewal (E3).
                if header.term != alive.term {
                    self.rest(true, context);
                    return SessionEvent::Nothing;
                }
                return SessionEvent::Found(pair(core::mem::take(asked), found));
            }
            (Reply::Refused(refusal), _) => {
                let count = asked.len();
                // Confirm the same keep-alive by fewer keys.
                if self.transactions.takes_fewer(&refusal, count) {
                    return SessionEvent::Answered;
                }
                emit(None, OwnEvent::Obstacle { doing, refusal }, context.out);
            }
            (reply, _) => context.unsure(doing, reply),
        }
        self.rest(true, context);
        SessionEvent::Nothing
    }
}

/// Adds the witness to the found keys, as missing. If the witness does not exist, the transaction
/// does not read it.
fn with_the_witness(reply: Reply, witness: usize) -> Reply {
    match reply {
        Reply::Txn { succeeded: true, mut found } => {
            found.insert(witness.min(found.len()), None);
            Reply::Txn { succeeded: true, found }
        }
        reply => reply,
    }
}
