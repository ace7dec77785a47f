use tenure_core::etcd::KeyValue;

use super::{Check, Claim, Elections, Fact, Plan, Property, Records};

/// An elected candidate had the first key at some instant after its last request.
#[derive(Debug, Default)]
pub(super) struct WinsAreConfirmed {
    /// Create revision in the fence of the last raised claim, by node and election.
    raised: Vec<Vec<u64>>,
}

impl Property<Elections> for WinsAreConfirmed {
    const NAME: &'static str = "A win is confirmed by the store";
    const SOURCE: &'static str = "ruling 2 (E1)";

    fn begin(&mut self, plan: &Plan) {
        self.raised = vec![vec![0; plan.elections.len()]; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed(Claim { node, election, fence: Some(fence), .. }) => {
                self.raised[node][election] = Records::created(fence);
                Ok(())
            }
            Fact::Elected { node, election, id, .. } => self.judge(check, node, election, id),
            _ => Ok(()),
        }
    }
}

impl WinsAreConfirmed {
    fn judge(
        &self,
        check: &Check<'_>,
        node: usize,
        election: usize,
        id: &str,
    ) -> Result<(), String> {
        let key = Elections::key_of(check.plan, election, id);
        let created = self.raised[node][election];
        let asked = check.records().asked[node][election][0];
        let records = &check.records().firsts[election];
        let is_own = |kv: &KeyValue| kv.key == key && kv.created == created;
        let mut firsts = records.since(asked);
        if firsts.any(|first| first.key.as_ref().is_some_and(is_own))
            || check.records().went_back(asked)
        {
            return Ok(());
        }
        let first = records.now().map_or("nobody".to_owned(), ToString::to_string);
        let name = check.name(node);
        let election = check.election(election);
        Err(format!(
            "{name} won {election} with {key} created {created}, which was not first since it \
             asked; now the first is {first}"
        ))
    }
}
