//! Leases, timed by the real or supposed leader on its own clock.

use tenure_core::etcd::{Header, LeaseId, Reply};

use super::note::{Cause, Note};
use super::state::Entry;
use super::{Ask, Cluster, MS, Out, Task, answer, tell};
use crate::world::clock::TRUE_RATE;

/// Salts of draws.
const LATE: u64 = 21;
const EXTEND: u64 = 22;
const REVOKE: u64 = 23;
/// The interval at which a waiting renewal checks for its lease.
const WAIT: u64 = 100 * MS;
/// The upper bound on a new leader's extension of leases.
const EXTENSION: u64 = 1_000 * MS;

impl Cluster {
    /// Seconds on the clock of a member, in true time.
    fn seconds(&self, member: usize, ttl: u32) -> u64 {
        let counted = u128::from(ttl) * 1_000_000_000 * u128::from(TRUE_RATE);
        counted.div_ceil(u128::from(self.setting.rates[member])) as u64
    }

    pub(super) fn begin(&mut self, lease: LeaseId, ttl: u32, out: &mut Out) {
        if let Some(leader) = self.leader {
            let ends = self.now + self.seconds(leader, ttl);
            self.extend(leader, lease, ends, out);
        }
    }

    /// Extends a lease until `ends`, by the clock of `leader`.
    fn extend(&mut self, leader: usize, lease: LeaseId, ends: u64, out: &mut Out) {
        self.members[leader].expiry.insert(lease, ends);
        self.plan(ends.saturating_sub(self.now), Task::Expire { member: leader, lease });
        if self.leader == Some(leader) {
            tell(Note::Lease { lease, ends }, out);
        }
    }

    /// Makes a member the leader. The new leader gives every lease its full length again.
    pub(super) fn promote(&mut self, leader: usize, out: &mut Out) {
        self.doomed.clear();
        self.members[leader].expiry.clear();
        let more = self.span(EXTEND, self.term, EXTENSION);
        for (lease, ttl) in self.truth.leases.clone() {
            let ends = self.now + self.seconds(leader, ttl) + more;
            self.extend(leader, lease, ends, out);
        }
    }

    /// Lets a leader regain its quorum in the same term: the leader's earlier renewals stay valid.
    pub(super) fn resume(&mut self, leader: usize, out: &mut Out) {
        for (lease, ends) in self.members[leader].expiry.clone() {
            if self.truth.leases.contains_key(&lease) {
                self.extend(leader, lease, ends, out);
            }
        }
        for lease in self.doomed.keys().copied().collect::<Vec<_>>() {
            self.plan(0, Task::Revoke { lease, term: self.term });
        }
    }

    /// Handles a keep-alive at a real or supposed leader.
    pub(super) fn renew(
        &mut self,
        ask: &Ask,
        header: Header,
        leader: usize,
        lease: LeaseId,
        out: &mut Out,
    ) {
        let this = &self.members[leader];
        if !this.leads || this.dead > self.now || self.members[ask.member].dead > self.now {
            return;
        }
        let Some(ttl) = this.state.leases.get(&lease).copied() else {
            return answer(ask, Some(header), Reply::Alive { ttl: None }, out);
        };
        if self.leader == Some(leader)
            && let Some(revoked) = self.doomed.get(&lease)
        {
            // A renewal of an ended lease waits for the revocation. Some versions answer as if the
            // renewal counted, while the revocation is under way.
            if *revoked && self.setting.racing {
                return answer(ask, Some(header), Reply::Alive { ttl: Some(ttl) }, out);
            }
            let ask = ask.clone();
            return self.plan(WAIT, Task::Renew { ask, header, leader, lease });
        }
        let ends = self.now + self.seconds(leader, ttl);
        self.extend(leader, lease, ends, out);
        answer(ask, Some(header), Reply::Alive { ttl: Some(ttl) }, out);
    }

    /// Ends a lease if its time is over by the clock of a real or supposed leader.
    pub(super) fn expire(&mut self, member: usize, lease: LeaseId) {
        let ends = self.members[member].expiry.get(&lease).copied();
        let Some(ends) = ends.filter(|ends| *ends <= self.now) else { return };
        if self.leader != Some(member) {
            return self.expire_apart(member, lease);
        }
        if self.truth.leases.contains_key(&lease) && self.doomed.insert(lease, false).is_none() {
            let late = self.span(LATE ^ lease.0.cast_unsigned(), ends, self.setting.late);
            self.plan(late, Task::Revoke { lease, term: self.term });
        }
    }

    /// Revokes an ended lease: the leader proposes the revocation, and the log carries it out.
    pub(super) fn revoke_expired(&mut self, lease: LeaseId, term: u64, out: &mut Out) {
        if self.term != term || self.leader.is_none() {
            return;
        }
        let under_way = |revoked: &mut bool| std::mem::replace(revoked, true);
        match self.doomed.get_mut(&lease).map(under_way) {
            Some(false) => {
                let latency =
                    self.span(REVOKE ^ lease.0.cast_unsigned(), self.now, self.setting.latency);
                self.plan(latency, Task::Revoke { lease, term });
            }
            Some(true) => {
                self.commit(&Entry::Revoke(lease), Cause::Expired, out);
            }
            None => {}
        }
    }
}
