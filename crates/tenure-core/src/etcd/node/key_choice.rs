//! Chooses, among the keys of all candidates, those that confirm a renewal, and those that move to
//! the lease of a new term.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Bound;
use core::time::Duration;

use super::state::Etcd;
use crate::etcd::candidate::Candidate;
use crate::etcd::context::Context;
use crate::etcd::key::{self, LeaseId};
use crate::etcd::message::{KeyValue, Revision};
use crate::etcd::session::{FoundKey, MoveReport, OwnKey, PlacedKey};
use crate::etcd::words::Out;
use crate::name::ElectionName;

impl Etcd {
    /// The next keys that can confirm a renewal, because they are on the renewed lease. The keys
    /// rotate, so that each gets its turn.
    pub(super) fn own_keys(&self) -> Vec<OwnKey> {
        let (Some(lease), Some(name)) = (self.lease(), self.session.name()) else {
            return Vec::new();
        };
        let cursor = self.session.cursor();
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.candidates.range::<ElectionName, _>((from, Bound::Unbounded));
        let wrapped = cursor.map(|cursor| self.candidates.range::<ElectionName, _>(..=cursor));
        let all = rest.chain(wrapped.into_iter().flatten());
        let own = all.filter(|(_, candidate)| candidate.home() == Some(lease));
        let own = own.filter_map(|(election, candidate)| {
            let key = key::key(&self.config.namespace, election, name);
            let election = election.clone();
            Some(OwnKey { election, key, revision: candidate.revision()? })
        });
        own.take(self.session.operations()).collect()
    }

    /// Confirms the last keep-alive late, if no key could confirm it and this election's key has
    /// just been made or moved. The confirmation reads all keys: by this key alone it would also
    /// renew claims whose keys are lost.
    pub(super) fn confirm_late(&mut self, election: &ElectionName, out: &mut Out) {
        let home = self.candidates.get(election).and_then(Candidate::home);
        if !self.session.is_unconfirmed() || home.is_none() || home != self.lease() {
            return;
        }
        let own = self.own_keys();
        let (session, mut context) = self.context(out);
        session.confirm_late(own, &mut context);
    }

    /// Handles the keys that a confirmation has found. An unchanged key proves the lease, even if
    /// the candidate of that key is about to leave.
    pub(super) fn on_found(&mut self, found: Vec<FoundKey>, out: &mut Out) {
        let Some(lease) = self.lease() else { return };
        // Compare create revisions, because a restored store may be at the same revision (E7). A
        // key proves only the lease that it is on (E3).
        let is_right = |found: &FoundKey| {
            let kv = found.kv.as_ref();
            kv.is_some_and(|kv| kv.created == found.asked && kv.lease == Some(lease))
        };
        let (right, wrong): (Vec<_>, Vec<_>) = found.into_iter().partition(is_right);
        // Take the lost keys out first, so that their claims are not renewed.
        for FoundKey { election, asked, .. } in wrong {
            if self.still_has(&election, asked) {
                self.with_candidate(&election, out, Candidate::on_key_lost);
            }
        }
        let now = self.now;
        let is_first_proof = self.session.until(Some(lease), now).is_none();
        let (session, mut context) = self.context(out);
        if session.confirmed(!right.is_empty(), &mut context)
            && let Some(until) = self.session.until(Some(lease), now)
        {
            let ttl = self.session.lease().map_or(self.config.ttl(), |lease| lease.ttl);
            let length = Duration::from_secs(ttl.into());
            let all = self.candidates.values_mut();
            let here = all.filter(|candidate| candidate.home() == Some(lease));
            here.for_each(|candidate| candidate.renew(until, now, length, out));
            if is_first_proof {
                self.each_candidate(out, Candidate::on_proven);
            }
        }
        for FoundKey { election, kv, .. } in right {
            if let Some(kv) = kv {
                self.with_candidate(&election, out, |candidate, context| {
                    candidate.on_confirmed(&kv, context);
                });
            }
        }
    }

    /// Moves keys from leases of earlier terms, leaders' keys first, and gives back leases that
    /// carry no keys.
    pub(super) fn shift(&mut self, out: &mut Out) {
        if self.lease().is_none() || !self.session.can_shift(self.now) {
            return;
        }
        let mut keys = self.next_to_move();
        if keys.is_empty() {
            let round = self.all_to_move();
            let none = round.is_empty();
            let (session, context) = self.context(out);
            let begins = session.begin_round(round, &context);
            if none {
                return self.leave_old(out);
            }
            if !begins {
                return;
            }
            keys = self.next_to_move();
        }
        let (session, mut context) = self.context(out);
        session.shift(keys, &mut context);
    }

    /// The next keys of this round that must still move, as many as fit into one transaction.
    fn next_to_move(&mut self) -> Vec<PlacedKey> {
        let most = self.session.moved_at_once();
        let mut keys = Vec::new();
        while keys.len() < most
            && let Some(election) = self.session.next_of_round()
        {
            keys.extend(self.to_move(&election));
        }
        keys
    }

    /// All elections whose keys must move, leaders' keys first.
    fn all_to_move(&self) -> VecDeque<ElectionName> {
        let of = |leads: bool| {
            let candidates = self.candidates.iter().filter(move |(_, candidate)| {
                candidate.fence().is_some() == leads && self.is_to_move(candidate)
            });
            candidates.map(|(election, _)| election.clone())
        };
        of(true).chain(of(false)).collect()
    }

    /// Whether the candidate's key must move: the candidate relies on the key, and an earlier lease
    /// carries it.
    fn is_to_move(&self, candidate: &Candidate) -> bool {
        candidate.home().is_some_and(|home| Some(home) != self.lease())
    }

    fn to_move(&self, election: &ElectionName) -> Option<PlacedKey> {
        let candidate = self.candidates.get(election)?;
        if !self.is_to_move(candidate) {
            return None;
        }
        let key = key::key(&self.config.namespace, election, self.session.name()?);
        let election = election.clone();
        let revision = candidate.revision()?;
        Some(PlacedKey { own: OwnKey { election, key, revision }, home: candidate.home()? })
    }

    /// Gives back leases of earlier terms that carry no keys. A create without a certain outcome
    /// may still make a key on such a lease; the key goes with the lease.
    fn leave_old(&mut self, out: &mut Out) {
        let Self { config, draw, session, calls, candidates, now, .. } = self;
        let mut context = Context { now: *now, config, draw: *draw, calls, out };
        let carries = |lease| candidates.values().any(|candidate| candidate.stands_on(lease));
        let left = session.leave_old(carries, &mut context);
        if !left.is_empty() {
            let is_freed = |candidate: &Candidate| {
                candidate.late_key_on().is_some_and(|lease| left.contains(&lease))
            };
            let all = self.candidates.iter();
            let freed = all.filter(|(_, candidate)| is_freed(candidate));
            let freed: Vec<_> = freed.map(|(election, _)| election.clone()).collect();
            for election in freed {
                self.with_candidate(&election, out, Candidate::on_lease_left);
            }
        }
    }

    pub(super) fn on_moved(&mut self, report: MoveReport, out: &mut Out) {
        let all: Vec<(ElectionName, Revision, Option<LeaseId>)> = match report {
            MoveReport::All { to, asked } => {
                asked.into_iter().map(|(election, asked)| (election, asked, Some(to))).collect()
            }
            MoveReport::Found(found) => {
                let home = |FoundKey { election, asked, kv }| {
                    let kv = kv.filter(|kv: &KeyValue| kv.created == asked);
                    let lease = kv.and_then(|kv| kv.lease);
                    (election, asked, lease.filter(|_| self.session.owns(lease)))
                };
                found.into_iter().map(home).collect()
            }
        };
        for (election, asked, home) in &all {
            if !self.still_has(election, *asked) {
                continue;
            }
            self.with_candidate(election, out, |candidate, context| match home {
                Some(home) => candidate.moved(*home, context),
                None => candidate.on_key_lost(context),
            });
        }
        all.iter().for_each(|(election, ..)| self.confirm_late(election, out));
    }

    /// Whether the candidate still has the key with this create revision. During the call the
    /// candidate may have left, or made another key.
    fn still_has(&self, election: &ElectionName, asked: Revision) -> bool {
        self.candidates.get(election).and_then(Candidate::revision) == Some(asked)
    }
}
