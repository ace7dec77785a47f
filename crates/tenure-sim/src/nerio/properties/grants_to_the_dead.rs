use std::collections::BTreeMap;

use tenure_core::Time;
use tenure_core::nerio::Inc;

use super::{Court, Fact, Plan, Property};

/// How many requests of one life are remembered at one grantor.
const REMEMBERED: usize = 16;

/// Parked requests and erratum 4: nobody is granted what it has given up, nor what it stopped
/// asking for. It breaks no safety, and costs everybody else a lease.
#[derive(Debug)]
pub(super) struct GrantsToTheDead {
    asked: BTreeMap<Key, Vec<(Time, Time)>>,
    gave_up: BTreeMap<Key, (Time, Time)>,
    /// Whether a request may be turned away for reasons that are not its own.
    refusals: bool,
}

/// A grantor, an election, a life.
type Key = (usize, usize, Inc);

impl Property for GrantsToTheDead {
    const NAME: &'static str = "No grant to the dead";
    const SOURCE: &'static str = "parked requests 1 and 2; erratum 4";
    const NEEDS_BOUND: bool = false;

    fn new(plan: &Plan) -> Self {
        let refusals = plan.conditions.rates.write > 0;
        Self { asked: BTreeMap::new(), gave_up: BTreeMap::new(), refusals }
    }

    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.asked.retain(|(grantor, ..), _| grantor != node);
                self.gave_up.retain(|(grantor, ..), _| grantor != node);
                Ok(())
            }
            Fact::Asks { grantor, election, from, request, local } => {
                let asked = self.asked.entry((*grantor, *election, from.who.inc)).or_default();
                if asked.len() >= REMEMBERED {
                    asked.remove(0);
                }
                asked.push((request.start, *local));
                Ok(())
            }
            Fact::GivesUp { grantor, election, from, release, local } => {
                let key = (*grantor, *election, from.who.inc);
                let gave_up = self.gave_up.entry(key).or_insert((release.start, *local));
                if gave_up.0 <= release.start {
                    *gave_up = (release.start, *local);
                }
                Ok(())
            }
            Fact::Granted { grantor, election, record, local, .. } => {
                let before = court.annals(*election).grants.get(grantor);
                let again = |grant: &&crate::nerio::ledger::Grant| {
                    grant.to == record.holder && grant.start == record.start
                };
                if before.filter(again).is_some() {
                    return Ok(());
                }
                let (name, name_of) = (&court.plan.nodes[*grantor].name, court.election(*election));
                self.judge(court, (*grantor, *election, record.holder.inc), record.start, *local)
                    .map_err(|why| format!("{name} grants {name_of} to {}, {why}", record.holder))
            }
            _ => Ok(()),
        }
    }
}

impl GrantsToTheDead {
    fn judge(&self, court: &Court<'_>, key: Key, start: Time, local: Time) -> Result<(), String> {
        let config = &court.plan.nodes[key.0].config;
        if let Some((up_to, at)) = self.gave_up.get(&key)
            && start <= *up_to
            && local.since(*at) < config.quarantine()
        {
            return Err(format!("whose Start {start} was given up at {at} up to {up_to}"));
        }
        let Some(asked) = self.asked.get(&key) else {
            return Err(format!("who never asked with Start {start}"));
        };
        let arrivals = asked.iter().rev().filter(|(other, _)| *other == start);
        let Some(arrival) = arrivals.map(|(_, at)| *at).next() else {
            return Err(format!("who never asked with Start {start}"));
        };
        if local.since(arrival) > config.parked_for() {
            let (age, most) = (local.since(arrival), config.parked_for());
            return Err(format!("who asked {age:?} ago and not since; {most:?} is the most"));
        }
        let fresh = |(other, at): &&(Time, Time)| {
            *other > start && at >= &arrival && local.since(*at) < config.parked_for()
        };
        match asked.iter().find(fresh).filter(|_| !self.refusals) {
            Some((newer, _)) => Err(format!("with Start {start}, and it has asked with {newer}")),
            None => Ok(()),
        }
    }
}
