use std::collections::BTreeMap;

use tenure_core::voter::{Answer, Ask, Ballot, Participant, VoteDto};

use super::{Check, Fact, Own, Property, RegionalVoters};

/// V3: a run casts one number in each ballot, and takes part in ballots in increasing order. A run
/// never rejoins a ballot that it has left.
#[derive(Debug, Default)]
pub(in super::super) struct VotesStay {
    /// Ballots of each run, with the run's number in each.
    cast: BTreeMap<Participant, BTreeMap<Ballot, Option<i64>>>,
}

impl Property<RegionalVoters> for VotesStay {
    const NAME: &'static str = "No vote changes within a ballot";
    const SOURCE: &'static str = "V3";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let (Fact::Own(Own::Asks { node, ask: Ask::Cast(cast) })
        | Fact::Own(Own::Answers { node, answer: Answer::Cast(cast) })) = fact
        else {
            return Ok(());
        };
        let Some(who) = &check.own.who[node] else { return Ok(()) };
        let VoteDto { ballot, vote, voter_id, .. } = cast;
        if *voter_id != who.id {
            return Err(format!("{who} casts a number of {voter_id}"));
        }
        let all = self.cast.entry(who.clone()).or_default();
        let last = all.last_key_value().map(|(last, _)| last.clone());
        match (all.get(ballot), last) {
            (Some(number), _) if number == vote => {}
            (Some(number), _) => {
                return Err(format!(
                    "{who} casts {vote:?} in {ballot}, and has cast {number:?} there before"
                ));
            }
            (None, Some(last)) if last > *ballot => {
                return Err(format!("{who} joins {ballot}, and has been in {last}"));
            }
            (None, _) => drop(all.insert(ballot.clone(), *vote)),
        }
        Ok(())
    }
}
