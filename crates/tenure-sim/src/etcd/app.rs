//! The application of a node: what it holds in its hands, and what it wants.

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::{Command, Extra};

use super::bent::Bent;
use super::packet::Order;
use super::plan::{Kind, Plan};
use super::store::MEMBERS;
use super::store::note::Trouble;
use crate::handle::Handle;
use crate::rng::{Rng, mix};

/// What the draw of whether an election below another one is wanted is for.
const NESTS: u64 = 0x6e65_7374;

/// What one application knows of one election.
#[derive(Clone, Debug, Default)]
pub(super) struct Office {
    /// Whether it has asked to lead and was not told that it is over.
    pub(super) campaigning: bool,
    /// Since when it has been so, and since when not.
    pub(super) since: u64,
    pub(super) left: u64,
    /// What it holds of its latest leadership.
    pub(super) handle: Handle,
    /// Whether it follows who leads.
    pub(super) observing: bool,
    /// Since when.
    pub(super) observed: u64,
    /// What it told others last.
    pub(super) value: String,
    /// With which value it asked to lead while it took itself for a candidate: its core refuses
    /// that, unless what it was candidate for is over by the time that it is asked.
    pub(super) anew: Option<String>,
    /// How often it has told others something.
    pub(super) said: u64,
}

impl Office {
    /// The application asks to lead.
    pub(super) fn campaign(&mut self, value: &str, now: u64) {
        match self.campaigning {
            true => self.anew = Some(value.to_owned()),
            false => {
                (self.campaigning, self.since) = (true, now);
                self.say(value);
            }
        }
    }

    /// It tells others something.
    pub(super) fn say(&mut self, value: &str) {
        value.clone_into(&mut self.value);
        self.said += 1;
    }

    /// What it was candidate or leader for is over.
    pub(super) fn end(&mut self, now: u64) {
        self.handle.end();
        (self.campaigning, self.left) = (false, now);
        if let Some(value) = self.anew.take() {
            self.campaign(&value, now);
        }
    }
}

/// One application.
#[derive(Clone, Debug, Default)]
pub(super) struct App {
    pub(super) offices: Vec<Office>,
}

impl App {
    pub(super) fn new(elections: usize, now: u64) -> Self {
        let office = Office { left: now, ..Office::default() };
        Self { offices: vec![office; elections] }
    }

    /// What it wants at `now`.
    pub(super) fn wish(
        &self,
        plan: &Plan,
        node: usize,
        now: u64,
        rng: &mut Rng,
    ) -> Option<(usize, Command)> {
        let this = plan.ours(node)?;
        let name = &plan.nodes[node].name;
        let find = |wanted: &dyn Fn(usize, &Office) -> bool| {
            self.offices.iter().enumerate().position(|(n, office)| wanted(n, office))
        };
        // A key that comes back has the value of the one that is being made.
        let numbers = if plan.bent == Bent::Bumped { 1 } else { 10 };
        let campaign =
            |number: u64| Command::Campaign { value: value(name, number % numbers), priority: 0 };
        if now >= plan.retired {
            let election = find(&|_, office| office.campaigning)?;
            return Some((election, Command::Resign));
        }
        if now >= plan.conditions.storm_ends {
            let abstains = |election: usize| this.abstains >> election & 1 == 1;
            let out = find(&|n, office| office.campaigning && abstains(n));
            if let Some(election) = out {
                return Some((election, Command::Resign));
            }
            let idle = find(&|n, office| !office.campaigning && !abstains(n) && this.campaigns);
            if let Some(election) = idle {
                return Some((election, campaign(rng.within(0..9))));
            }
            let idle = this.observes.then(|| find(&|_, office| !office.observing)).flatten();
            return idle.map(|election| (election, Command::Observe { every: Duration::ZERO }));
        }
        let election = rng.below(self.offices.len());
        if this.campaigns && !self.offices[election].campaigning {
            let number = rng.within(0..9);
            return rng.once_in(plan.reluctance).then(|| (election, campaign(number)));
        }
        let command = match rng.within(0..16) {
            0 | 1 => Command::Resign,
            2 => Command::Extra(Extra::Proclaim { value: value(name, rng.within(0..9)) }),
            3 if rng.once_in(4) => campaign(9),
            4 if this.observes => Command::Observe { every: Duration::ZERO },
            5 if this.observes && rng.once_in(3) => Command::Unobserve,
            _ => return None,
        };
        Some((election, command))
    }
}

fn value(name: &str, number: u64) -> tenure_core::Value {
    format!("{name}{number}").parse().unwrap_or_else(|wrong| panic!("a value: {wrong}"))
}

/// An application that leads may want an election whose keys would be keys of that one, too.
pub(super) fn nested(
    plan: &Plan,
    now: u64,
    leads: impl Fn(&ElectionName) -> bool,
) -> Option<(ElectionName, Order)> {
    let seed = plan.conditions.seed ^ NESTS;
    let draws = [mix(seed), mix(seed ^ mix(now))];
    let storm = now < plan.conditions.storm_ends;
    if !storm || draws.iter().any(|draw| !draw.is_multiple_of(8)) {
        return None;
    }
    let above = plan.elections.iter().find(|name| leads(name))?;
    let name = format!("{above}/part").parse().ok()?;
    let value = above.as_str().parse().ok()?;
    Some((name, Order::Ours(Command::Campaign { value, priority: 0 })))
}

/// What goes wrong in etcd now.
pub(super) fn trouble(plan: &Plan, now: u64, rng: &mut Rng) -> Option<Trouble> {
    if now >= plan.conditions.storm_ends || plan.troubles == 0 || !rng.once_in(plan.troubles) {
        return None;
    }
    let member = rng.below(MEMBERS);
    let most = if rng.once_in(4) { plan.unit * 3 } else { plan.unit };
    let span = rng.within(plan.unit / 20..most);
    let nth = rng.next() as usize;
    let ours = (0..plan.nodes.len()).filter(|node| plan.ours(*node).is_some()).count();
    if plan.bent == Bent::Terms && rng.once_in(2) {
        return Some(Trouble::MoveLeader);
    }
    if plan.restores && rng.once_in(4) {
        let back = rng.once_in(2);
        return Some(if back { Trouble::Restore { span } } else { Trouble::Backup });
    }
    if plan.refuses && rng.once_in(2) {
        let short = span / 4;
        return Some(match rng.once_in(2) {
            true => Trouble::Full { span: short },
            false => Trouble::Deny { node: rng.below(ours), span: short },
        });
    }
    if plan.argues && rng.once_in(6) {
        return Some(Trouble::Argue { span });
    }
    if plan.meddling && rng.once_in(4) {
        return Some(match rng.within(0..5) {
            0 | 1 => Trouble::DeleteKey { nth },
            2 | 3 => Trouble::RevokeLease { nth },
            _ => Trouble::Overwrite { nth },
        });
    }
    Some(match rng.within(0..22) {
        0..=4 => Trouble::Cut { member, span },
        5 | 6 => Trouble::Split { span },
        7..=9 => Trouble::Kill { member, span },
        10..=12 => Trouble::Stick { span },
        13 | 14 => Trouble::Slow { member, span },
        15 => Trouble::Break { member },
        16 | 17 => Trouble::Compact { keep: rng.choose(&[0, 1, 5]) },
        18 => Trouble::Full { span },
        19 | 20 => Trouble::Stop { span },
        _ => Trouble::Deny { node: rng.below(ours), span },
    })
}

/// Whether a candidate that is not ours begins to contend now.
pub(super) fn contends(plan: &Plan, node: usize, now: u64, rng: &mut Rng) -> Option<usize> {
    let foreign = matches!(plan.nodes[node].kind, Kind::Foreign(_));
    let in_storm = now < plan.conditions.storm_ends;
    (foreign && in_storm && rng.once_in(3)).then(|| rng.below(plan.elections.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A campaign that is asked for in the step in which the last one ends is the next one, as
    /// its core sees it: world 92368 once took it for refused.
    #[test]
    fn a_campaign_that_meets_the_end_of_the_last_is_the_next() {
        let mut office = Office::default();
        office.campaign("b0", 0);
        office.campaign("b9", 1);
        assert_eq!(office.value, "b0");
        office.end(1);
        assert!(office.campaigning, "its core took that");
        assert_eq!(office.value, "b9");
        office.end(2);
        assert!(!office.campaigning, "there is no other");
    }
}
