use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Fence;
use tenure_core::nerio::{Inc, MemberSet, Who};
use tenure_core::{LeaderView, View};

use crate::nerio::app::observe_every;
use crate::nerio::fact::named;
use crate::nerio::forge::stranger;

use crate::nerio::plan::Inhabitant;

use super::{Court, Fact, Plan, Property, seconds};

/// Section 10.4: a leader that an observer sees has won with the fence that is named, and holds
/// grants of a quorum, all of them written, as long as it says; a vacancy that it sees is one; and
/// when everybody has resigned, it sees that in the end.
#[derive(Debug)]
pub(super) struct ObserversSeeWhatIs {
    /// Of who follows which election: since when, and whether what it sees now is a vacancy.
    views: BTreeMap<(usize, usize), (u64, bool)>,
    /// The fences with which each life has raised a claim.
    claimed: BTreeSet<(usize, Inc, Fence)>,
    /// When each life last gave something up, or a grantor took it back.
    gave_up: BTreeMap<(usize, Inc), u64>,
    judged: bool,
}

impl Property for ObserversSeeWhatIs {
    const NAME: &'static str = "Observers see what is";
    const SOURCE: &'static str = "section 10.4; settings, wire, readings";

    fn new(_: &Plan) -> Self {
        Self {
            views: BTreeMap::new(),
            claimed: BTreeSet::new(),
            gave_up: BTreeMap::new(),
            judged: false,
        }
    }

    #[inline(always)]
    fn see(&mut self, court: &Court<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.views.retain(|(observer, _), _| *observer != node);
                Ok(())
            }
            Fact::Observes { node, election, begins: true } => {
                self.views.insert((node, election), (court.now, false));
                Ok(())
            }
            Fact::Observes { node, election, begins: false } => {
                self.views.remove(&(node, election));
                Ok(())
            }
            Fact::Viewed { election, node, view, until, looked, .. } => {
                if let Some((_, vacant)) = self.views.get_mut(&(node, election)) {
                    *vacant = *view == View::Vacant;
                }
                if looked < court.now {
                    // It says what was, before its process stopped.
                    return Ok(());
                }
                self.judge(court, (election, node), view, until)
            }
            Fact::Claimed { election, who, fence, .. } => {
                self.claimed.insert((election, who.inc, fence));
                Ok(())
            }
            Fact::Released { election, who, .. } | Fact::Freed { election, by: who, .. } => {
                self.gave_up.insert((election, who.inc), court.now);
                Ok(())
            }
            Fact::Moment => self.judge_the_end(court),
            _ => Ok(()),
        }
    }
}

impl ObserversSeeWhatIs {
    fn judge_the_end(&mut self, court: &Court<'_>) -> Result<(), String> {
        let plan = court.plan;
        let last = plan.conditions.end - plan.conditions.unit / 4;
        if self.judged || court.now < last {
            return Ok(());
        }
        self.judged = true;
        for ((node, election), (since, vacant)) in &self.views {
            if !vacant && *since < plan.retired {
                return Err(format!(
                    "{} does not see that {} is vacant, and everybody resigned at {}",
                    plan.nodes[*node].name,
                    court.election(*election),
                    seconds(plan.retired),
                ));
            }
        }
        Ok(())
    }

    /// What is told of a leader is its own.
    fn judge_who(
        &self,
        court: &Court<'_>,
        election: usize,
        node: usize,
        leader: &LeaderView,
        who: &Who,
    ) -> Result<(), String> {
        let (name, observer) = (court.election(election), &court.plan.nodes[node].name);
        let LeaderView { address: Some(address), value, fence: Some(fence), .. } = leader else {
            return Err(format!("{observer} sees {leader}, without an address or a fence"));
        };
        let known = court.plan.nodes.iter().find(|node| node.name == who.name);
        // A stranger may ask in its name.
        let forged = court.plan.forges > 0 && *address == stranger();
        let there = |known: &Inhabitant| known.address == *address || forged;
        if known
            .is_none_or(|known| !there(known) || value.as_bytes() != known.name.as_str().as_bytes())
        {
            return Err(format!("{observer} sees that {who} holds {name} at {address} as {value}"));
        }
        if self.claimed.contains(&(election, who.inc, *fence)) {
            return Ok(());
        }
        Err(format!("{observer} sees that {who} leads {name} with fence {fence}, and it never did"))
    }

    fn judge(
        &self,
        court: &Court<'_>,
        (election, node): (usize, usize),
        view: &View,
        until: u64,
    ) -> Result<(), String> {
        let annals = court.annals(election);
        let (name, observer) = (court.election(election), &court.plan.nodes[node]);
        let config = &observer.config;
        let patience = observe_every(config) * 3 + config.round_trip * 4;
        let patience = config.drift.real_at_most(patience).as_nanos() as u64;
        match view {
            View::Leader(leader) if until > court.now => {
                let who = &named(leader);
                self.judge_who(court, election, node, leader, who)?;
                // It may give its grants up while the answers travel: then they say what was.
                let key = (election, who.inc);
                let gave_up = self.gave_up.get(&key).is_some_and(|at| at + patience > court.now);
                let grants = annals.grants.iter();
                let held = grants.filter(|(_, g)| g.to == *who && g.finish >= until);
                let held = held.map(|(grantor, _)| *grantor);
                let held: MemberSet = held.collect();
                if gave_up || court.plan.config().quorums.is_quorum(held) {
                    return Ok(());
                }
                Err(format!(
                    "{} sees that {who} holds {name} until {}, but only {} granted it until \
                     then; {}",
                    observer.name,
                    seconds(until),
                    court.backers(election, who, until),
                    court.clock(node),
                ))
            }
            View::Vacant => match annals.leader(court.now) {
                Some(leader) if leader.from + patience < court.now => Err(format!(
                    "{} sees that {name} is vacant, but {} leads since {}",
                    observer.name,
                    leader.who,
                    seconds(leader.from),
                )),
                Some(_) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
