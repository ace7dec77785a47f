use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Bytes, CallId, Keys, LeaseId, Op, Reply};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// A key that is told as released is gone, or its lease is over with that; but one that somebody
/// asked for and got no answer about may come later, and it looks for that.
#[derive(Debug, Default)]
pub(super) struct WhatIsReleasedIsGone {
    nodes: Lives<Releases>,
}

/// Requests and reports of one life.
#[derive(Debug, Default)]
struct Releases {
    /// The keys that it asked for, by call, without an answer until now.
    asked: BTreeMap<CallId, Bytes>,
    /// Key of the create that was answered last.
    answered: Option<Bytes>,
    /// Keys that may come later.
    doubtful: BTreeSet<Bytes>,
    /// Complaint about a key that was reported as gone and is there; dropped when its lease ends.
    told: Option<String>,
    /// The leases that are over.
    over: BTreeSet<LeaseId>,
    /// The creates that are not answered, and those of unknown outcome: a key may come late.
    creates: BTreeMap<CallId, (Bytes, LeaseId)>,
    unsure: BTreeSet<(Bytes, LeaseId)>,
    /// A key that may come late, as long as nobody looks for it, and what to say of that.
    unseen: Option<(Bytes, String)>,
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
                this.unseen = None;
                this.over.insert(lease);
            }
            Fact::Handled { node, .. } => {
                let this = &mut self.nodes[node];
                let unseen = this.unseen.take().map(|(_, why)| why);
                return this.told.take().or(unseen).map_or(Ok(()), Err);
            }
            Fact::Own(Own::Sent { node, request, .. }) => {
                let this = &mut self.nodes[node];
                if let Op::Revoke { lease } = request.op {
                    this.over.insert(lease);
                }
                this.unseen = this.unseen.take().filter(|(key, _)| !looks_for(&request.op, key));
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                if let Some(Act::Put { key, lease, .. }) = txn.then.first() {
                    this.asked.insert(request.call, key.clone());
                    this.creates.insert(request.call, (key.clone(), *lease));
                }
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let this = &mut self.nodes[node];
                this.answered = this.asked.remove(&answer.call);
                let create = this.creates.remove(&answer.call);
                if matches!(answer.reply, Reply::Unknown { .. }) {
                    this.unsure.extend(create);
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
        let this = &mut self.nodes[node];
        let mut unsure = this.unsure.iter();
        if unsure.any(|(may, lease)| may == key && !this.over.contains(lease)) {
            let name = check.name(node);
            let of = check.election(election);
            let why = format!("{name} has left {of}, and {key} may come late: nobody looks");
            this.unseen = Some((key.clone(), why));
        }
        let Some(kv) = check.records().keys.get(key) else { return };
        let this = &mut self.nodes[node];
        let may_come = this.doubtful.contains(key) || this.asked.values().any(|asked| asked == key);
        // By the name of a lease that it was handed there may be a key of an earlier life;
        // and somebody else may have put it on another lease, or have put it back.
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

/// Whether somebody who asks this sees a key that comes late, or deletes it.
fn looks_for(op: &Op, key: &Bytes) -> bool {
    match op {
        Op::Watch { keys: Keys::One(watched), .. } => watched == key,
        Op::Txn(txn) => txn.then.first().is_some_and(|act| act.key() == key),
        _ => false,
    }
}
