use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{CallId, Etcd, LeaseId, Op, Reply};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// A process that is told that its lease is gone, that by which its keys are named among them,
/// counts on it no more; and none that it has given up is opened after all.
#[derive(Debug, Default)]
pub(super) struct GoneLeases {
    lives: Lives<Life>,
}

/// What one life knows of its leases.
#[derive(Debug, Default)]
struct Life {
    alive: BTreeMap<CallId, LeaseId>,
    /// The lease that it asked for last, and those that it has given up.
    asked: Option<LeaseId>,
    given_up: BTreeSet<LeaseId>,
    /// The one that carries its keys, and the one that names them.
    open: Option<LeaseId>,
    name: Option<LeaseId>,
    /// The one of which it was just told that it is gone.
    gone: Option<LeaseId>,
    /// What to say of that, unless it did not wait for the answer.
    counts: Option<String>,
}

impl Property<Elections> for GoneLeases {
    const NAME: &'static str = "A lease that is gone is not counted on";
    const SOURCE: &'static str = "rulings 3, 6 and 14";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Own(Own::Sent { node, request, .. }) => {
                let life = &mut self.lives[node];
                match request.op {
                    Op::Grant { lease, .. } => life.asked = Some(lease),
                    Op::KeepAlive { lease } => {
                        life.alive.insert(request.call, lease);
                    }
                    Op::Revoke { lease } => {
                        life.given_up.insert(lease);
                    }
                    Op::Txn(_) | Op::Watch { .. } | Op::Unwatch { .. } => {}
                }
            }
            Fact::Own(Own::Closed { node, lease, .. }) => {
                self.lives[node].given_up.insert(lease);
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let life = &mut self.lives[node];
                let gone = matches!(answer.reply, Reply::Alive { ttl: None } | Reply::LeaseGone);
                life.gone = life.alive.remove(&answer.call).filter(|_| gone);
            }
            Fact::Own(Own::Unasked { node }) => self.lives[node].counts = None,
            Fact::Handled { node, core, .. } => {
                self.lives[node]
                    .judge(core)
                    .map_err(|why| format!("{} {why}", check.name(node)))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Life {
    fn judge(&mut self, core: &Etcd) -> Result<(), String> {
        if let Some(counts) = self.counts.take() {
            return Err(counts);
        }
        let (open, name) = (core.lease(), core.names_keys());
        let (was_open, was_name) = (self.open, self.name);
        (self.open, self.name) = (open, name);
        if let Some(gone) = self.gone.take()
            && (was_open == Some(gone) || was_name == Some(gone) && was_open.is_some())
            && open == was_open
        {
            self.counts = Some(format!("was told that its lease {gone} is gone, and goes on"));
        }
        let opened = open.filter(|open| was_open != Some(*open));
        match opened.filter(|open| self.given_up.contains(open) || self.asked != Some(*open)) {
            Some(open) => Err(format!("counts on lease {open}, which it had given up")),
            None => Ok(()),
        }
    }
}
