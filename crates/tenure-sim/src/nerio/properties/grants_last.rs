use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Boot, GrantRecord, Stamp, Who};
use tenure_core::{Drift, Time};

use super::places::{ByLife, Place, Places};
use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 3, step 6, to the nanosecond: a grant lasts (1 + ρ)δ from the arrival of its request,
/// never goes back, stays at one address, and has a stamp above all before.
#[derive(Debug, Default)]
pub(super) struct GrantsLast {
    asked: Places<ByLife<Vec<Asked>>>,
    grants: Places<Option<Grant>>,
    /// Where a grant of an earlier life may go on, longer than it is known here.
    restored: Places<bool>,
    /// The highest stamp of each grantor.
    stamps: Vec<Option<Stamp>>,
    /// Grants of this boot or an earlier one of each grantor are told again, and not given anew.
    before: Vec<Option<Boot>>,
}

#[derive(Debug)]
struct Asked {
    start: Time,
    arrival: Time,
    delta: Duration,
}

#[derive(Debug)]
struct Grant {
    holder: Who,
    address: SocketAddr,
    start: Time,
    finish: Time,
    stamp: Stamp,
    freed: bool,
}

impl Property<QuorumLeases> for GrantsLast {
    const NAME: &'static str = "A grant lasts (1 + ρ)δ from the arrival of its request";
    const SOURCE: &'static str = "section 3, step 6; parked requests 1 and 3; identity";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let none = || vec![None; plan.nodes.len()];
        let (asked, grants) = (Places::by_election(plan), Places::by_election(plan));
        let (restored, before) = (Places::by_election(plan), vec![None; plan.nodes.len()]);
        *self = Self { asked, grants, restored, stamps: none(), before };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.grants.forget(node);
                self.restored.of(node).fill(true);
                self.before[node] = self.stamps[node].map(|stamp| stamp.boot);
                Ok(())
            }
            Fact::Own(Own::Quarantined { grantor, .. }) => {
                self.asked.forget(grantor);
                (self.before[grantor], self.stamps[grantor]) = (None, None);
                Ok(())
            }
            Fact::Own(Own::Asks { grantor, election, from, request, local }) => {
                let asked = self.asked.at_mut((grantor, election));
                let asked = asked.get_or(from.who.inc, Vec::new);
                let oldest = local.before(check.plan.nodes[grantor].config.parked_for());
                asked.retain(|asked| asked.arrival >= oldest);
                let (start, arrival, delta) = (request.start, local, request.delta);
                asked.push(Asked { start, arrival, delta });
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, .. }) => {
                if let Some(grant) = self.grants.at_mut((grantor, election)) {
                    grant.freed = true;
                }
                Ok(())
            }
            Fact::Own(Own::Granted { grantor, election, record, .. })
            | Fact::Own(Own::Decided { grantor, election, record }) => {
                let (place, at) = ((grantor, election), record.stamp);
                if self.before[grantor].is_some_and(|boot| at.boot <= boot) {
                    return Ok(());
                }
                // What could not be written is written again when it has been given back, too.
                let again = |known: &Grant| {
                    let same = known.holder == record.holder && known.start == record.start;
                    same && known.stamp == at && known.freed
                };
                if self.grants.at(place).as_ref().is_some_and(again) {
                    return Ok(());
                }
                let done = self.judge(check, place, record);
                *self.restored.at_mut(place) = false;
                let stamp = &mut self.stamps[grantor];
                *stamp = (*stamp).max(Some(at));
                *self.grants.at_mut(place) = Some(Grant {
                    holder: record.holder.clone(),
                    address: record.address,
                    start: record.start,
                    finish: record.finish,
                    stamp: at,
                    freed: false,
                });
                done.map_err(|why| {
                    let name = &check.plan.nodes[grantor].name;
                    let (of, holder, start) =
                        (check.election(election), &record.holder, record.start);
                    format!("{name} grants {of} to {holder} with Start {start}, and {why}")
                })
            }
            _ => Ok(()),
        }
    }
}

impl GrantsLast {
    fn judge(&self, check: &Check<'_>, place: Place, record: &GrantRecord) -> Result<(), String> {
        let node = &check.plan.nodes[place.0];
        let config = &node.config;
        let (finish, at) = (record.finish, record.stamp);
        let before = self.grants.at(place).as_ref();
        let own = before.filter(|before| before.holder == record.holder && !before.freed);
        // Forgotten after that, sooner by a later life with a shorter lease: then a repetition is a
        // request like any other.
        let remembered = node.remembers();
        let known = |own: &&Grant| at.clock < own.finish.after(remembered);
        if let Some(own) = own.filter(|own| own.start == record.start).filter(known) {
            let grown = own.finish != finish;
            let why = || format!("did so before until {}, and not until {finish}", own.finish);
            return if grown { Err(why()) } else { Ok(()) };
        }
        if let Some(last) = self.stamps[place.0].filter(|last| *last >= at) {
            return Err(format!("its stamp {at} is not above {last}"));
        }
        if let Some(own) = own.filter(|own| at.clock < own.finish) {
            if finish < own.finish {
                return Err(format!("goes back from {} to {finish}", own.finish));
            }
            if own.address != record.address {
                return Err(format!("moves from {} to {}", own.address, record.address));
            }
        }
        if finish <= at.clock {
            return Err(format!("was over at {finish}, before {at}"));
        }
        let Some(asked) = self.asked.at(place).get(record.holder.inc) else { return Ok(()) };
        let mut asked = asked.iter().filter(|asked| asked.start == record.start).peekable();
        if asked.peek().is_none() {
            return Ok(());
        }
        let kept = before.filter(|before| !before.freed).map(|before| before.finish);
        let fits = |asked: &Asked| {
            let ends = asked.arrival.after(longest(config.drift, asked.delta));
            let goes_on = kept == Some(finish) || *self.restored.at(place);
            asked.delta <= config.delta_max && (finish == ends || goes_on && finish > ends)
        };
        match asked.any(fits) {
            true => Ok(()),
            false => Err(format!("until {finish}, which is not what was asked for")),
        }
    }
}

/// ⌈(1 + ρ)δ⌉.
fn longest(drift: Drift, delta: Duration) -> Duration {
    let parts = 1_000_000_000 + u128::from(drift.parts_per_billion());
    let nanos = (delta.as_nanos() * parts).div_ceil(1_000_000_000);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
