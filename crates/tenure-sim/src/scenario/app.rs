//! The application of a node: its state, and its next command.

use tenure_core::{Command, Value};

use super::handle::Handle;
use super::{PlanOf, Scenario};
use crate::rng::Rng;

/// The role of an application in one election.
#[derive(Clone, Debug, Default)]
pub struct Role {
    /// Whether the application has campaigned, and no end was reported.
    pub campaigning: bool,
    /// Start of the campaign.
    pub since: u64,
    /// End of the last campaign.
    pub left: u64,
    pub handle: Handle,
    /// Number of ended campaigns and leaderships, which identifies campaigns without a fence.
    pub term: u64,
    pub observing: bool,
    /// Last proclaimed value.
    pub value: Option<Value>,
    /// Value of a campaign that began during an earlier campaign: the core refuses the new
    /// campaign, unless the earlier one has ended in the meantime.
    pub anew: Option<Value>,
}

impl Role {
    pub(super) fn campaign(&mut self, value: &Value, now: u64) {
        if self.campaigning {
            self.anew = Some(value.clone());
        } else {
            self.campaigning = true;
            self.since = now;
            self.say(value);
        }
    }

    pub fn say(&mut self, value: &Value) {
        self.value = Some(value.clone());
    }

    /// Ends the campaign or leadership.
    pub(super) fn end(&mut self, now: u64) {
        self.handle.end();
        self.term += 1;
        self.campaigning = false;
        self.left = now;
        if let Some(value) = self.anew.take() {
            self.campaign(&value, now);
        }
    }
}

/// The roles of an application, by election.
pub type App = Vec<Role>;

/// The roles of a new application.
pub(super) fn start(elections: usize, now: u64) -> App {
    vec![Role { left: now, ..Role::default() }; elections]
}

/// The next command of an application: any command during the storm; campaigns and observation
/// after the storm; resignation in the end.
pub(super) fn next_command<S: Scenario>(
    plan: &PlanOf<S>,
    node: usize,
    app: &App,
    now: u64,
    rng: &mut Rng,
) -> Option<(usize, Command<S::Extra>)> {
    let find = |wanted: &dyn Fn(usize, &Role) -> bool| {
        app.iter().enumerate().position(|(election, role)| wanted(election, role))
    };
    if now >= plan.retired {
        return find(&|_, role| role.campaigning).map(|election| (election, Command::Resign));
    }
    let observe = || S::observes(plan, node).map(|every| Command::Observe { every });
    if now >= plan.conditions.storm_ends {
        let stays_out = |election: usize| S::stays_out(plan, node, election);
        if let Some(out) = find(&|election, role| role.campaigning && stays_out(election)) {
            return Some((out, Command::Resign));
        }
        let campaigns = S::campaigns(plan, node);
        let idle = find(&|election, role| !role.campaigning && !stays_out(election) && campaigns);
        if let Some(election) = idle {
            return Some((election, S::campaign(plan, node, rng)));
        }
        let command = observe()?;
        return find(&|_, role| !role.observing).map(|election| (election, command));
    }
    let election = rng.below(app.len());
    if S::campaigns(plan, node) && !app[election].campaigning {
        let campaign = S::campaign(plan, node, rng);
        return rng.once_in(plan.reluctance).then_some((election, campaign));
    }
    S::whim(plan, node, observe(), rng).map(|command| (election, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A campaign that begins in the step in which the last campaign ends is the next campaign for
    /// the core, and is not refused.
    #[test]
    fn campaigns_at_an_end_come_next() {
        let [first, next]: [Value; 2] = ["b0", "b9"].map(|value| value.parse().expect("a value"));
        let mut role = Role::default();
        role.campaign(&first, 0);
        role.campaign(&next, 1);
        assert_eq!(role.value, Some(first));
        role.end(1);
        assert!(role.campaigning, "its core took that");
        assert_eq!(role.value, Some(next));
        role.end(2);
        assert!(!role.campaigning, "there is no other");
    }
}
