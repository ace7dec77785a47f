use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Bytes, CallId, LeaseId, Op, Reply};

use super::{Court, Fact, Plan, Property};

/// A key that is told as released is gone, or its lease is over with that; but one that somebody
/// asked for and got no answer about may come later.
#[derive(Debug)]
pub(super) struct WhatIsReleasedIsGone {
    nodes: Vec<Released>,
}

/// What one life has asked for, and told.
#[derive(Clone, Debug, Default)]
struct Released {
    /// The keys that it asked for, by call, without an answer until now.
    asked: BTreeMap<CallId, Bytes>,
    /// What was answered last.
    answered: Option<Bytes>,
    /// Keys that may come later.
    doubtful: BTreeSet<Bytes>,
    /// What it has told of a key that is there, until its lease is over or something else happens.
    told: Option<String>,
    /// The leases that are over.
    over: BTreeSet<LeaseId>,
}

impl Property for WhatIsReleasedIsGone {
    const NAME: &'static str = "What is released is gone";
    const SOURCE: &'static str = "ruling 5 (E4)";

    fn new(plan: &Plan) -> Self {
        Self { nodes: vec![Released::default(); plan.nodes.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.nodes[*node] = Released::default(),
            Fact::Closed { node, lease, .. } => {
                let this = &mut self.nodes[*node];
                this.told = None;
                this.over.insert(*lease);
            }
            Fact::Handled { node, .. } => return self.nodes[*node].told.take().map_or(Ok(()), Err),
            Fact::Sent { node, request, .. } => {
                if let Op::Revoke { lease } = request.op {
                    self.nodes[*node].over.insert(lease);
                }
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                if let Some(Act::Put { key, .. }) = txn.then.first() {
                    self.nodes[*node].asked.insert(request.call, key.clone());
                }
            }
            Fact::Heard { node, answer, .. } => {
                let this = &mut self.nodes[*node];
                this.answered = this.asked.remove(&answer.call);
                if matches!(answer.reply, Reply::Unknown { .. }) {
                    this.doubtful.extend(this.answered.take());
                }
            }
            // That answer was given up before it came.
            Fact::Unasked { node } => {
                let this = &mut self.nodes[*node];
                this.doubtful.extend(this.answered.take());
            }
            Fact::Released { node, election, key } => {
                let Some(kv) = court.ledger.keys.get(*key) else { return Ok(()) };
                let this = &mut self.nodes[*node];
                let may_come =
                    this.doubtful.contains(*key) || this.asked.values().any(|asked| asked == *key);
                // By the name of a lease that it was handed there may be a key of an earlier life;
                // and somebody else may have put it on another lease, or have put it back.
                let owner = kv.lease.and_then(|lease| court.ledger.owners.get(&lease));
                let life = court.ledger.lives[*node];
                let earlier = owner.is_none_or(|(n, owner)| n != node || life != Some(*owner));
                let earlier = earlier || court.ledger.is_taken(key);
                let over = kv.lease.is_some_and(|lease| this.over.contains(&lease));
                if !may_come && !earlier && !over && court.ledger.restored.is_none() {
                    this.told = Some(format!(
                        "{} says of {} that its key is gone, and {key} created {} is there",
                        court.name(*node),
                        court.election(*election),
                        kv.created,
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
