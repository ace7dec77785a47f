//! What each node is installed with: the longest lease that it gives differs from node to node,
//! and changes when a node is installed anew.

use std::time::Duration;

use tenure_core::nerio::{Checked, Config};

use super::plan::Plan;
use crate::rng::mix;

/// Changes the settings with which nodes start next. Drawn apart from the plan, so that a world is
/// otherwise what it would be without.
#[derive(Debug)]
pub(super) struct Installed {
    seed: u64,
    draws: u64,
    first: Vec<Checked>,
    /// The shortest and the longest lease that anybody asks for.
    leases: (Duration, Duration),
}

impl Installed {
    /// Some give no longer leases than are asked for.
    pub(super) fn new(plan: &mut Plan) -> Self {
        let leases = || plan.nodes.iter().map(|node| node.config.lease);
        let shortest = leases().min().unwrap_or_default();
        let longest = leases().max().unwrap_or_default();
        let seed = mix(plan.conditions.seed ^ 0x1a57);
        let leases = (shortest, longest);
        let mut this = Self { seed, draws: 0, first: Vec::new(), leases };
        for node in 0..plan.nodes.len() {
            if this.draw(2) {
                give(plan, node, longest);
            }
        }
        this.first = plan.nodes.iter().map(|node| node.config.clone()).collect();
        this
    }

    /// A node whose directory is lost is installed with what it had, or gives short leases only
    /// from now on: as long as a quorum of the others gives all of them.
    pub(super) fn install(&mut self, plan: &mut Plan, node: usize) {
        let (shortest, longest) = self.leases;
        let able = |n: &usize| *n != node && plan.nodes[*n].config.delta_max >= longest;
        let others = (0..plan.members()).filter(able).collect();
        if plan.config().quorums.is_quorum(others) && self.draw(2) {
            give(plan, node, shortest);
            // Until it starts with its first settings again.
            plan.nodes[node].later = None;
        }
    }

    /// A node starts again, sometimes with its first settings.
    pub(super) fn restart(&mut self, plan: &mut Plan, node: usize) {
        if plan.nodes[node].config != self.first[node] && self.draw(4) {
            plan.nodes[node].config = self.first[node].clone();
        }
    }

    /// True at one draw in so many.
    fn draw(&mut self, once_in: u64) -> bool {
        self.draws += 1;
        mix(self.seed ^ mix(self.draws)).is_multiple_of(once_in)
    }
}

fn give(plan: &mut Plan, node: usize, delta_max: Duration) {
    let mut config = Config { delta_max, ..Config::clone(&plan.nodes[node].config) };
    config.verify_max = config.verify_max.min(delta_max);
    plan.nodes[node].config =
        config.check().unwrap_or_else(|wrong| panic!("settings of an installation: {wrong}"));
}
