use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Time;
use tenure_core::etcd::{CallId, LeaseId, Op, Refusal, Reply};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};
use crate::etcd::store::note::Note;

/// A process that has nothing left to do may end: no lease that it was told is gone, or was not
/// granted, is there, or comes yet, unless nobody could know what became of a grant.
#[derive(Debug, Default)]
pub(super) struct IdleProcessesLeftNoLease {
    nodes: Lives<Leases>,
}

/// What one life knows of its leases.
#[derive(Debug, Default)]
struct Leases {
    /// The grants that it waits for, and until when on its clock.
    asked: BTreeMap<CallId, (LeaseId, Time)>,
    /// Those that may be granted late: nobody waits for the answer any more.
    doubtful: BTreeSet<LeaseId>,
    /// Those of which a grant was refused for want of room, and may have been carried out: that
    /// another one was not says nothing.
    unsure: BTreeSet<LeaseId>,
    revoking: BTreeMap<CallId, LeaseId>,
    /// Those that it was told are gone, or were not granted.
    gone: BTreeSet<LeaseId>,
    idle: bool,
}

impl Leases {
    fn heard(&mut self, call: CallId, reply: &Reply) {
        if let Some((lease, _)) = self.asked.remove(&call) {
            match reply {
                Reply::Unknown { .. } => self.doubtful.insert(lease),
                Reply::Refused(Refusal::NoSpace { .. }) => self.unsure.insert(lease),
                Reply::Refused(_) if !self.unsure.contains(&lease) => self.gone.insert(lease),
                _ => false,
            };
        }
        if let Some(lease) = self.revoking.remove(&call)
            && matches!(reply, Reply::Revoked | Reply::LeaseGone)
        {
            self.gone.insert(lease);
        }
    }

    /// A grant that is not answered in time may be carried out later.
    fn wait_no_longer(&mut self, now: Time) {
        for (_, (lease, _)) in self.asked.extract_if(.., |_, (_, due)| *due <= now) {
            self.doubtful.insert(lease);
        }
    }

    /// Whether this lease should not be there.
    fn is_left(&self, lease: LeaseId) -> bool {
        self.idle && self.gone.contains(&lease) && !self.doubtful.contains(&lease)
    }
}

impl Property<Elections> for IdleProcessesLeftNoLease {
    const NAME: &'static str = "An idle process has left no lease";
    const SOURCE: &'static str = "ruling 6 (E5)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.nodes.see(fact);
        let left = match fact {
            Fact::Own(Own::Sent { node, request, decided, .. }) => {
                let this = &mut self.nodes[node];
                match request.op {
                    Op::Grant { lease, .. } => {
                        let due = decided.after(request.within);
                        this.asked.insert(request.call, (lease, due));
                        this.gone.remove(&lease);
                    }
                    Op::Revoke { lease } => {
                        this.revoking.insert(request.call, lease);
                    }
                    Op::KeepAlive { .. } | Op::Txn(_) | Op::Watch { .. } | Op::Unwatch { .. } => {}
                }
                None
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                self.nodes[node].heard(answer.call, &answer.reply);
                None
            }
            Fact::Handled { node, core, timer } => {
                let this = &mut self.nodes[node];
                if let Some(now) = timer {
                    this.wait_no_longer(now);
                }
                this.idle = core.is_idle();
                let there = this.gone.iter().copied().find(|lease| {
                    this.is_left(*lease) && check.records().leases.contains_key(lease)
                });
                there.map(|lease| (node, lease))
            }
            Fact::Own(Own::Stored(Note::Lease { lease, .. })) => {
                let node = self.nodes.iter().position(|leases| leases.is_left(*lease));
                node.map(|node| (node, *lease))
            }
            _ => None,
        };
        let Some((node, lease)) = left.filter(|_| check.records().restored.is_none()) else {
            return Ok(());
        };
        Err(format!(
            "{} has nothing left to do and was told that there is no lease {lease}, which there is",
            check.name(node)
        ))
    }
}
