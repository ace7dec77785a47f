use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{Fence, View};

use super::{Check, Claim, Fact, Property, Scenario, seconds};

/// A leader in an observer's view has led, with the fence in the view. A vacancy in a view is real.
/// After all resignations the observer reports the vacancy in the end.
#[derive(Debug, Default)]
pub struct Observers {
    /// Observers by node and election: the start of the observation, and whether the view is a
    /// vacancy.
    views: BTreeMap<(usize, usize), (u64, bool)>,
    /// Fences with which each life has raised a claim.
    claimed: BTreeSet<(usize, u128, Option<Fence>)>,
    judged: bool,
}

impl<S: Scenario> Property<S> for Observers {
    const NAME: &'static str = S::SENTENCES.observers.0;
    const SOURCE: &'static str = S::SENTENCES.observers.1;

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        match fact {
            Fact::Crashed { node } => {
                self.views.retain(|(observer, _), _| *observer != node);
                Ok(())
            }
            Fact::Observes { node, election, begins: true } => {
                self.views.insert((node, election), (check.now, false));
                Ok(())
            }
            Fact::Observes { node, election, begins: false } => {
                self.views.remove(&(node, election));
                Ok(())
            }
            Fact::Viewed { node, election, view, until, looked, .. } => {
                if let Some((_, vacant)) = self.views.get_mut(&(node, election)) {
                    *vacant = *view == View::Vacant;
                }
                let is_over = until != 0 && until <= check.now && view.leader().is_some();
                // The view of a stopped process is old, so do not judge it.
                if looked < check.now || is_over {
                    return Ok(());
                }
                self.judge(check, node, election, view)
            }
            Fact::Claimed(Claim { election, life, fence, .. }) => {
                self.claimed.insert((election, life, fence));
                Ok(())
            }
            Fact::Moment => self.judge_the_end(check),
            _ => Ok(()),
        }
    }
}

impl Observers {
    fn judge_the_end<S: Scenario>(&mut self, check: &Check<'_, S>) -> Result<(), String> {
        let plan = check.plan;
        let last = plan.conditions.end - plan.conditions.unit / 4;
        if self.judged || check.now < last {
            return Ok(());
        }
        self.judged = true;
        for ((node, election), (since, vacant)) in &self.views {
            if !vacant && *since < plan.retired {
                return Err(format!(
                    "{} does not see that {} is vacant, and everybody resigned at {}",
                    check.name(*node),
                    check.election(*election),
                    seconds(plan.retired),
                ));
            }
        }
        Ok(())
    }

    fn judge<S: Scenario>(
        &self,
        check: &Check<'_, S>,
        node: usize,
        election: usize,
        view: &View,
    ) -> Result<(), String> {
        let observer = check.name(node);
        let name = check.election(election);
        match view {
            View::Leader(leader) | View::Leaders { followed: leader, .. } => {
                let Some((known, life)) = S::seen(check, leader) else { return Ok(()) };
                if self.claimed.contains(&(election, life, leader.fence)) {
                    return Ok(());
                }
                let who = S::life(check.plan, known, life);
                let fence = super::super::history::under(leader.fence);
                Err(format!("{observer} sees that {who} leads {name}{fence}, and it never did"))
            }
            View::Vacant => {
                let leader = check.past(election).leader(check.now);
                let (Some(leader), Some(patience)) = (leader, S::patience(check.plan, node)) else {
                    return Ok(());
                };
                if leader.from + patience >= check.now {
                    return Ok(());
                }
                Err(format!(
                    "{observer} sees that {name} is vacant, but {} leads since {}",
                    S::life(check.plan, leader.node, leader.life),
                    seconds(leader.from),
                ))
            }
            View::Unknown { .. } => Ok(()),
        }
    }
}
