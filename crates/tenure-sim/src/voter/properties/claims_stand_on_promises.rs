use std::collections::BTreeMap;

use tenure_core::voter::{Answer, Ask, Participant, VoteDto};

use super::{Check, Fact, Own, Property, RegionalVoters, seconds};

/// V5, V6: a leader raises a claim until E only after a quorum of the leader's electorate has
/// promised to follow this leadership alone. Each promise ends later than E, by its voter's clock.
#[derive(Debug, Default)]
pub(in super::super) struct ClaimsStandOnPromises;

impl Property<RegionalVoters> for ClaimsStandOnPromises {
    const NAME: &'static str = "A claim stands on promises of a quorum";
    const SOURCE: &'static str = "V1, V5, V6";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Claimed(claim) = fact else { return Ok(()) };
        let Some(fence) = claim.fence else { return Ok(()) };
        // The machine may have stopped between the core's clock reading and the raise, until the
        // claim's end.
        if claim.until <= check.now {
            return Ok(());
        }
        let own = check.own;
        let counter = fence.number();
        let (Some(who), Some(memory)) = (&own.who[claim.node], own.memory(claim.node)) else {
            return Err(format!("{} leads without a memory", check.name(claim.node)));
        };
        let Some(electorate) = &memory.electorate else {
            return Err(format!("{} leads without an electorate", check.name(claim.node)));
        };
        let promised = |identity| own.account.promised_to(identity, who, counter);
        let members = electorate.members.iter();
        let ends: Vec<_> = members
            .filter(|member| member.id != who.id)
            .map(|member| (member.id.as_str(), promised(member.identity).unwrap_or(0)))
            .collect();
        let stands = ends.iter().filter(|(_, until)| *until >= claim.until).count();
        // The leader keeps its own promise without a message.
        let quorum = electorate.members.len() / 2 + 1;
        if stands + usize::from(electorate.has(who)) >= quorum {
            return Ok(());
        }
        let ends = ends.iter().map(|(id, until)| format!("{id} until {}", seconds(*until)));
        Err(format!(
            "{who} leads with fence {counter} until {}, and of {electorate} have promised {}",
            seconds(claim.until),
            ends.collect::<Vec<_>>().join(", "),
        ))
    }
}

/// V5: a voter that has joined a higher ballot leads by no lower ballot.
#[derive(Debug, Default)]
pub(in super::super) struct WinnersStayed {
    /// Highest counter for which each run has cast a number.
    cast: BTreeMap<Participant, u64>,
}

impl Property<RegionalVoters> for WinnersStayed {
    const NAME: &'static str = "Who wins has joined no higher ballot";
    const SOURCE: &'static str = "V5";
    const NEEDS_BOUND: bool = false;

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Claimed(claim) if check.own(&claim).is_none() => {
                let (Some(fence), Some(who)) = (claim.fence, &check.own.who[claim.node]) else {
                    return Ok(());
                };
                match self.cast.get(who) {
                    Some(cast) if *cast > fence.number() => Err(format!(
                        "{who} leads with fence {fence}, and has cast a number for {cast} before"
                    )),
                    _ => Ok(()),
                }
            }
            Fact::Own(
                Own::Asks { node, ask: Ask::Cast(vote) }
                | Own::Answers { node, answer: Answer::Cast(vote) },
            ) => {
                let VoteDto { ballot, .. } = vote;
                if let Some(who) = &check.own.who[node] {
                    let cast = self.cast.entry(who.clone()).or_default();
                    *cast = ballot.counter.max(*cast);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
