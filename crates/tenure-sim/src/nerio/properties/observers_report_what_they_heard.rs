use std::time::Duration;

use tenure_core::View;
use tenure_core::nerio::{Inc, Instance, Mark, MemberSet, Service, State, Who};
use tenure_core::{Fence, Time};

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};
use crate::nerio::fact::named;
use crate::nerio::plan;

/// Section 10.4, by a second account of what each observer was told: a leader that it sees holds
/// grants of a quorum, asked for with the one fence that it announced, until the first of the best
/// such quorum ends; and a vacancy was so at one instant at all of a quorum.
#[derive(Debug, Default)]
pub(super) struct ObserversReportWhatTheyHeard {
    elections: usize,
    /// The last word of each member, by observer and election.
    told: Vec<Vec<Option<Heard>>>,
}

#[derive(Clone, Debug)]
struct Heard {
    /// Of the question.
    start: Time,
    free_since: Option<Time>,
    holder: Option<(Who, Option<Fence>)>,
    until: Time,
    /// Which memory said so, and which it knows of others.
    instance: Instance,
    memories: Vec<Mark>,
}

impl Heard {
    /// Whether it knows another memory of the member at `place` than the one that said `other`.
    fn denies(&self, place: usize, other: &Self) -> bool {
        let known = self.memories.get(place).filter(|mark| **mark != Mark::NONE);
        known.is_some_and(|mark| *mark != other.instance.mark())
    }
}

impl Property<QuorumLeases> for ObserversReportWhatTheyHeard {
    const NAME: &'static str = "An observer reports what it heard, no more and no less";
    const SOURCE: &'static str = "section 10.4; readings";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        let elections = plan.elections.len();
        let none = vec![None; plan.members()];
        *self = Self { elections, told: vec![none; elections * plan.nodes.len()] };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } => {
                let all = &mut self.told[node * self.elections..][..self.elections];
                all.iter_mut().for_each(|told| told.fill(None));
                Ok(())
            }
            Fact::Observes { node, election, .. } => {
                self.told[node * self.elections + election].fill(None);
                Ok(())
            }
            Fact::Own(Own::Told { node, election, from, state, local }) => {
                if check.history.lives[node].map(Inc) != Some(state.asker) {
                    return Ok(());
                }
                let Some(member) = check.plan.member(from) else { return Ok(()) };
                let told = &mut self.told[node * self.elections + election][member];
                if told.as_ref().is_none_or(|told| told.start < state.start) {
                    *told = Some(hear(check, node, state, local));
                }
                Ok(())
            }
            // It says what was, before its process stopped.
            Fact::Viewed { looked, .. } if looked < check.now => Ok(()),
            Fact::Viewed { election, node, view, local, .. } => {
                let told = &self.told[node * self.elections + election];
                judge(check, node, told, view, local).map_err(|why| {
                    let name = &check.plan.nodes[node].name;
                    format!("{name} says of {}: {view}; {why}", check.election(election))
                })
            }
            _ => Ok(()),
        }
    }
}

fn hear(check: &Check<'_>, node: usize, state: &State, local: Time) -> Heard {
    let drift = check.plan.nodes[node].config.drift;
    let here = |span| drift.shrink(drift.real_at_least(span));
    let free = state.service == Service::Serving && state.holder.is_none();
    let remaining = state.holder.as_ref().map_or(Duration::ZERO, |holder| holder.remaining);
    Heard {
        start: state.start,
        free_since: free.then(|| local.before(here(state.free_for))),
        holder: state.holder.as_ref().map(|holder| (holder.who.clone(), holder.fence)),
        until: state.start.after(here(remaining)),
        instance: state.instance,
        memories: state.memories.clone(),
    }
}

fn judge(
    check: &Check<'_>,
    node: usize,
    told: &[Option<Heard>],
    view: &View,
    now: Time,
) -> Result<(), String> {
    let config = &check.plan.nodes[node].config;
    let patience = plan::patience(config);
    let fresh = || {
        let all = told.iter().enumerate();
        let all = all.filter_map(|(member, heard)| Some((member, heard.as_ref()?)));
        all.filter(|(_, heard)| now.since(heard.start) < patience)
    };
    // Of two memories of one member the words of the earlier one do not count.
    let told = || {
        fresh().filter(|(member, heard)| {
            let place = config.place(*member);
            !fresh().any(|(other, by)| other != *member && by.denies(place, heard))
        })
    };
    let is_quorum = |members: MemberSet| check.plan.config().quorums.is_quorum(members);
    match view {
        View::Leader(leader) => {
            let of_it = (named(leader), leader.fence);
            let is_it = |holder: &(Who, Option<Fence>)| *holder == of_it;
            let its = told().filter(|(_, heard)| heard.holder.as_ref().is_some_and(is_it));
            let its: Vec<(Time, usize)> =
                its.map(|(member, heard)| (heard.until, member)).collect();
            let lasts = |until: Time| {
                its.iter().filter(|(end, _)| *end >= until).map(|(_, member)| *member).collect()
            };
            // What lasts longest ends when one of them does.
            let ends = its.iter().map(|(end, _)| *end).filter(|until| now < *until);
            match ends.filter(|until| is_quorum(lasts(*until))).max() {
                Some(until) if Some(until) == leader.until => Ok(()),
                Some(until) => Err(format!("it was told that it lasts until {until}")),
                None => Err("it was not told so by a quorum".to_owned()),
            }
        }
        View::Vacant => {
            let free_at = |at: Time| {
                let free = told().filter(|(_, heard)| {
                    heard.start >= at && heard.free_since.is_some_and(|since| since <= at)
                });
                free.map(|(member, _)| member).collect()
            };
            match told().any(|(_, heard)| is_quorum(free_at(heard.start))) {
                true => Ok(()),
                false => Err("no quorum was free at one instant".to_owned()),
            }
        }
        _ => Ok(()),
    }
}
