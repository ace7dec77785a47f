//! What a world concentrates on. Drawn evenly, everything happens in every world and little of it
//! together: what takes four unlikely things in a row is seen only where those four are likely.

use tenure_core::nerio::{Config, MemberSet};

use super::node::NodePlan;
use crate::rng::{Rng, mix};
use crate::scenario::plan::LEFTOVER;
use crate::world::conditions::{DiskFate, Incident};

/// What a world concentrates on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bent {
    /// Nothing: a little of everything.
    Broad,
    /// What grantors remember, and learn from each other: every candidate reaches a quorum of its
    /// own for a long time, applications come and go, and directories are lost.
    Memory,
    /// Who is next: many candidates with priorities, hand-overs, and room for few who wait.
    Crowd,
    /// What falls together: messages arrive, and applications want something, at the same instants.
    Grid,
    /// Who is who: messages in somebody's name from elsewhere, and from another life.
    Strangers,
    /// The first leader of a cluster, while a grantor that lost its directory founds it and cannot
    /// write that down.
    Founding,
}

/// What the draw of which broad worlds are about the first leader is for.
const FOUNDING: u64 = 0x6669_7273;

/// Which worlds there are, each as often.
const BENTS: [Bent; 8] = [
    Bent::Broad,
    Bent::Memory,
    Bent::Crowd,
    Bent::Grid,
    Bent::Strangers,
    Bent::Broad,
    Bent::Memory,
    Bent::Crowd,
];

impl Bent {
    /// That of a seed.
    pub(super) fn draw(seed: u64) -> Self {
        match Rng::new(seed, 1).choose(&BENTS) {
            Self::Broad if mix(seed ^ FOUNDING).is_multiple_of(4) => Self::Founding,
            drawn => drawn,
        }
    }

    /// How many members and other candidates there are.
    pub(super) fn people(self, rng: &mut Rng, members: usize, others: usize) -> (usize, usize) {
        match self {
            Self::Broad | Self::Grid | Self::Strangers => (members, others),
            Self::Memory => (rng.choose(&[3, 3, 3, 4, 5]), rng.choose(&[2, 2, 3])),
            Self::Crowd => (rng.choose(&[1, 3, 3, 5]), rng.choose(&[3, 4, 5])),
            Self::Founding => (rng.choose(&[3, 3, 5]), rng.choose(&[1, 2, 3])),
        }
    }

    /// Bends the settings.
    pub(super) fn settings(self, rng: &mut Rng, config: &mut Config) {
        match self {
            Self::Memory => config.delta_max = config.lease * rng.choose(&[1, 1, 2]),
            Self::Crowd => config.limits.parked = rng.choose(&[1, 2, 64]),
            Self::Founding => config.delta_max = config.lease,
            Self::Broad | Self::Grid | Self::Strangers => {}
        }
        config.verify_max = config.verify_max.min(config.delta_max);
    }

    /// Whether later lives of a node allow shorter leases than its first.
    pub(super) fn shortens(self, rng: &mut Rng) -> bool {
        self == Self::Memory && rng.once_in(2)
    }

    /// Makes the leases of some nodes much shorter than those of others, so that what one grantor
    /// forgets outlasts what others wait for. Says whether members give only short ones at first.
    pub(super) fn leases(self, seed: u64, nodes: &mut [NodePlan]) -> bool {
        let mut rng = Rng::new(seed, 2);
        if self != Self::Memory || rng.once_in(2) {
            return false;
        }
        for node in nodes.iter_mut().filter(|_| rng.once_in(2)) {
            let shorter = |parts: u32| {
                let mut config = Config::clone(&node.config);
                (config.lease, config.grace) = (config.lease / parts, config.grace / parts);
                config.kill_margin /= parts;
                config.check().ok()
            };
            if let Some(config) = shorter(4).or_else(|| shorter(2)) {
                node.config = config;
                node.later = None;
            }
        }
        rng.once_in(2)
    }

    /// Every member starts again, and gives longer leases since.
    pub(super) fn raises(
        self,
        seed: u64,
        nodes: &[NodePlan],
        (unit, storm_ends): (u64, u64),
        incidents: &mut Vec<(u64, Incident)>,
    ) {
        let mut rng = Rng::new(seed, 3);
        for (node, _) in nodes.iter().enumerate().filter(|(_, this)| this.member) {
            let (at, down) = (rng.within(unit..storm_ends), rng.within(1..unit / 8));
            let crash = Incident::Crash { node, down, reboot: None, disk: DiskFate::Kept };
            incidents.push((at, crash));
        }
        // One grantor raises early; a candidate that reaches nobody else asks it, it forgets that,
        // and another grantor raises while the grant lasts.
        let members: Vec<_> = (0..nodes.len()).filter(|node| nodes[*node].member).collect();
        let longest = nodes.iter().map(|node| node.config.lease).max();
        let asks =
            |node: &usize| !nodes[*node].member && Some(nodes[*node].config.lease) == longest;
        let Some(asker) = (0..nodes.len()).find(asks).filter(|_| members.len() > 2) else { return };
        let (mut at, down) = (unit, unit / 64);
        while at + 4 * unit < storm_ends {
            let (first, other) = (rng.choose(&members), rng.choose(&members));
            let crash = |node, disk| Incident::Crash { node, down, reboot: None, disk };
            let from = members.iter().filter(|node| **node != first);
            let from = from.fold(0, |set, node| set | 1 << node);
            let (forgets, raised) = (rng.within(unit / 8..unit / 2), rng.within(unit / 2..unit));
            let apart = Incident::Apart { node: asker, from, until: at + unit + raised };
            incidents.extend([
                (at, crash(first, DiskFate::Kept)),
                (at + unit / 4, apart),
                (at + unit + forgets, crash(first, DiskFate::Lost)),
                (at + unit + raised, crash(other, DiskFate::Kept)),
            ]);
            at += rng.within(3 * unit..8 * unit);
        }
    }

    /// An application that leads or contends for nothing campaigns at one wish in so many.
    pub(super) fn reluctance(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Memory => rng.choose(&[1, 6, 6, 20]),
            Self::Crowd => 1,
            Self::Broad | Self::Grid | Self::Strangers | Self::Founding => {
                rng.choose(&[1, 1, 1, 1, 6, 40])
            }
        }
    }

    /// How often something is sent in somebody's name.
    pub(super) fn forges(self) -> u16 {
        if self == Self::Strangers { 1_500 } else { 0 }
    }

    /// On which grid messages arrive.
    pub(super) fn grain(self, rng: &mut Rng, round_trip: u64) -> u64 {
        if self == Self::Grid { round_trip / rng.choose(&[4, 16, 64]) } else { 1 }
    }

    /// Whether nodes may be gone for good: not where directories must be found again.
    pub(super) fn may_lose_nodes(self) -> bool {
        self != Self::Memory && self != Self::Founding
    }

    /// Until when nobody campaigns: that a directory was lost is noticed, and its grantor waits
    /// for what it may have granted.
    pub(super) fn idle_until(self, seed: u64, unit: u64) -> u64 {
        match self {
            Self::Founding => unit / 2 + Rng::new(seed, 4).within(unit..5 * unit / 2),
            _ => 0,
        }
    }

    /// How often writes fail, if not as often as elsewhere.
    pub(super) fn write_fails(self) -> Option<u16> {
        (self == Self::Founding).then_some(16_000)
    }

    /// What goes wrong by plan, beside what goes wrong in all worlds.
    pub(super) fn incidents(
        self,
        rng: &mut Rng,
        nodes: &[NodePlan],
        (unit, storm_ends): (u64, u64),
        incidents: &mut Vec<(u64, Incident)>,
    ) {
        if self == Self::Founding {
            // Nothing else happens before the first leader.
            incidents.retain(|(at, _)| *at > 4 * unit);
            let members = nodes.iter().filter(|this| this.member).count();
            let (node, down, disk) = (rng.below(members), unit / 64, DiskFate::Lost);
            incidents.push((unit / 2, Incident::Crash { node, down, reboot: None, disk }));
        }
        if self != Self::Memory {
            return;
        }
        incidents.clear();
        for (node, this) in nodes.iter().enumerate() {
            if !this.member {
                partial_reach(rng, nodes, node, (unit, storm_ends), incidents);
            }
        }
        let reboots = rng.choose(&[0, 2, 4]);
        let mut at = unit;
        while at < storm_ends {
            let node = rng.below(nodes.len());
            let disk = match rng.within(0..4) {
                0 => DiskFate::Kept,
                1 => DiskFate::Torn,
                _ => DiskFate::Lost,
            };
            let longest = unit / rng.choose(&[1, 8, 64]);
            let down = rng.within(1..longest);
            let reboot = rng.once_in(reboots).then(|| rng.within(0..1 << 40));
            incidents.push((at, Incident::Crash { node, down, reboot, disk }));
            at += rng.within(unit / 8..unit * LEFTOVER);
        }
    }
}

/// A candidate reaches a quorum of the members and nobody else, now this one and then another.
fn partial_reach(
    rng: &mut Rng,
    nodes: &[NodePlan],
    node: usize,
    (unit, storm_ends): (u64, u64),
    incidents: &mut Vec<(u64, Incident)>,
) {
    let quorums = &nodes[0].config.quorums;
    let mut at = 0;
    while at < storm_ends {
        let until = at + rng.within(unit..unit * 16);
        let mut reached: MemberSet = (0..nodes.len()).filter(|n| nodes[*n].member).collect();
        for _ in 0..2 * nodes.len() {
            let without = reached.minus(std::iter::once(rng.below(nodes.len())).collect());
            if quorums.is_quorum(without) {
                reached = without;
            }
        }
        let others = (0..nodes.len()).filter(|n| nodes[*n].member && !reached.contains(*n));
        let from = others.fold(0, |set, other| set | 1 << other);
        incidents.push((at, Incident::Apart { node, from, until }));
        at = until;
    }
}
