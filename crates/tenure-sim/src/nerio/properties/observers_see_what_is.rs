use std::collections::BTreeMap;

use tenure_core::nerio::{Inc, MemberSet, View};

use crate::nerio::app::observe_every;

use super::{Court, Fact, Plan, Property, seconds};

/// Section 10.4: a leader that an observer sees holds grants of a quorum as long as it says; a
/// vacancy that it sees is one; and when everybody has resigned, it sees that in the end.
#[derive(Debug)]
pub(super) struct ObserversSeeWhatIs {
    views: BTreeMap<(usize, usize), bool>,
    /// When each life last gave something up, or a grantor took it back.
    gave_up: BTreeMap<(usize, Inc), u64>,
    judged: bool,
}

impl Property for ObserversSeeWhatIs {
    const NAME: &'static str = "Observers see what is";
    const SOURCE: &'static str = "section 10.4; settings, wire, readings";

    fn new(_: &Plan) -> Self {
        Self { views: BTreeMap::new(), gave_up: BTreeMap::new(), judged: false }
    }

    #[inline]
    fn see(&mut self, court: &Court<'_>, fact: &Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.views.retain(|(observer, _), _| observer != node);
                Ok(())
            }
            Fact::Viewed { election, node, view, until, decided } => {
                self.views.insert((*node, *election), **view == View::Vacant);
                self.judge(court, (*election, *node), view, (*decided, *until))
            }
            Fact::Released { election, who, .. } | Fact::Freed { election, by: who, .. } => {
                self.gave_up.insert((*election, who.inc), court.now);
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
        for (number, node) in plan.nodes.iter().enumerate() {
            if !node.observes || court.ledger.lives[number].is_none() {
                continue;
            }
            for election in 0..plan.elections.len() {
                if self.views.get(&(number, election)) != Some(&true) {
                    return Err(format!(
                        "{} does not see that {} is vacant, and everybody resigned at {}",
                        node.name,
                        court.election(election),
                        seconds(plan.retired),
                    ));
                }
            }
        }
        Ok(())
    }

    fn judge(
        &self,
        court: &Court<'_>,
        (election, node): (usize, usize),
        view: &View,
        (decided, until): (u64, u64),
    ) -> Result<(), String> {
        let annals = court.annals(election);
        let (name, observer) = (court.election(election), &court.plan.nodes[node]);
        let config = &observer.config;
        let patience = observe_every(config) * 3 + config.round_trip * 4;
        let patience = config.drift.real_at_most(patience).as_nanos() as u64;
        match view {
            View::Leader(leader) if until > court.now => {
                // It may give its grants up while the answers travel: then they say what was.
                let key = (election, leader.who.inc);
                let gave_up = self.gave_up.get(&key).is_some_and(|at| at + patience > court.now);
                let grants = annals.grants.iter();
                let held = grants.filter(|(_, g)| g.to == leader.who && g.finish >= until);
                let held: MemberSet = held.map(|(grantor, _)| *grantor).collect();
                if gave_up || court.plan.config().quorums.is_quorum(held) {
                    return Ok(());
                }
                Err(format!(
                    "{} sees that {} holds {name} until {}, but only {} granted it until then; {}",
                    observer.name,
                    leader.who,
                    seconds(until),
                    court.backers(election, &leader.who, until),
                    court.clock(node),
                ))
            }
            View::Vacant => match annals.leader(decided) {
                Some(leader) if leader.from + patience < decided => Err(format!(
                    "{} sees that {name} is vacant, but {} leads since {}",
                    observer.name,
                    leader.who,
                    seconds(leader.from),
                )),
                Some(_) | None => Ok(()),
            },
            View::Leader(_) | View::Unknown { .. } => Ok(()),
        }
    }
}
