//! Installations of nodes: nodes grant different longest leases, which change with each
//! installation.

use std::time::Duration;

use tenure_core::nerio::{Checked, Config};

use super::plan::Plan;
use crate::rng::mix;

/// Changes the settings with which nodes start next. The draws are separate from the plan, so that
/// they change nothing else in the world.
#[derive(Debug)]
pub(super) struct Installations {
    seed: u64,
    draws: u64,
    first: Vec<Checked>,
    /// Whether the first settings come only with a node's second life.
    raises: bool,
    /// The shortest and the longest requested lease.
    leases: (Duration, Duration),
}

impl Installations {
    /// Makes the settings. Some nodes grant at most the longest requested lease. Where members
    /// raise their leases, each member with a directory grants at most the shortest requested lease
    /// at first.
    pub(super) fn new(plan: &mut Plan) -> Self {
        let leases = || plan.nodes.iter().map(|node| node.config.lease);
        let shortest = leases().min().unwrap_or_default();
        let longest = leases().max().unwrap_or_default();
        let seed = mix(plan.conditions.seed ^ 0x1a57);
        let leases = (shortest, longest);
        let raises = plan.own.raises;
        let mut this = Self { seed, draws: 0, first: Vec::new(), raises, leases };
        for node in 0..plan.nodes.len() {
            if this.draw(2) {
                give(plan, node, longest);
            }
        }
        this.first = plan.nodes.iter().map(|node| node.config.clone()).collect();
        for node in 0..plan.members() {
            if raises && plan.nodes[node].directory {
                give(plan, node, shortest);
                plan.nodes[node].later = None;
            }
        }
        this
    }

    /// Installs a node after the loss of its directory, with its old settings. If a quorum of the
    /// others grants or will grant all requested leases, the node may get short leases instead.
    pub(super) fn install(&mut self, plan: &mut Plan, node: usize) {
        let (shortest, longest) = self.leases;
        if (self.raises || is_given(plan, longest, Some(node))) && self.draw(2) {
            give(plan, node, shortest);
            // These settings hold until the node starts with its first settings again.
            plan.nodes[node].later = None;
        }
    }

    /// Restarts a node, sometimes with its first settings.
    pub(super) fn restart(&mut self, plan: &mut Plan, node: usize) {
        if plan.nodes[node].config != self.first[node] && (self.raises || self.draw(4)) {
            plan.nodes[node].config = self.first[node].clone();
        }
    }

    /// True at one draw in so many.
    fn draw(&mut self, once_in: u64) -> bool {
        self.draws += 1;
        mix(self.seed ^ mix(self.draws)).is_multiple_of(once_in)
    }
}

/// Whether a quorum of members, without the member `without`, grants leases of this length.
pub(super) fn is_given(plan: &Plan, lease: Duration, without: Option<usize>) -> bool {
    let able = |n: &usize| Some(*n) != without && plan.nodes[*n].config.delta_max >= lease;
    plan.membership().quorums().is_quorum((0..plan.members()).filter(able).collect())
}

fn give(plan: &mut Plan, node: usize, delta_max: Duration) {
    let mut config = Config { delta_max, ..Config::clone(&plan.nodes[node].config) };
    config.verify_max = config.verify_max.min(delta_max);
    plan.nodes[node].config =
        config.check().unwrap_or_else(|wrong| panic!("settings of an installation: {wrong}"));
}
