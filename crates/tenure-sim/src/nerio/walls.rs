//! Wall clocks of worlds whose settings have a bound on skew.

use std::time::Duration;

use tenure_core::nerio::Config;
use tenure_core::{Time, WallTime};

use super::focus::Focus;
use super::node::NodePlan;
use crate::rng::{Rng, mix};
use crate::scenario::plan::nanos;
use crate::world::clock::TRUE_RATE;
use crate::world::conditions::{Conditions, Incident};
use crate::world::{Context, EPOCH};

/// Salt of the draw that makes worlds with a bound on skew.
const WALLS: u64 = 0x736b_6577;
/// Stream of draws for wall clocks.
const STREAM: u64 = 7;

/// The clocks of a world, and the bounds that its faults respect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walls {
    /// The settings have no bound on skew.
    Unread,
    /// Both bounds hold: wall clocks are within Δ, and step within it; rates are within ρ.
    Within,
    /// Rates are within ρ. During the storm wall clocks are off by several Δ, and step.
    Beyond,
    /// Wall clocks are within Δ, and step within it. During the storm, time since boot passes at
    /// half of its rate for candidates that are no members: the host of a virtual machine stops
    /// the machine now and then.
    Slow,
}

impl Walls {
    /// Draws the clocks of the world of `seed`.
    #[must_use]
    pub fn draw(seed: u64, focus: Focus, calm: bool) -> Self {
        let draw = mix(seed ^ WALLS);
        match draw % 24 {
            0 => Self::Within,
            1 | 2 if calm => Self::Within,
            1 => Self::Beyond,
            // Members of these worlds replace each other after waits that ρ alone bounds, so no
            // clock is slow.
            2 if !matches!(focus, Focus::Change | Focus::Copies | Focus::Founding) => Self::Slow,
            2 => Self::Within,
            _ => Self::Unread,
        }
    }

    /// Gives the settings a bound on skew.
    pub(super) fn settings(self, seed: u64, config: &mut Config) {
        if self != Self::Unread {
            let parts = Rng::new(seed, STREAM).choose(&[50, 10, 10, 4]);
            config.clock_skew_max = Some(config.lease / parts);
        }
    }

    /// Nodes with a slow clock neither observe nor verify, because both rest on the rates of
    /// clocks.
    pub(super) fn nodes(self, nodes: &mut [NodePlan]) {
        for node in nodes.iter_mut().filter(|node| self == Self::Slow && !node.member) {
            node.observes = false;
        }
    }

    /// Whether time since boot may pass too slowly for this node.
    #[must_use]
    pub fn is_slow(self, node: &NodePlan) -> bool {
        self == Self::Slow && !node.member
    }

    /// Time for which a wall clock that was set back keeps grants, after the storm.
    pub(super) fn settle(self, config: &Config) -> u64 {
        let skew = nanos(config.clock_skew_max.unwrap_or_default());
        if self == Self::Beyond { 12 * skew } else { 4 * skew }
    }

    /// Makes wall clocks wrong at the beginning, and makes them step.
    pub(super) fn conditions(
        self,
        skew: Option<Duration>,
        nodes: &[NodePlan],
        to: &mut Conditions,
    ) {
        let Some(skew) = skew.filter(|_| self != Self::Unread) else { return };
        let Conditions { seed, storm_ends, .. } = *to;
        let mut rng = Rng::new(seed, STREAM);
        to.reads_wall = true;
        // Keeps any two clocks within Δ of each other.
        let near = (nanos(skew) / 2).cast_signed();
        let far = if self == Self::Beyond { 4 * near } else { near };
        let mut off = |most: i64| {
            // Many draws are beyond `most`, so many clocks are as far off as they may be.
            let drawn = rng.within(0..4 * most.unsigned_abs() + 1).cast_signed() - 2 * most;
            (drawn.clamp(-most, most), rng.within(0..storm_ends))
        };
        for (node, plan) in nodes.iter().enumerate() {
            to.sites[node].wall = off(far).0;
            for _ in 0..3 {
                let (ahead, at) = off(far);
                to.incidents.push((at, Incident::Step { node, ahead }));
            }
            if self == Self::Beyond {
                let ahead = off(near).0;
                to.incidents.push((storm_ends, Incident::Step { node, ahead }));
            }
            if self.is_slow(plan) {
                let (_, from) = off(far);
                let clock = &mut to.sites[node].clock;
                let rate = clock.rate(storm_ends);
                clock.settle(from, TRUE_RATE / 2);
                clock.settle(storm_ends, rate);
            }
        }
        to.incidents.sort_by_key(|(at, _)| *at);
    }
}

/// Translated ends of grants are this much later, for the time between the reads of two clocks. A
/// grant that is translated anew in its last moments lasts for this time from then on.
pub const ALLOWANCE: Duration = Duration::from_millis(2);

/// Clocks of a node at its last input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Read {
    /// True time.
    pub at: u64,
    pub local: Time,
    pub wall: WallTime,
}

impl Read {
    /// The clocks that a core reads for an input.
    #[must_use]
    pub fn of(context: &Context<'_>) -> Self {
        let (at, local, wall) = (context.sampled, context.sample(), context.wall());
        Self { at, local, wall }
    }

    /// The largest span, in nanoseconds, by which the wall clock of `node` was behind this reading
    /// between `since` and `now`, if all planned steps of the clock happen.
    #[must_use]
    pub fn set_back(&self, conditions: &Conditions, node: usize, since: u64, now: u64) -> u64 {
        let lead = self.lead();
        let mut least = conditions.sites[node].wall;
        for (at, incident) in conditions.incidents.iter().filter(|(at, _)| *at <= now) {
            if let Incident::Step { node: stepped, ahead } = incident
                && *stepped == node
            {
                least = if *at < since { *ahead } else { least.min(*ahead) };
            }
        }
        u64::try_from(lead - i128::from(least)).unwrap_or(0)
    }

    /// The true time at which the wall clock shows `wall`, if the clock is not set after this
    /// reading.
    #[must_use]
    pub fn reaches(&self, wall: WallTime) -> u64 {
        let since_beginning = i128::from(wall.as_nanos()) - i128::from(EPOCH);
        u64::try_from(since_beginning - self.lead()).unwrap_or(0)
    }

    /// Lead over true time.
    fn lead(&self) -> i128 {
        i128::from(self.wall.as_nanos()) - i128::from(EPOCH) - i128::from(self.at)
    }
}

/// The time from which the wall clock of `node` shows `wall` or later for ever, if all its steps
/// happen. A clock that is set back soon after it has shown `wall` shows it again: a handle that
/// nobody read in between leads until then.
#[must_use]
pub fn wall_reaches(
    conditions: &Conditions,
    node: usize,
    from: u64,
    lead: i64,
    wall: WallTime,
) -> u64 {
    let reaches = |lead: i64| {
        let since = i128::from(wall.as_nanos()) - i128::from(EPOCH);
        u64::try_from(since - i128::from(lead)).unwrap_or(0)
    };
    let (mut at, mut lead, mut last) = (from, lead, from);
    for (time, incident) in &conditions.incidents {
        if let Incident::Step { node: stepped, ahead } = incident
            && *stepped == node
            && *time > at
        {
            let reached = reaches(lead).min(*time);
            last = if reached > at { reached } else { last };
            (at, lead) = (*time, *ahead);
        }
    }
    let reached = reaches(lead);
    if reached > at { reached } else { last }
}
