//! The history of leaderships in true time, for checks. A fact is written into the history after
//! the checks have seen it, so that they see the state before the fact.

use std::collections::BTreeMap;

use tenure_core::Fence;

use super::fact::{Claim, Fact};
use super::parts::Parts;
use super::{PlanOf, Scenario};

/// A leadership from `from` to `until`.
#[derive(Clone, Debug)]
pub struct Leadership<Own> {
    pub node: usize,
    pub life: u128,
    pub fence: Option<Fence>,
    /// Number among the leaderships of this life, for protocols without fences.
    pub term: u64,
    /// First raise of the leadership's claim.
    pub from: u64,
    /// End or lowering of the leadership's claim.
    pub until: u64,
    /// End of the leadership's claim if it had not been lowered.
    pub backed: u64,
    pub own: Own,
}

impl<Own> Leadership<Own> {
    /// Whether the leadership's claim holds at `at`.
    #[must_use]
    pub const fn holds(&self, at: u64) -> bool {
        self.from <= at && at < self.until
    }

    /// Whether a claim has the leadership's node, life and fence; in protocols without fences, its
    /// node, life and term.
    #[must_use]
    pub fn is(&self, claim: &Claim) -> bool {
        (self.node, self.life, self.fence) == (claim.node, claim.life, claim.fence)
            && (self.fence.is_some() || self.term == claim.term)
    }

    #[must_use]
    pub fn under(&self) -> String {
        under(self.fence)
    }
}

pub(crate) fn under(fence: Option<Fence>) -> String {
    fence.map_or_else(String::new, |fence| format!(" with fence {fence}"))
}

#[derive(Clone, Debug)]
pub struct Past<Own> {
    /// The leaderships, in the order in which they began.
    pub leaderships: Vec<Leadership<Own>>,
}

impl<Own> Past<Own> {
    /// The leadership whose claim holds at `at`; the latest of several.
    #[must_use]
    pub fn leader(&self, at: u64) -> Option<&Leadership<Own>> {
        self.leaderships.iter().rev().find(|leadership| leadership.holds(at))
    }
}

/// The past of all elections, and the lives of all nodes.
#[derive(Clone, Debug)]
pub struct History<Own> {
    pub elections: Vec<Past<Own>>,
    /// Life of each running node.
    pub lives: Vec<Option<u128>>,
    /// Last begin or end of each node's life.
    pub since: Vec<u64>,
    pub nodes: BTreeMap<u128, usize>,
    /// The sides into which the last cut has split the network.
    pub parts: Parts,
}

impl<Own> History<Own> {
    pub(super) fn new(elections: usize, nodes: usize) -> Self {
        let past = || Past { leaderships: Vec::new() };
        Self {
            elections: (0..elections).map(|_| past()).collect(),
            lives: vec![None; nodes],
            since: vec![0; nodes],
            nodes: BTreeMap::new(),
            parts: Parts::default(),
        }
    }

    #[inline(always)]
    pub(super) fn note<S>(&mut self, own: &S, plan: &PlanOf<S>, now: u64, fact: Fact<'_, S>)
    where
        S: Scenario<Details = Own>,
    {
        match fact {
            Fact::Started { node, life } => {
                self.lives[node] = Some(life);
                self.since[node] = now;
                self.nodes.insert(life, node);
            }
            Fact::Crashed { node } => (self.lives[node], self.since[node]) = (None, now),
            Fact::Claimed(claim) => {
                let leaderships = &mut self.elections[claim.election].leaderships;
                let same = |led: &&mut Leadership<Own>| {
                    own.continues(led, &claim) && own.is_kept(led, now)
                };
                if let Some(last) = leaderships.iter_mut().rev().find(same) {
                    last.until = last.until.max(claim.until);
                    last.backed = last.until;
                } else if claim.until > now {
                    let Claim { node, life, fence, term, until, .. } = claim;
                    let from = now;
                    let backed = until;
                    let own = own.led(plan, &claim);
                    let led = Leadership { node, life, fence, term, from, until, backed, own };
                    leaderships.push(led);
                }
            }
            Fact::Lowered { node, election } => {
                let life = self.lives[node];
                let leaderships = &mut self.elections[election].leaderships;
                let own = |led: &&mut Leadership<Own>| led.node == node && Some(led.life) == life;
                for leadership in leaderships.iter_mut().rev().filter(own) {
                    if leadership.until <= now {
                        break;
                    }
                    leadership.until = now;
                }
            }
            _ => {}
        }
    }
}
