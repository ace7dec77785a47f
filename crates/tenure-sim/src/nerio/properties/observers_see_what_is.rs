use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{Inc, Who};
use tenure_core::{LeaderView, View};

use super::{Check, Fact, Own, Property, QuorumLeases, seconds};
use crate::nerio::fact::named;
use crate::nerio::forge::stranger;
use crate::nerio::plan::NodePlan;
use crate::nerio::walls::{ALLOWANCE, Read};
use crate::scenario::Scenario;
use crate::scenario::plan::nanos;

/// Section 10.4: an observed leader has its own address, value and fence, and holds written grants
/// of a quorum as long as the view says.
#[derive(Debug, Default)]
pub(super) struct ObserversSeeWhatIs {
    /// True time at which each life last sent a release, or a grantor last freed its grant.
    gave_up: BTreeMap<(usize, Inc), u64>,
}

impl Property<QuorumLeases> for ObserversSeeWhatIs {
    const NAME: &'static str = super::OBSERVERS.0;
    const SOURCE: &'static str = super::OBSERVERS.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Viewed { election, node, view: View::Leader(leader), until, looked, .. }
                if until > check.now && looked == check.now =>
            {
                self.judge(check, election, node, leader, until)
            }
            Fact::Own(
                Own::Released { election, who, .. } | Own::Freed { election, by: who, .. },
            ) => {
                self.gave_up.insert((election, who.inc), check.now);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl ObserversSeeWhatIs {
    fn judge(
        &self,
        check: &Check<'_>,
        election: usize,
        node: usize,
        leader: &LeaderView,
        until: u64,
    ) -> Result<(), String> {
        let who = &named(leader);
        judge_who(check, election, node, leader, who)?;
        let patience = QuorumLeases::patience(check.plan, node).unwrap_or_default();
        // The leader may release while the answers travel: the view then shows the past.
        let gave_up = self.gave_up.get(&(election, who.inc));
        if gave_up.is_some_and(|at| at + patience > check.now) {
            return Ok(());
        }
        // A grantor whose wall clock is set back counts its grants by this clock until the clock is
        // right again, so grants last longer. The end of a grant moves by `ALLOWANCE` with each
        // translation: in the grant's last moments, and once more after a step.
        let lasts = |grantor: usize, finish: u64, read: Read| {
            if finish >= until || !check.compares_wall() {
                return finish >= until;
            }
            let since = read.at.min(check.now.saturating_sub(patience));
            let set_back = read.set_back(&check.plan.conditions, grantor, since, check.now);
            let drift = check.plan.nodes[grantor].config.drift;
            let longer = Duration::from_nanos(set_back).saturating_add(2 * ALLOWANCE);
            let longer = drift.real_at_most(drift.stretch(longer));
            finish.saturating_add(nanos(longer)) >= until
        };
        if check.is_backed_by(election, who, None, lasts) {
            return Ok(());
        }
        Err(format!(
            "{} sees that {who} holds {} until {}, but only {} granted it until then; {}",
            check.name(node),
            check.election(election),
            seconds(until),
            check.backers(election, who, until),
            check.clock(node),
        ))
    }
}

/// Checks that a view has the leader's address, value and fence.
fn judge_who(
    check: &Check<'_>,
    election: usize,
    node: usize,
    leader: &LeaderView,
    who: &Who,
) -> Result<(), String> {
    let name = check.election(election);
    let observer = check.name(node);
    let LeaderView { address: Some(address), value, fence: Some(_), .. } = leader else {
        return Err(format!("{observer} sees {leader}, without an address or a fence"));
    };
    let known = check.plan.nodes.iter().find(|node| node.name == who.name);
    // A stranger may ask in the leader's name.
    let forged = check.plan.conditions.forges > 0 && *address == stranger();
    let there = |known: &NodePlan| known.address == *address || forged;
    match known {
        Some(known) if there(known) && value.as_bytes() == known.name.as_str().as_bytes() => Ok(()),
        _ => Err(format!("{observer} sees that {who} holds {name} at {address} as {value}")),
    }
}
