//! Late revocations of leases that another leader has renewed before.
//!
//! A leader without a connection to the others times leases until it checks its quorum. This takes
//! up to two election timeouts. The leader revokes the leases that end in this time in lots of 16,
//! as etcd's `revokeExpiredLeases` does. The first 16 proposals go into the leader's log, are lost
//! with that log, and keep their places until their requests time out. The former leader proposes
//! the others later, when it follows the next leader, and forwards them.

use tenure_core::etcd::LeaseId;

use super::note::Cause;
use super::state::Entry;
use super::{Cluster, MS, Out, Task};

/// Salts of draws.
const LOT: u64 = 41;
const RESUMED: u64 = 42;
/// `ReqTimeout`: 5 s and two election timeouts.
const REQUEST: u64 = 7_000 * MS;
/// The interval at which a waiting proposal checks for a leader.
const WAIT: u64 = 100 * MS;

impl Cluster {
    /// Ends a lease by the clock of a member that wrongly believes that it leads.
    pub(super) fn expire_apart(&mut self, member: usize, lease: LeaseId) {
        let this = &self.members[member];
        if !this.leads || this.dead.max(this.stuck) > self.now || !self.setting.crowded {
            return;
        }
        let lot = self.span(LOT ^ lease.0.cast_unsigned(), self.now, 4);
        if lot > 0 {
            let start = this.start;
            let until = self.now + (lot + 1) * REQUEST;
            self.plan(REQUEST, Task::Propose { member, start, lease, until });
        }
    }

    /// Forwards a pending revocation of a member to the present leader.
    pub(super) fn propose(
        &mut self,
        member: usize,
        start: u64,
        lease: LeaseId,
        until: u64,
        out: &mut Out,
    ) {
        if self.members[member].start != start || self.now > until {
            return;
        }
        if self.leader.is_none() || !self.takes_part(member) {
            return self.plan(WAIT, Task::Propose { member, start, lease, until });
        }
        self.revoke_late(lease, out);
    }

    /// Lets a stuck or suspended leader go on. Before etcd#16822 a stuck leader revoked leases
    /// whose renewals it had missed, though another leader had renewed them. A suspended leader
    /// still does so, if it checks leases before it reads its messages.
    pub(super) fn unstick(&mut self, member: usize, out: &mut Out) {
        let this = &self.members[member];
        let was_stopped = this.stopped + WAIT > self.now;
        let hasty =
            if was_stopped { self.span(RESUMED, self.now, 2) == 0 } else { !self.setting.fixed };
        let deposed = this.leads && self.leader.is_some_and(|leader| leader != member);
        if deposed && hasty && this.cut.max(this.dead).max(this.stuck) <= self.now {
            let over = this.expiry.iter().filter(|(_, ends)| **ends <= self.now);
            let over: Vec<LeaseId> = over.map(|(lease, _)| *lease).collect();
            for lease in over {
                self.revoke_late(lease, out);
            }
        }
        self.settle(out);
    }

    fn revoke_late(&mut self, lease: LeaseId, out: &mut Out) {
        let renewed = self.leader.and_then(|leader| self.members[leader].expiry.get(&lease));
        let early = renewed.is_some_and(|ends| *ends > self.now);
        let cause = if early { Cause::Late } else { Cause::Expired };
        if self.truth.leases.contains_key(&lease) {
            self.commit(&Entry::Revoke(lease), cause, out);
        }
    }
}
