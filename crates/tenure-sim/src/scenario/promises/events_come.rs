use super::{Check, Fact, PlanOf, Property, Scenario, seconds};

/// Handles get the events that they wait for: an announcement in the step that raises a claim, a
/// settled leadership if the leader stays, and a release after each end.
#[derive(Debug, Default)]
pub struct EventsCome {
    roles: Vec<Vec<Role>>,
}

/// Reports of a node about one election.
#[derive(Clone, Debug, Default)]
struct Role {
    /// Whether the node has raised a claim without announcing its election.
    raised: bool,
    /// True time of the election, until the leadership settles.
    unsettled: Option<u64>,
    elected: bool,
    /// True time of the end, until the release.
    unreleased: Option<u64>,
}

impl<S: Scenario> Property<S> for EventsCome {
    const NAME: &'static str = S::SENTENCES.events_come.0;
    const SOURCE: &'static str = S::SENTENCES.events_come.1;

    fn begin(&mut self, plan: &PlanOf<S>) {
        self.roles = vec![vec![Role::default(); plan.elections.len()]; plan.conditions.sites.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_, S>, fact: Fact<'_, S>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                self.roles[node].fill(Role::default());
                Ok(())
            }
            Fact::Claimed(claim) => {
                let role = &mut self.roles[claim.node][claim.election];
                role.raised = !role.elected;
                Ok(())
            }
            Fact::Elected { node, election, .. } => {
                let role = &mut self.roles[node][election];
                role.raised = false;
                role.elected = true;
                role.unsettled = Some(check.now);
                Ok(())
            }
            Fact::Settled { node, election } => {
                self.roles[node][election].unsettled = None;
                Ok(())
            }
            Fact::Ended { node, election, .. } => {
                let role = &mut self.roles[node][election];
                let unreleased = role.unreleased.or(Some(check.now));
                *role = Role { unreleased, ..Role::default() };
                Ok(())
            }
            Fact::Released { node, election } => {
                self.roles[node][election].unreleased = None;
                Ok(())
            }
            Fact::Handled { node, .. } => self.judge_claims(check, node),
            Fact::Moment => self.judge_moment(check),
            _ => Ok(()),
        }
    }
}

impl EventsCome {
    /// Checks the claims after all effects of the previous input.
    fn judge_claims<S: Scenario>(&self, check: &Check<'_, S>, node: usize) -> Result<(), String> {
        match self.roles[node].iter().position(|role| role.raised) {
            None => Ok(()),
            Some(election) => {
                let name = check.name(node);
                let election = check.election(election);
                Err(format!(
                    "{name} has a claim to lead {election}, and did not say that it is elected"
                ))
            }
        }
    }

    fn judge_moment<S: Scenario>(&self, check: &Check<'_, S>) -> Result<(), String> {
        let plan = check.plan;
        let now = check.now;
        let unit = plan.conditions.unit;
        let over = now + unit / 4 >= plan.conditions.end;
        if !over && (now < plan.settled || now >= plan.retired) {
            return Ok(());
        }
        for (node, roles) in self.roles.iter().enumerate() {
            for (election, role) in roles.iter().enumerate() {
                let name = check.name(node);
                let election = check.election(election);
                if let Some(since) = role.unreleased.filter(|_| over) {
                    let since = seconds(since);
                    return Err(format!(
                        "{name} ended in {election} at {since}, and was not released"
                    ));
                }
                let since = role.unsettled.map(|since| since.max(plan.settled));
                if let Some(since) = since.filter(|since| !over && since + 2 * unit < now) {
                    let since = seconds(since);
                    return Err(format!(
                        "{name} leads {election} since {since} and did not settle"
                    ));
                }
            }
        }
        Ok(())
    }
}
