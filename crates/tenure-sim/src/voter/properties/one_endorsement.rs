use std::collections::BTreeMap;

use tenure_core::voter::{Ask, Identity, Leadership, Mode};

use super::super::account::same;
use super::{Check, Fact, Own, Property, RegionalVoters};

/// V4, V7: each voter endorses or acknowledges one leadership of each counter, in increasing order,
/// over all ballots of that counter and all runs of the voter. A tie gets no endorsement.
#[derive(Debug, Default)]
pub(in super::super) struct OneEndorsement {
    /// Highest endorsed or acknowledged leadership of each memory; in mode `available`, of each
    /// run.
    highest: BTreeMap<(Identity, u128), Leadership>,
}

impl Property<RegionalVoters> for OneEndorsement {
    const NAME: &'static str = "One endorsement a counter";
    const SOURCE: &'static str = "V4, V7";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::Promises { node, to, .. }) => {
                let Some(who) = &check.own.who[node] else { return Ok(()) };
                let run = match check.plan.own.mode {
                    Mode::Majority => 0,
                    Mode::Available => who.incarnation,
                };
                let known = self.highest.entry((who.identity, run)).or_insert_with(|| to.clone());
                if to.counter() > known.counter() {
                    *known = to.clone();
                } else if !same(to, known) {
                    return Err(format!("{who} stands for {to}, and stood for {known} before"));
                }
                Ok(())
            }
            Fact::Own(Own::Asks { node, ask: Ask::Result(result) }) => {
                let highest = result.votes.iter().filter_map(|(_, vote)| *vote).max();
                let with =
                    result.votes.iter().filter(|(_, vote)| vote.is_some() && *vote == highest);
                let with: Vec<_> = with.map(|(id, _)| id).collect();
                match with[..] {
                    [winner] if *winner == result.new_leader.id => Ok(()),
                    _ => Err(format!(
                        "{} endorses {} in {}, and the highest number is of {with:?}",
                        check.name(node),
                        result.new_leader,
                        result.ballot
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}
