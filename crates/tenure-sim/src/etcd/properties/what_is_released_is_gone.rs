use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Bytes, CallId, LeaseId, Op, Reply};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// A released key is gone, or its lease is over. The key of an unanswered create may come later.
#[derive(Debug, Default)]
pub(super) struct WhatIsReleasedIsGone {
    nodes: Lives<Releases>,
}

/// Requests and reports of one life.
#[derive(Debug, Default)]
struct Releases {
    /// Keys of unanswered requests, by call.
    asked: BTreeMap<CallId, Bytes>,
    /// Key of the last answered create.
    answered: Option<Bytes>,
    /// Keys that may come later.
    doubtful: BTreeSet<Bytes>,
    /// Complaint about a released key that exists; dropped when the key's lease ends.
    told: Option<String>,
    over: BTreeSet<LeaseId>,
}

impl Property<Elections> for WhatIsReleasedIsGone {
    const NAME: &'static str = "What is released is gone";
    const SOURCE: &'static str = "ruling 5 (E4)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.nodes.see(fact);
        match fact {
            Fact::Own(Own::Closed { node, lease, .. }) => {
                let this = &mut self.nodes[node];
                this.told = None;
                this.over.insert(lease);
            }
            Fact::Handled { node, .. } => {
                return self.nodes[node].told.take().map_or(Ok(()), Err);
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let this = &mut self.nodes[node];
                if let Op::Revoke { lease } = request.op {
                    this.over.insert(lease);
                }
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                if let Some(Act::Put { key, .. }) = txn.then.first() {
                    this.asked.insert(request.call, key.clone());
                }
            }
            Fact::Own(Own::Heard { node, answer }) => {
                let this = &mut self.nodes[node];
                this.answered = this.asked.remove(&answer.call);
                if matches!(answer.reply, Reply::Unknown { .. }) {
                    this.doubtful.extend(this.answered.take());
                }
            }
            // The core gave this call up before the answer came.
            Fact::Own(Own::Unasked { node }) => {
                let this = &mut self.nodes[node];
                this.doubtful.extend(this.answered.take());
            }
            Fact::Own(Own::Released { node, election, key }) => {
                self.released(check, node, election, key)
            }
            _ => {}
        }
        Ok(())
    }
}

impl WhatIsReleasedIsGone {
    fn released(&mut self, check: &Check<'_>, node: usize, election: usize, key: &Bytes) {
        let Some(kv) = check.records().keys.get(key) else { return };
        let this = &mut self.nodes[node];
        let may_come = this.doubtful.contains(key) || this.asked.values().any(|asked| asked == key);
        // The key of an earlier life may have the name of a lease from outside. A stranger may also
        // have moved the key to another lease, or put the key back.
        let owner = check.records().owner_of(kv);
        let earlier = owner.is_none_or(|(n, owner)| *n != node || !check.runs(node, *owner));
        let earlier = earlier || check.records().is_taken(key);
        let over = kv.lease.is_some_and(|lease| this.over.contains(&lease));
        if !may_come && !earlier && !over && check.records().restored.is_none() {
            this.told = Some(format!(
                "{} says of {} that its key is gone, and {key} created {} is there",
                check.name(node),
                check.election(election),
                kv.created,
            ));
        }
    }
}
