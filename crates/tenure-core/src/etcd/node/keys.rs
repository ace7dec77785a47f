//! The keys of all candidates: what confirms a renewal, and what moves to the lease of a new term.

use alloc::vec::Vec;
use core::ops::Bound;

use super::super::candidate::Candidate;
use super::super::key::{self, LeaseId};
use super::super::message::{KeyValue, Revision};
use super::super::rule::{Rule, ruling};
use super::super::session::{Around, Found, Own, Placed, Shifted};
use super::{Etcd, Out};
use crate::name::ElectionName;

impl Etcd {
    /// The next keys that can confirm a renewal, in rotation, so that each comes up.
    pub(super) fn own_keys(&self) -> Vec<Own> {
        let (Some(lease), Some(name)) = (self.lease(), self.session.name()) else {
            return Vec::new();
        };
        let cursor = self.session.cursor();
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.candidates.range::<ElectionName, _>((from, Bound::Unbounded));
        let wrapped = cursor.map(|cursor| self.candidates.range::<ElectionName, _>(..=cursor));
        let all = rest.chain(wrapped.into_iter().flatten());
        let own = all.filter_map(|(election, candidate)| {
            let is_here = candidate.home() == Some(lease) || !ruling(Rule::TermOwnsLease);
            let candidate = Some(candidate).filter(|_| is_here)?;
            let key = key::key(&self.config.namespace, election, name);
            Some((election.clone(), key, candidate.revision()?))
        });
        own.take(self.session.operations()).collect()
    }

    /// What a confirmation found: one key that is as it was shows that the lease is, even if its
    /// candidate leaves now.
    pub(super) fn on_found(&mut self, found: Vec<Found>, out: &mut Out) {
        let Some(lease) = self.lease() else { return };
        let is_right = |found: &Found| {
            let kv = found.kv.as_ref();
            kv.is_some_and(|kv| kv.created == found.asked && kv.lease == Some(lease))
                || !ruling(Rule::KeyAsItWas)
        };
        let (right, wrong): (Vec<_>, Vec<_>) = found.into_iter().partition(is_right);
        // What is lost is not claimed again with the rest.
        for Found { election, asked, .. } in wrong {
            // It may have got a newer key, or given it up, while the answer was on its way.
            let candidate = self.candidates.get(&election);
            if candidate.and_then(Candidate::revision) == Some(asked) {
                self.with_candidate(&election, out, Candidate::on_key_lost);
            }
        }
        let now = self.now;
        let is_first_proof = self.session.until(Some(lease), now).is_none();
        let (session, mut around) = self.around(out);
        if session.confirmed(!right.is_empty(), &mut around)
            && let Some(until) = self.session.until(Some(lease), now)
        {
            let here = self.candidates.values().filter(|candidate| {
                candidate.home() == Some(lease) || !ruling(Rule::OwnLeaseCounts)
            });
            here.for_each(|candidate| candidate.renew(until, out));
            if is_first_proof {
                self.each_candidate(out, Candidate::on_proven);
            }
        }
        for Found { election, kv, .. } in right {
            if let Some(kv) = kv {
                self.with_candidate(&election, out, |candidate, shared| {
                    candidate.on_confirmed(&kv, shared);
                });
            }
        }
    }

    /// Keys that are on leases of earlier terms are moved, those of leaders first; and when none
    /// is left, those leases go.
    pub(super) fn shift(&mut self, out: &mut Out) {
        let (Some(lease), Some(name)) = (self.lease(), self.session.name()) else { return };
        if !self.session.can_shift(self.now) {
            return;
        }
        let mut keys: Vec<(bool, Placed)> = Vec::new();
        for (election, candidate) in &self.candidates {
            let (home, revision) = (candidate.home(), candidate.revision());
            let waits = candidate.fence().is_none();
            if let (Some(home), Some(revision)) = (home, revision)
                && home != lease
                && (!waits || ruling(Rule::WaitingMove))
            {
                let key = key::key(&self.config.namespace, election, name);
                keys.push((waits, ((election.clone(), key, revision), home)));
            }
        }
        keys.sort_by_key(|(waits, _)| *waits);
        let (most, after) = self.session.shift_next();
        let first = after.and_then(|after| {
            keys.iter().position(|(_, ((election, ..), _))| election == after).map(|nth| nth + 1)
        });
        keys.rotate_left(first.unwrap_or(0));
        let keys: Vec<Placed> = keys.into_iter().take(most).map(|(_, placed)| placed).collect();
        let none = keys.is_empty();
        let Self { config, draw, session, calls, candidates, now, .. } = self;
        let mut around = Around { now: *now, config, draw: *draw, calls, out };
        session.shift(keys, &mut around);
        if none || !ruling(Rule::OldLeftEmpty) {
            let carries = |lease| candidates.values().any(|candidate| candidate.stands_on(lease));
            session.leave_old(carries, &mut around);
        }
    }

    /// Keys were moved, or at least one was not where it was thought to be.
    pub(super) fn on_shifted(&mut self, shifted: Shifted, out: &mut Out) {
        let all: Vec<(ElectionName, Revision, Option<LeaseId>)> = match shifted {
            Shifted::All(to, asked) => {
                asked.into_iter().map(|(election, asked)| (election, asked, Some(to))).collect()
            }
            Shifted::Found(found) => {
                let home = |Found { election, asked, kv }| {
                    let kv = kv.filter(|kv: &KeyValue| kv.created == asked);
                    let lease = kv.and_then(|kv| kv.lease);
                    (election, asked, lease.filter(|_| self.session.owns(lease)))
                };
                found.into_iter().map(home).collect()
            }
        };
        for (election, asked, home) in all {
            // It may have got a newer key, or given it up, while the answer was on its way.
            let candidate = self.candidates.get(&election);
            if candidate.and_then(Candidate::revision) != Some(asked) {
                continue;
            }
            self.with_candidate(&election, out, |candidate, shared| match home {
                Some(home) => candidate.moved(home, shared),
                None => candidate.on_key_lost(shared),
            });
        }
    }
}
