use std::collections::BTreeMap;

use tenure_core::etcd::{
    Act, Bytes, CallId, Compare, KeyValue, Keys, Op, Reply, Request, Revision,
};

use super::{Court, Fact, Plan, Property};
use crate::etcd::ledger::Ledger;

/// Whoever is elected had the first key at some instant after it last asked, and knows it from one
/// transaction, which found its key and looked who is first.
#[derive(Debug)]
pub(super) struct WinsAreConfirmed {
    /// The fence of the claim that was raised last, by node and election.
    raised: Vec<Vec<u64>>,
    lives: Vec<Looks>,
}

/// A key, and when it was created.
type Own = (Bytes, Revision);

/// What one life has asked and was told.
#[derive(Clone, Debug, Default)]
struct Looks {
    asked: BTreeMap<CallId, Own>,
    /// What the last answer showed to be there while it showed who is first.
    shown: Option<Own>,
}

impl Property for WinsAreConfirmed {
    const NAME: &'static str = "A win is confirmed by the store";
    const SOURCE: &'static str = "ruling 2 (E1)";

    fn new(plan: &Plan) -> Self {
        let nodes = plan.nodes.len();
        let raised = vec![vec![0; plan.elections.len()]; nodes];
        Self { raised, lives: vec![Looks::default(); nodes] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => self.lives[*node] = Looks::default(),
            Fact::Sent { node, request, .. } => {
                if let Some(own) = looked_for(request) {
                    self.lives[*node].asked.insert(request.call, own);
                }
            }
            Fact::Heard { node, answer, .. } => {
                let looks = &mut self.lives[*node];
                let shows = matches!(answer.reply, Reply::Txn { succeeded: true, .. });
                looks.shown = looks.asked.remove(&answer.call).filter(|_| shows);
            }
            Fact::Claimed { node, election, fence, .. } => {
                self.raised[*node][*election] = Ledger::created(*fence);
            }
            Fact::Elected { node, election, key, .. } => {
                let created = self.raised[*node][*election];
                self.judge(court, (*node, *election), &((*key).clone(), created))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl WinsAreConfirmed {
    fn judge(
        &self,
        court: &Court<'_>,
        (node, election): (usize, usize),
        own: &Own,
    ) -> Result<(), String> {
        let (key, created) = own;
        let won = || {
            let name = court.election(election);
            format!("{} won {name} with {key} created {created}", court.name(node))
        };
        let asked = court.ledger.asked[node][election][0];
        let annals = court.annals(election);
        let is_own = |kv: &KeyValue| kv.key == *key && kv.created == *created;
        let mut firsts = annals.firsts_since(asked);
        if !firsts.any(|first| first.key.as_ref().is_some_and(is_own))
            && !court.ledger.went_back(asked)
        {
            let first = annals.first().map_or("nobody".to_owned(), ToString::to_string);
            return Err(format!(
                "{}, which was not first since it asked; now the first is {first}",
                won()
            ));
        }
        match self.lives[node].shown.as_ref() == Some(own) {
            true => Ok(()),
            false => Err(format!("{}, and no one transaction found that and who is first", won())),
        }
    }
}

/// The key that has to be there for a transaction to look who is first, if that is what it does.
fn looked_for(request: &Request) -> Option<Own> {
    let Op::Txn(txn) = &request.op else { return None };
    let Some(Compare::Created { key, revision }) = txn.when.first() else { return None };
    let all = |act: &Act| matches!(act, Act::Read(read) if matches!(read.keys, Keys::Prefix(_)));
    txn.then.iter().any(all).then(|| (key.clone(), *revision))
}
