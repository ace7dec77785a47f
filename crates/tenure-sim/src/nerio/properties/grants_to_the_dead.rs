use std::net::SocketAddr;

use tenure_core::Time;
use tenure_core::nerio::{GrantRecord, Inc, Message, Refusal};

use super::places::{ByLife, Place, Places};
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Parked requests and erratum 4: nobody is granted what it has given up, what it let lapse, nor
/// what it stopped asking for, and nobody is told that it waits with what has just lapsed. It
/// breaks no safety, and costs everybody else a lease.
#[derive(Debug, Default)]
pub(super) struct GrantsToTheDead {
    asked: Places<ByLife<Vec<Asked>>>,
    gave_up: Places<ByLife<(Time, Time)>>,
    /// Up to which Start a grant lapsed before another life got it, and when that was.
    lapsed: Places<ByLife<(Time, Time)>>,
    /// Where the last grant was given back or forgotten, and did not lapse.
    freed: Places<bool>,
    /// Who has granted with the input at hand, and when on its clock.
    decided: Option<(usize, Time)>,
}

/// A request that arrived.
#[derive(Debug)]
struct Asked {
    start: Time,
    /// When, on the grantor's clock.
    at: Time,
    /// Whether the grantor said that it waits.
    parked: bool,
}

impl Property<QuorumLeases> for GrantsToTheDead {
    const NAME: &'static str = "No grant to the dead";
    const SOURCE: &'static str = "parked requests 1 and 2; erratum 4";

    fn begin(&mut self, plan: &Plan) {
        *self = Self {
            asked: Places::by_election(plan),
            gave_up: Places::by_election(plan),
            lapsed: Places::by_election(plan),
            freed: Places::by_election(plan),
            decided: None,
        };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.asked.forget(node);
                self.gave_up.forget(node);
                self.lapsed.forget(node);
                // What it granted before may be forgotten.
                self.freed.of(node).fill(true);
                Ok(())
            }
            Fact::Own(Own::Asks { grantor, election, from, request, local }) => {
                let asked = self.asked.at_mut((grantor, election));
                let asked = asked.get_or(from.who.inc, Vec::new);
                // What is older than that is dead, or was never parked.
                let oldest = local.before(check.plan.nodes[grantor].config.parked_for());
                asked.retain(|asked| asked.at >= oldest);
                asked.push(Asked { start: request.start, at: local, parked: false });
                Ok(())
            }
            Fact::Own(Own::Sent { node, to, message: Message::Refused(refused), .. }) => {
                if let Refusal::Held { parked: true, .. } = refused.refusal {
                    let place = (node, check.number(&refused.election).unwrap_or(0));
                    // An earlier life of its name may still ask; and what lapsed did so for the
                    // address that it was granted to.
                    let strange = to.is_none();
                    return self.is_parked(check, place, refused.asker, refused.start, strange);
                }
                Ok(())
            }
            Fact::Handled { node, .. } => {
                self.decided = self.decided.filter(|(grantor, _)| *grantor != node);
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, .. }) => {
                *self.freed.at_mut((grantor, election)) = true;
                Ok(())
            }
            // The word of a stranger ends nothing.
            Fact::Own(Own::GivesUp { from, .. }) if is_strange(check.plan, from.address) => Ok(()),
            Fact::Own(Own::GivesUp { grantor, election, from, release, local }) => {
                let gave_up = self.gave_up.at_mut((grantor, election));
                let gave_up = gave_up.get_or(from.who.inc, || (release.start, local));
                if gave_up.0 <= release.start {
                    *gave_up = (release.start, local);
                }
                Ok(())
            }
            Fact::Own(Own::Granted { grantor, election, record, local, late, .. }) => {
                self.granted(check, (grantor, election), record, local, late)
            }
            _ => Ok(()),
        }
    }
}

/// Whether no node has that address.
fn is_strange(plan: &Plan, address: SocketAddr) -> bool {
    plan.nodes.iter().all(|node| node.address != address)
}

impl GrantsToTheDead {
    fn granted(
        &mut self,
        check: &Check<'_>,
        place: Place,
        record: &GrantRecord,
        local: Time,
        late: bool,
    ) -> Result<(), String> {
        let (grantor, election) = place;
        let before = check.own.grants[election].get(&grantor);
        self.decided = Some((grantor, local));
        let again =
            |grant: &&crate::nerio::Grant| grant.to == record.holder && grant.start == record.start;
        if before.filter(again).is_some() {
            return Ok(());
        }
        // What ended that long ago is forgotten, and so is whose it was.
        let node = &check.plan.nodes[grantor];
        let kept = node.config.drift.real_at_least(node.remembers()).as_nanos() as u64;
        let freed = std::mem::take(self.freed.at_mut(place));
        let other = before.filter(|before| before.to != record.holder && !freed);
        if let Some(other) = other.filter(|other| check.now < other.finish + kept) {
            self.lapsed.at_mut(place).insert(other.to.inc, (other.start, local));
        }
        if late || is_strange(check.plan, record.address) {
            return Ok(());
        }
        let (name, name_of) = (&node.name, check.election(election));
        self.judge(check, place, record.holder.inc, (record.start, local))
            .map_err(|why| format!("{name} grants {name_of} to {}, {why}", record.holder))
    }

    fn judge(
        &self,
        check: &Check<'_>,
        place: Place,
        inc: Inc,
        (start, local): (Time, Time),
    ) -> Result<(), String> {
        let config = &check.plan.nodes[place.0].config;
        let remembered = check.plan.nodes[place.0].remembers();
        if let Some((up_to, at)) = self.gave_up.at(place).get(inc)
            && start <= *up_to
            && local.since(*at) < remembered
        {
            return Err(format!("whose Start {start} was given up at {at} up to {up_to}"));
        }
        if let Some((up_to, at)) = self.lapsed.at(place).get(inc)
            && start <= *up_to
            && local.since(*at) < remembered
        {
            return Err(format!("whose Start {start} had lapsed when another got it at {at}"));
        }
        let Some(asked) = self.asked.at(place).get(inc) else {
            let most = config.parked_for();
            return Err(format!("who did not ask with Start {start} in the last {most:?}"));
        };
        // Where writes fail, what waits may be turned away when its turn comes; where there is no
        // room for all, one that waits gives way to another.
        let room = config.limits.parked >= check.plan.nodes.len();
        let keeps = check.plan.conditions.rates.write == 0 && room;
        let Some(arrival) = asked.iter().rev().find(|asked| asked.start == start) else {
            let most = config.parked_for();
            return Err(format!("who did not ask with Start {start} in the last {most:?}"));
        };
        if local.since(arrival.at) > config.parked_for() {
            let (age, most) = (local.since(arrival.at), config.parked_for());
            return Err(format!("who asked {age:?} ago and not since; {most:?} is the most"));
        }
        let fresh = |other: &&Asked| {
            let waits = other.parked && other.at < local;
            other.start > start && waits && local.since(other.at) < config.parked_for()
        };
        match asked.iter().find(fresh).filter(|_| keeps) {
            Some(newer) => Err(format!("with Start {start}, and it waits with {}", newer.start)),
            None => Ok(()),
        }
    }

    fn is_parked(
        &mut self,
        check: &Check<'_>,
        place: Place,
        inc: Inc,
        start: Time,
        strange: bool,
    ) -> Result<(), String> {
        if let Some((up_to, at)) = self.lapsed.at(place).get(inc)
            && !strange
            && self.decided == Some((place.0, *at))
            && start <= *up_to
        {
            let name = &check.plan.nodes[place.0].name;
            return Err(format!("{name} lets {inc} wait, whose Start {start} has just lapsed"));
        }
        let Some(asked) = self.asked.at_mut(place).get_mut(inc) else { return Ok(()) };
        // Of two that wait, the one with the lower Start is not kept.
        if asked.iter().all(|other| other.start <= start)
            && let Some(this) = asked.iter_mut().find(|other| other.start == start)
        {
            this.parked = true;
        }
        Ok(())
    }
}
