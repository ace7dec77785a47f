use super::{Court, Fact, Plan, Property};
use crate::etcd::ledger::Ledger;

/// Whoever is elected had the first key at some instant after it last asked.
#[derive(Debug)]
pub(super) struct WinsAreConfirmed {
    /// The fence of the claim that was raised last, by node and election.
    raised: Vec<Vec<u64>>,
}

impl Property for WinsAreConfirmed {
    const NAME: &'static str = "A win is confirmed by the store";
    const SOURCE: &'static str = "ruling 2 (E1)";

    fn new(plan: &Plan) -> Self {
        Self { raised: vec![vec![0; plan.elections.len()]; plan.nodes.len()] }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed { node, election, fence, .. } => {
                self.raised[*node][*election] = Ledger::created(*fence);
                Ok(())
            }
            Fact::Elected { node, election, key, .. } => {
                let asked = court.ledger.asked[*node][*election][0];
                let created = self.raised[*node][*election];
                let annals = court.annals(*election);
                let mut firsts = annals.firsts_since(asked);
                let is_own =
                    |kv: &tenure_core::etcd::KeyValue| kv.key == **key && kv.created == created;
                if firsts.any(|first| first.key.as_ref().is_some_and(is_own))
                    || court.ledger.went_back(asked)
                {
                    return Ok(());
                }
                let first = annals.first().map_or("nobody".to_owned(), ToString::to_string);
                Err(format!(
                    "{} won {} with {key} created {created}, which was not first since it asked; \
                     now the first is {first}",
                    court.name(*node),
                    court.election(*election),
                ))
            }
            _ => Ok(()),
        }
    }
}
