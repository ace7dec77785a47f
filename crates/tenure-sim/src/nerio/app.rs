//! The application of a node: what it holds in its hands, and what it wants.

use std::time::Duration;

use tenure_core::Time;
use tenure_core::nerio::{Command, Config, Extra, QuorumTimestamp};

use super::plan::Plan;
use crate::handle::Handle;
use crate::rng::Rng;

/// What one application knows of one election.
#[derive(Clone, Debug, Default)]
pub(super) struct Office {
    /// Whether it has asked to lead and was not told that it is over.
    pub(super) campaigning: bool,
    /// What it holds of its latest leadership.
    pub(super) handle: Handle,
    /// The quorum timestamp of its leadership.
    pub(super) timestamp: Option<QuorumTimestamp>,
    /// How many edicts it has created.
    pub(super) edicts: u64,
    /// The first Start of its latest attempt.
    pub(super) first: Time,
    /// Whether it follows who leads.
    pub(super) observing: bool,
}

/// One application.
#[derive(Clone, Debug, Default)]
pub(super) struct App {
    pub(super) offices: Vec<Office>,
}

impl App {
    pub(super) fn new(elections: usize) -> Self {
        Self { offices: vec![Office::default(); elections] }
    }

    /// What it wants at `now`.
    pub(super) fn wish(
        &self,
        plan: &Plan,
        node: usize,
        now: u64,
        rng: &mut Rng,
    ) -> Option<(usize, Command)> {
        let this = &plan.nodes[node];
        let value = || this.name.as_str().parse().unwrap_or_else(|wrong| panic!("a name: {wrong}"));
        let campaign = || Command::Campaign { value: value(), priority: (node % 3) as u8 };
        let every = observe_every(&this.config);
        let find = |idle: fn(&Office) -> bool| self.offices.iter().position(idle);
        if now >= plan.retired {
            return find(|office| office.campaigning).map(|election| (election, Command::Resign));
        }
        if now >= plan.conditions.storm_ends {
            if this.campaigns
                && let Some(election) = find(|office| !office.campaigning)
            {
                return Some((election, campaign()));
            }
            let idle = this.observes.then(|| find(|office| !office.observing)).flatten();
            return idle.map(|election| (election, Command::Observe { every }));
        }
        let election = rng.below(self.offices.len());
        if this.campaigns && !self.offices[election].campaigning {
            let wants = rng.once_in(plan.reluctance) && now >= plan.idle_until;
            return wants.then(|| (election, campaign()));
        }
        let other = &plan.nodes[rng.below(plan.nodes.len())];
        let command = match rng.within(0..16) {
            0 => Command::Resign,
            1 => Command::Transfer { to: other.name.clone(), probe: rng.once_in(3) },
            2..=5 => Command::Extra(Extra::Verify { leader: other.address }),
            6 if this.observes => Command::Observe { every },
            7 if this.observes && rng.once_in(3) => Command::Unobserve,
            _ => return None,
        };
        Some((election, command))
    }
}

/// How often an observer asks.
pub(super) fn observe_every(config: &Config) -> Duration {
    config.lease / 5
}
