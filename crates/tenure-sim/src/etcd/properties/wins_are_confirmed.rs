use std::collections::BTreeMap;

use tenure_core::etcd::{
    Act, Bytes, CallId, Compare, KeyValue, Keys, Op, Reply, Request, Revision,
};

use super::{Check, Claim, Elections, Fact, Own, Plan, Property, Records};

/// An elected candidate had the first key at some instant after its last request, and knows this
/// from one transaction, which found the candidate's key and read the first key.
#[derive(Debug, Default)]
pub(super) struct WinsAreConfirmed {
    /// Fence of the last raised claim, by node and election.
    raised: Vec<Vec<u64>>,
    lives: Vec<Looks>,
}

/// A key, and its create revision.
type Key = (Bytes, Revision);

/// Looks of one life.
#[derive(Clone, Debug, Default)]
struct Looks {
    asked: BTreeMap<CallId, Key>,
    /// The candidate's key in the last answer, from the transaction that also read the first key.
    shown: Option<Key>,
}

impl Property<Elections> for WinsAreConfirmed {
    const NAME: &'static str = "A win is confirmed by the store";
    const SOURCE: &'static str = "ruling 2 (E1)";

    fn begin(&mut self, plan: &Plan) {
        let nodes = plan.nodes.len();
        let raised = vec![vec![0; plan.elections.len()]; nodes];
        *self = Self { raised, lives: vec![Looks::default(); nodes] };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.lives[node] = Looks::default(),
            Fact::Own(Own::Sent { node, request, .. }) => {
                if let Some(own) = looked_for(request) {
                    self.lives[node].asked.insert(request.call, own);
                }
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let looks = &mut self.lives[node];
                let shows = matches!(answer.reply, Reply::Txn { succeeded: true, .. });
                looks.shown = looks.asked.remove(&answer.call).filter(|_| shows);
            }
            Fact::Claimed(Claim { node, election, fence: Some(fence), .. }) => {
                self.raised[node][election] = Records::created(fence);
            }
            Fact::Elected { node, election, id, .. } => {
                let key = Elections::key_of(check.plan, election, id);
                let created = self.raised[node][election];
                self.judge(check, node, election, &(key, created))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl WinsAreConfirmed {
    fn judge(
        &self,
        check: &Check<'_>,
        node: usize,
        election: usize,
        own: &Key,
    ) -> Result<(), String> {
        let (key, created) = own;
        let won = || {
            let name = check.election(election);
            format!("{} won {name} with {key} created {created}", check.name(node))
        };
        let asked = check.records().asked[node][election][0];
        let records = &check.records().firsts[election];
        let is_own = |kv: &KeyValue| kv.key == *key && kv.created == *created;
        let mut firsts = records.since(asked);
        if !firsts.any(|first| first.key.as_ref().is_some_and(is_own))
            && !check.records().went_back(asked)
        {
            let first = records.now().map_or("nobody".to_owned(), ToString::to_string);
            return Err(format!(
                "{}, which was not first since it asked; now the first is {first}",
                won()
            ));
        }
        if self.lives[node].shown.as_ref() == Some(own) {
            Ok(())
        } else {
            Err(format!("{}, and no one transaction found that and who is first", won()))
        }
    }
}

/// The required key of a transaction that reads the first key.
fn looked_for(request: &Request) -> Option<Key> {
    let Op::Txn(txn) = &request.op else { return None };
    let Some(Compare::Created { key, revision }) = txn.when.first() else { return None };
    let all = |act: &Act| matches!(act, Act::Read(read) if matches!(read.keys, Keys::Prefix(_)));
    txn.then.iter().any(all).then(|| (key.clone(), *revision))
}
