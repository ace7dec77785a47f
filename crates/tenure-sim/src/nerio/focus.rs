//! The fault on which a world concentrates: with even draws, four unlikely events in a row never
//! happen.

use tenure_core::nerio::{AutoReplace, Config, Detector, MemberSet, Quorums, RingConfig};

use super::node::NodePlan;
use super::plan::rates;
use crate::rng::{Rng, mix};
use crate::scenario::plan::{LEFTOVER, repeatedly};
use crate::world::conditions::{Conditions, DiskFate, Incident};
use crate::world::fault::Rates;
use crate::world::nodes::bits;

/// The fault on which a world concentrates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Focus {
    /// A little of every fault.
    Broad,
    /// Memory of grantors: every candidate reaches a quorum of its own for a long time,
    /// applications come and go, and directories are lost.
    Memory,
    /// Succession: many candidates with priorities, hand-overs, and room for few waiting requests.
    Crowd,
    /// Coincidence: messages and commands arrive at the same instants.
    Grid,
    /// Identity: strangers send messages in the name of a node, from another address or another
    /// life.
    Strangers,
    /// The founding of a cluster: all directories are empty at the start, and some are lost during
    /// the founding. In half of these worlds all directories are lost at once later.
    Founding,
    /// Two memories of one member. The member is cut off from the others, another process begins in
    /// its place with an empty directory, and candidates reach both processes in turn.
    Copies,
    /// Changes of members: two operators ask for changes, while members crash and lose their
    /// directories. Some nodes are no members at first.
    Change,
}

/// Salt of the draw that makes broad worlds about the founding.
const FOUNDING: u64 = 0x6669_7273;
/// Salt of the draw that makes broad worlds with two memories of one member.
const COPIES: u64 = 0x636f_7079;
/// Salt of the draw that makes broad worlds in which the members change.
const CHANGE: u64 = 0x6368_616e;
/// Salt of the draw that makes worlds in which clocks are set back.
const SET_BACK: u64 = 0x6261_636b;
/// Salt of the draw that makes worlds whose members replace lost memories by themselves.
const REPLACES: u64 = 0x6175_746f;
/// Salt of the draw that makes worlds whose members stand on a ring.
const RINGS: u64 = 0x7269_6e67;
/// Salt of the draw that makes worlds in which a second node has the name of a member.
const DOUBLES: u64 = 0x6475_6f73;
/// Salt of the draw that makes worlds in which a document founds the cluster.
const DOCUMENTS: u64 = 0x646f_6373;
/// Stream of draws for encounters of a member's old process with members that lose their
/// directories.
const ENCOUNTERS: u64 = 4;
/// Stream of draws for members with missing directories.
const ABSENCES: u64 = 6;
/// Stream of draws for the late member of a founding.
const LATE: u64 = 5;
/// Salt of the draw that makes worlds in which all directories are lost.
const ALL_LOST: u64 = 0x616c_6c6c;

/// Equally likely kinds of worlds.
const FOCUSES: [Focus; 8] = [
    Focus::Broad,
    Focus::Memory,
    Focus::Crowd,
    Focus::Grid,
    Focus::Strangers,
    Focus::Broad,
    Focus::Memory,
    Focus::Crowd,
];

impl Focus {
    /// Draws the focus of the world of `seed`.
    pub(super) fn draw(seed: u64) -> Self {
        match Rng::new(seed, 1).choose(&FOCUSES) {
            Self::Broad if mix(seed ^ FOUNDING).is_multiple_of(4) => Self::Founding,
            Self::Broad if mix(seed ^ COPIES).is_multiple_of(4) => Self::Copies,
            Self::Broad if mix(seed ^ CHANGE).is_multiple_of(2) => Self::Change,
            drawn => drawn,
        }
    }

    /// The numbers of members and of other candidates.
    pub(super) fn people(self, rng: &mut Rng, members: usize, others: usize) -> (usize, usize) {
        match self {
            Self::Broad | Self::Grid | Self::Strangers => (members, others),
            Self::Memory => (rng.choose(&[3, 3, 3, 4, 5]), rng.choose(&[2, 2, 3])),
            Self::Crowd => (rng.choose(&[1, 3, 3, 5]), rng.choose(&[3, 4, 5])),
            Self::Founding => (rng.choose(&[3, 3, 3, 5, 2, 1]), rng.choose(&[1, 2, 3])),
            Self::Copies => (rng.choose(&[3, 3, 3, 4, 5]), rng.choose(&[2, 2, 3])),
            Self::Change => (rng.choose(&[3, 3, 4, 4, 5]), rng.choose(&[2, 2, 3])),
        }
    }

    /// Bends the settings.
    pub(super) fn settings(self, rng: &mut Rng, config: &mut Config) {
        match self {
            Self::Memory => config.delta_max = config.lease * rng.choose(&[1, 1, 2]),
            Self::Crowd => config.limits.parked = rng.choose(&[1, 2, 64]),
            Self::Founding | Self::Copies => config.delta_max = config.lease,
            Self::Change => {
                config.delta_max = config.lease;
                // Operators name no quorum system in their documents, so the members' system must
                // be a majority.
                let majority = Quorums::majority(config.members.len());
                config.quorums = majority.unwrap_or_else(|wrong| panic!("a majority: {wrong}"));
            }
            Self::Broad | Self::Grid | Self::Strangers => {}
        }
        config.verify_max = config.verify_max.min(config.delta_max);
    }

    /// Whether later lives of a node allow shorter leases than its first.
    pub(super) fn shortens(self, rng: &mut Rng) -> bool {
        self == Self::Memory && rng.once_in(2)
    }

    /// Makes the leases of some nodes much shorter than the leases of others, so that a grant that
    /// one grantor forgets outlasts the others' waits. Returns whether members grant only short
    /// leases at first.
    pub(super) fn leases(self, seed: u64, nodes: &mut [NodePlan]) -> bool {
        let mut rng = Rng::new(seed, 2);
        if self != Self::Memory || rng.once_in(2) {
            return false;
        }
        for node in nodes.iter_mut().filter(|_| rng.once_in(2)) {
            let shorter = |parts: u32| {
                let mut config = Config::clone(&node.config);
                config.lease /= parts;
                config.grace /= parts;
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

    /// Restarts every member with longer leases.
    pub(super) fn raises(self, nodes: &[NodePlan], conditions: &mut Conditions) {
        let Conditions { seed, unit, storm_ends, ref mut incidents, .. } = *conditions;
        let mut rng = Rng::new(seed, 3);
        for (node, _) in nodes.iter().enumerate().filter(|(_, this)| this.member) {
            let at = rng.within(unit..storm_ends);
            let down = rng.within(1..unit / 8);
            incidents.push((at, Incident::crash(node, down, DiskFate::Kept)));
        }
        // A first grantor raises its leases early. A candidate that reaches only this grantor gets
        // a long grant from it; the grantor forgets the grant; another grantor raises its leases
        // while the grant lasts.
        let members: Vec<_> = (0..nodes.len()).filter(|node| nodes[*node].member).collect();
        let longest = nodes.iter().map(|node| node.config.lease).max();
        let asks =
            |node: &usize| !nodes[*node].member && Some(nodes[*node].config.lease) == longest;
        let Some(asker) = (0..nodes.len()).find(asks).filter(|_| members.len() > 2) else { return };
        let mut at = unit;
        let down = unit / 64;
        while at + 4 * unit < storm_ends {
            let first = rng.choose(&members);
            let other = rng.choose(&members);
            let from = bits(members.iter().copied().filter(|node| *node != first));
            let forgets = rng.within(unit / 8..unit / 2);
            let raised = rng.within(unit / 2..unit);
            let apart = Incident::Apart { node: asker, from, until: at + unit + raised };
            incidents.extend([
                (at, Incident::crash(first, down, DiskFate::Kept)),
                (at + unit / 4, apart),
                (at + unit + forgets, Incident::crash(first, down, DiskFate::Lost)),
                (at + unit + raised, Incident::crash(other, down, DiskFate::Kept)),
            ]);
            at += rng.within(3 * unit..8 * unit);
        }
    }

    /// An idle application campaigns with one in this many commands.
    pub(super) fn reluctance(self, rng: &mut Rng) -> u64 {
        match self {
            Self::Memory => rng.choose(&[1, 6, 6, 20]),
            Self::Crowd => 1,
            Self::Broad
            | Self::Grid
            | Self::Strangers
            | Self::Founding
            | Self::Copies
            | Self::Change => rng.choose(&[1, 1, 1, 1, 6, 40]),
        }
    }

    /// The rate of forged messages.
    pub(super) fn forges(self) -> u16 {
        if self == Self::Strangers { 1_500 } else { 0 }
    }

    /// The grid of arrival times.
    pub(super) fn grain(self, rng: &mut Rng, round_trip: u64) -> u64 {
        if self == Self::Grid { round_trip / rng.choose(&[4, 16, 64]) } else { 1 }
    }

    /// Whether nodes may be gone for good: not where lost directories must be found again.
    pub(super) fn may_lose_nodes(self) -> bool {
        !matches!(self, Self::Memory | Self::Founding | Self::Copies | Self::Change)
    }

    /// Adds the process that begins in the place of a member.
    pub(super) fn copy(self, rng: &mut Rng, nodes: &mut Vec<NodePlan>) {
        if self != Self::Copies {
            return;
        }
        // The other members must form a quorum, so that their memories replace the member's lost
        // memory.
        let quorums = nodes[0].config.membership().quorums();
        let others = |member| quorums.everyone().minus(MemberSet::EMPTY.with(member));
        let left = (0..quorums.members()).filter(|member| quorums.is_quorum(others(*member)));
        let member = rng.choose(&left.collect::<Vec<_>>());
        nodes[member].campaigns = false;
        nodes[member].observes = false;
        let copy = NodePlan { copy_of: Some(member), directory: true, ..nodes[member].clone() };
        nodes.push(copy);
    }

    /// In half of the worlds with lost directories some directories are only missing for a while,
    /// and return if no other directory has taken their place.
    pub(super) fn absences(self, nodes: &[NodePlan], conditions: &mut Conditions) {
        let Conditions { seed, unit, storm_ends, ref mut incidents, .. } = *conditions;
        let mut rng = Rng::new(seed, ABSENCES);
        if !self.lacks_directories(seed) {
            return;
        }
        let members = nodes.iter().filter(|this| this.member).count();
        let mut at = unit;
        while at + 4 * unit < storm_ends {
            for _ in 0..rng.within(1..3) {
                let node = rng.below(members);
                let down = rng.within(1..unit / 8);
                let back = at + rng.within(unit / 2..3 * unit);
                let gone = at + rng.within(0..unit / 4);
                incidents.push((gone, Incident::crash(node, down, DiskFate::Absent)));
                // Plan each return twice, in case the member is down the first time.
                for back in [back, back + unit] {
                    incidents.push((back, Incident::crash(node, down, DiskFate::Kept)));
                }
            }
            at += rng.within(4 * unit..8 * unit);
        }
    }

    /// Starts a member long after the others.
    pub(super) fn late(self, nodes: &[NodePlan], conditions: &mut Conditions) {
        let mut rng = Rng::new(conditions.seed, LATE);
        if self == Self::Founding && rng.once_in(2) {
            let late = rng.below(nodes.iter().filter(|this| this.member).count());
            conditions.sites[late].starts += rng.within(conditions.unit..conditions.unit * 5);
        }
    }

    /// In half of the worlds with two memories of a member, another member loses its own directory,
    /// and still reaches the old process, which may start again. Returns whether the others treat
    /// the new process as a stranger until it starts again, because its address differs.
    pub(super) fn encounters(self, nodes: &[NodePlan], conditions: &mut Conditions) -> bool {
        let Conditions { seed, unit, storm_ends, ref mut incidents, .. } = *conditions;
        let mut rng = Rng::new(seed, ENCOUNTERS);
        let Some(copy) = nodes.iter().position(|this| this.copy_of.is_some()) else { return false };
        let Some(old) = nodes[copy].copy_of.filter(|_| rng.once_in(2)) else { return false };
        let others = (0..nodes.len()).filter(|node| nodes[*node].member && *node != old);
        let others: Vec<_> = others.filter(|node| *node != copy).collect();
        let near = rng.choose(&others);
        for (_, incident) in incidents.iter_mut() {
            if let Incident::Apart { node, from, .. } = incident
                && *node == old
            {
                *from &= !(1 << near);
            }
        }
        let span = storm_ends / 8..storm_ends - unit;
        incidents.extend(repeatedly(&mut rng, span, unit..unit * 6, |rng, _| {
            let (node, disk) = match rng.within(0..4) {
                0 => (old, DiskFate::Kept),
                1 => (rng.choose(&others), DiskFate::Lost),
                _ => (near, DiskFate::Lost),
            };
            Incident::crash(node, rng.within(1..unit / 4), disk)
        }));
        let is_strange = rng.once_in(4);
        if is_strange {
            let again = rng.within(storm_ends / 2..storm_ends - unit / 2);
            let down = rng.within(1..unit / 4);
            incidents.push((again, Incident::crash(copy, down, DiskFate::Kept)));
        }
        is_strange
    }

    /// Whether clocks are set back repeatedly, when memories begin.
    pub(super) fn sets_back(self, seed: u64) -> bool {
        self == Self::Copies && mix(seed ^ SET_BACK).is_multiple_of(2)
    }

    /// Whether a member has two memories.
    pub(super) fn copies(self) -> bool {
        self == Self::Copies
    }

    /// Whether the members change.
    pub(super) fn changes(self) -> bool {
        self == Self::Change
    }

    /// The spans of replacements in half of the worlds whose members change: short ones, so that
    /// members are replaced again and again while other faults happen.
    pub(super) fn replaces(self, seed: u64, config: &Config) -> Option<AutoReplace> {
        let draw = mix(seed ^ REPLACES);
        let silence = if draw.is_multiple_of(4) { config.lease } else { config.lease / 2 };
        let pause = if draw.is_multiple_of(3) { config.lease * 6 } else { config.lease };
        (self.changes() && draw.is_multiple_of(2)).then_some(AutoReplace { silence, pause })
    }

    /// The ring, in an eighth of all worlds, but in none of `tests/found_*.txt`. In some of these
    /// worlds, only the weak leader campaigns among the members. Two messages and a pause fit into
    /// half of the silence.
    pub(super) fn ring(seed: u64, config: &Config) -> Option<RingConfig> {
        let draw = mix(seed ^ RINGS);
        let detector = if draw.is_multiple_of(3) { Detector::Accrual } else { Detector::Ping };
        let silence = config.round_trip * 16;
        let only_weak_leader = draw.is_multiple_of(5) || draw.is_multiple_of(7);
        let ring = RingConfig { silence, only_weak_leader, ..RingConfig::new(detector) };
        draw.is_multiple_of(8).then_some(ring)
    }

    /// Whether a second node has the name of a member: in half of the worlds whose members replace
    /// others by themselves.
    pub(super) fn doubles(self, seed: u64, config: &Config) -> bool {
        self.changes() && config.replace.is_some() && mix(seed ^ DOUBLES).is_multiple_of(2)
    }

    /// Whether the members found the cluster by a document, in half of the worlds whose members
    /// change.
    pub(super) fn founds_by_document(self, seed: u64) -> bool {
        self.changes() && mix(seed ^ DOCUMENTS).is_multiple_of(2)
    }

    /// Whether the members begin with empty directories, and no user confirms a new cluster.
    pub(super) fn founds(self) -> bool {
        self == Self::Founding
    }

    /// Whether all directories are lost at once.
    pub(super) fn loses_all(self, seed: u64) -> bool {
        self == Self::Founding && mix(seed ^ ALL_LOST).is_multiple_of(2)
    }

    /// Whether directories are missing for a while.
    fn lacks_directories(self, seed: u64) -> bool {
        self == Self::Memory && mix(seed ^ ABSENCES).is_multiple_of(2)
    }

    /// Fault rates: where all directories are lost at once, or some are missing for a while, random
    /// faults end no process.
    pub(super) fn rates(self, rng: &mut Rng, seed: u64, calm: bool) -> Rates {
        let mut rates = if calm { Rates::default() } else { rates(rng) };
        if self == Self::Founding && rng.once_in(2) {
            rates.write = 16_000;
        }
        if self.loses_all(seed) || self.lacks_directories(seed) {
            rates.crash = 0;
        }
        rates
    }

    /// Draws the incidents of this focus alone.
    pub(super) fn incidents(self, rng: &mut Rng, nodes: &[NodePlan], conditions: &mut Conditions) {
        if self == Self::Copies {
            return copies(rng, nodes, conditions);
        }
        if self == Self::Founding {
            let all_lost = self.loses_all(conditions.seed);
            return foundings(rng, nodes, all_lost, conditions);
        }
        if self != Self::Memory {
            return;
        }
        conditions.incidents.clear();
        for (node, this) in nodes.iter().enumerate() {
            if !this.member {
                partial_reach(rng, nodes, node, conditions);
            }
        }
        let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
        let reboots = rng.choose(&[0, 2, 4]);
        let pause = unit / 8..unit * LEFTOVER;
        incidents.extend(repeatedly(rng, unit..storm_ends, pause, |rng, _| {
            let node = rng.below(nodes.len());
            let disk = match rng.within(0..4) {
                0 => DiskFate::Kept,
                1 => DiskFate::Torn,
                _ => DiskFate::Lost,
            };
            let longest = unit / rng.choose(&[1, 8, 64]);
            let down = rng.within(1..longest);
            let reboot = rng.once_in(reboots).then(|| rng.within(0..1 << 40));
            Incident::Crash { node, down, reboot, disk }
        }));
    }
}

/// Cuts a member off from the others, then begins another process in its place, and ends that
/// process before the storm ends. Candidates reach either process, and not always all other
/// members.
fn copies(rng: &mut Rng, nodes: &[NodePlan], conditions: &mut Conditions) {
    let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
    let Some(copy) = nodes.iter().position(|this| this.copy_of.is_some()) else { return };
    let Some(old) = nodes[copy].copy_of else { return };
    incidents.clear();
    let others = bits((0..nodes.len()).filter(|node| nodes[*node].member && *node != old));
    incidents.push((unit / 2, Incident::Apart { node: old, from: others, until: storm_ends }));
    incidents.push((storm_ends - unit / 2, Incident::Gone { node: old }));
    for node in (0..nodes.len()).filter(|node| nodes[*node].campaigns) {
        let mut at = rng.within(0..2 * unit);
        while at < storm_ends {
            let until = at + rng.within(unit / 2..unit * 8);
            let mut from = 1 << rng.choose(&[old, copy]);
            if rng.once_in(2) {
                from |= 1 << rng.below(copy);
            }
            incidents.push((at, Incident::Apart { node, from, until }));
            at = until;
        }
    }
}

/// Loses directories during the founding, or all at once later: before the first member can have
/// recovered its memory from the others.
fn foundings(rng: &mut Rng, nodes: &[NodePlan], all_lost: bool, conditions: &mut Conditions) {
    let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
    let members = nodes.iter().filter(|this| this.member).count();
    if all_lost {
        incidents.retain(|(_, incident)| !matches!(incident, Incident::Crash { .. }));
        let at = rng.within(3 * unit..storm_ends);
        for node in 0..members {
            // Each process is up again before the loss is tried a second time.
            let first = at + rng.within(1..unit / 8);
            let down = rng.within(1..unit / 16);
            incidents.push((first, Incident::crash(node, down, DiskFate::Lost)));
        }
        return;
    }
    for _ in 0..rng.within(0..4) {
        let node = rng.below(members);
        let down = rng.within(1..unit / 4);
        let crash = Incident::crash(node, down, DiskFate::Lost);
        incidents.push((rng.within(1..4 * unit), crash));
    }
}

/// Lets a candidate reach exactly a quorum of the members, a different one each time.
fn partial_reach(rng: &mut Rng, nodes: &[NodePlan], node: usize, conditions: &mut Conditions) {
    let Conditions { unit, storm_ends, ref mut incidents, .. } = *conditions;
    let quorums = nodes[0].config.membership().quorums();
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
        let from = bits((0..nodes.len()).filter(|n| nodes[*n].member && !reached.contains(*n)));
        incidents.push((at, Incident::Apart { node, from, until }));
        at = until;
    }
}
