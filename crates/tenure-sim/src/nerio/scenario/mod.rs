//! The scenario of Nerio: its nodes, and the state that its checks use.

mod facts;
mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use tenure_core::nerio::{
    self, Command, Event, Extra, Inc, MemberSet, Message, Nerio, OwnEvent, Recipient, Record,
    Sender, Start, To, Who, Words,
};
use tenure_core::{Effect, Input, LeaderView, Standing, WallTime};

use super::disk::{Disk, instance, wall};
use super::epochs::Epochs;
use super::fact::{Own, named};
use super::forge;
use super::installed::{Installations, is_given};
use super::operator::Operator;
use super::plan::{self, NodePlan, Plan, Settings};
use super::properties::{Properties, SENTENCES};
use super::quorum_leases::{Details, QuorumLeases, Work};
use super::walls::Read;
use super::watch::{self, Watch};
use super::{changes, walls};
use crate::rng::Rng;
use crate::scenario::{
    Check, Claim, Fact, History, Leadership, Memory, Run, Scenario, Sentences, Verdict,
};
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::conditions::DiskFate;
use crate::world::node::Node;
use crate::world::nodes::Nodes;

/// The number of inputs between two checks of a core's memory, where many candidates may wait.
const EVERY: u32 = 8_192;
const EVERY_FEW: u32 = 1_024;
/// The first number of memories that begin while a directory is missing; memories after a loss have
/// lower numbers.
const ABSENT: u64 = 100;

crate::tally! {
    Counts {
        /// Verifications answered with yes.
        verified,
        edicts,
        /// State directories lost.
        lost_disks,
        replacing,
        /// State directories of another node.
        foreign_disks,
        /// State directories that were missing.
        absent_disks,
        /// Entries of grantors into epochs after the first.
        entered,
        /// Grants that ended with the process of their holder, by a member's report.
        buried,
        /// Reports of clocks that are apart.
        apart,
    }
}

impl Scenario for QuorumLeases {
    type Words = Words;
    type Process = Nerio;
    type Core = Nerio;
    type Service = Operator;
    type Disk = Disk;
    type NodePlan = NodePlan;
    type Settings = Settings;
    type Extra = Extra;
    type OwnEvent = OwnEvent;
    type Details = Details;
    type Fact<'a> = Own<'a>;
    type Counts = Counts;
    type Checks = Properties;

    const SENTENCES: Sentences = SENTENCES;
    const TIMEOUTS: u32 = 3;

    fn new(plan: &mut Plan) -> Self {
        let installed = Installations::new(plan);
        let who = plan.nodes.iter().map(|node| Who { name: node.name.clone(), inc: Inc(0) });
        let nodes = plan.nodes.len();
        let elections = plan.elections.len();
        Self {
            installed,
            who: who.collect(),
            lives: vec![0; nodes],
            work: vec![vec![Work::default(); elections]; nodes],
            grants: vec![BTreeMap::new(); elections],
            timestamps: vec![Vec::new(); elections],
            unwritten: vec![None; nodes],
            lost_disk: plan.own.focus.copies() || plan.own.focus.changes(),
            written: BTreeSet::new(),
            founders: BTreeSet::new(),
            read: vec![Read::default(); nodes],
            now: 0,
            epochs: plan.own.focus.changes().then(|| Box::new(Epochs::new(plan))),
            watch: plan.own.watches.then(|| Box::new(Watch::new(nodes))),
        }
    }

    fn node(&self, plan: &Plan, node: usize, clock: &Clock) -> Node<Nerio, Operator> {
        let this = &plan.nodes[node];
        if this.operator {
            return Node::Service(changes::operator(plan, node, clock));
        }
        let later = this.later.as_ref().filter(|_| self.who[node].inc != Inc(0));
        let core = Nerio::new(later.unwrap_or(&this.config).clone(), this.name.clone());
        let supervisor = watch::supervisor(plan, node).map(|by| plan.nodes[by].name.clone());
        Node::Process(core.supervised_by(supervisor))
    }

    #[inline]
    fn core(process: &Nerio) -> &Nerio {
        process
    }

    fn disk(&self, plan: &Plan, node: usize) -> Disk {
        let copy = plan.nodes[node].copy_of.is_some();
        let seed = plan.conditions.seed;
        let focus = plan.own.focus;
        let memory = instance(seed, node, u64::from(copy), focus.sets_back(seed));
        let by_document = focus.founds_by_document(seed);
        let is_told = !copy && !focus.founds() && !by_document && !plan.nodes[node].blank;
        Disk::new(node, memory, is_told)
    }

    fn start(&self, plan: &Plan, node: usize, life: u128, disk: &Disk) -> Result<Start, String> {
        if disk.owner != node {
            return Err(format!("the state directory belongs to {}", plan.nodes[disk.owner].name));
        }
        let this = &plan.nodes[node];
        let memory = this.member.then(|| disk.memory(&this.config)).transpose();
        let memory = memory.map_err(|error| error.to_string())?;
        let seed = plan.conditions.seed;
        let by_document = plan.own.focus.founds_by_document(seed);
        let wall = by_document.then(|| wall(seed, node, self.now));
        let memory = memory.map(|memory| nerio::Memory { wall, ..memory });
        Ok(Start { inc: Inc(life), seed: life as u64, memory })
    }

    fn write(disk: &mut Disk, record: Record) {
        disk.write(record);
    }

    fn damage(
        run: &mut Run<Self>,
        disks: &mut [&mut Disk],
        node: usize,
        fate: DiskFate,
        reboot: bool,
    ) -> bool {
        let this = &run.plan.nodes[node];
        if !this.member {
            return fate == DiskFate::Kept;
        }
        // Without a state directory every end of the process loses the memory.
        let fate = if this.directory { fate } else { DiskFate::Lost };
        for disk in disks.iter_mut() {
            if run.own.written.contains(&disk.kept.durable().instance) {
                disk.keep_mounted();
            }
        }
        if reboot {
            disks[node].reboot();
        }
        if run.plan.conditions.seed.is_multiple_of(4) && !run.plan.own.focus.changes() {
            // The next life begins with the directory of a version that knows no epochs.
            disks[node].kept.forget_epoch();
        }
        match fate {
            DiskFate::Kept => {
                run.own.installed.restart(&mut run.plan, node);
                disks[node].put_back();
                true
            }
            DiskFate::Torn => {
                disks[node].tear();
                true
            }
            DiskFate::Lost => lose(run, disks, node),
            DiskFate::Absent => miss(run, disks, node),
            DiskFate::Foreign(other) => {
                if other == node || !run.plan.nodes[other].member {
                    return false;
                }
                let copy = disks[other].own().clone();
                disks[node].mount(&copy);
                run.counts.own.foreign_disks += 1;
                true
            }
        }
    }

    fn sender(&self, plan: &Plan, node: usize, _life: u128, to: &To) -> Sender {
        let NodePlan { address, member, .. } = plan.nodes[node];
        let copy = plan.nodes[node].copy_of.is_some();
        let is_strange = copy && plan.own.strange_copy && self.lives[node] < 2;
        let who = self.who[node].clone();
        Sender { who, address, proved: member && !is_strange, epoch: to.epoch }
    }

    #[inline]
    fn recipients(&self, plan: &Plan, _from: usize, to: &To) -> Nodes {
        let Some(node) = plan.find(&to.recipient) else { return Nodes::NONE };
        let focus = plan.own.focus;
        // Where members change, the second node has an address of its own.
        let by_name = focus.changes() && matches!(to.recipient, Recipient::Member(_));
        match (focus.copies() || by_name).then(|| plan.copy_of(node)).flatten() {
            Some(copy) => [node, copy].into_iter().collect(),
            None => Nodes::one(node),
        }
    }

    fn forge(
        &self,
        plan: &Plan,
        from: &Sender,
        message: &Message,
        draw: u64,
    ) -> Option<(Sender, Message)> {
        if let Some(watch) = &self.watch {
            return watch.report(plan, &self.who, from, draw);
        }
        let about_epochs = plan.own.lists.then(|| forge::about_epochs(from, message, draw));
        about_epochs.flatten().or_else(|| forge::forge(plan.config(), from, message, draw))
    }

    #[inline]
    fn wall_reaches(context: &Context<'_>, node: usize, wall: WallTime) -> u64 {
        walls::wall_reaches(context.conditions, node, context.now, context.wall, wall)
    }

    fn compares_wall(plan: &Plan) -> bool {
        plan.config().clock_skew_max.is_some()
    }

    #[inline]
    fn event(event: &Event) -> Option<&Event> {
        Some(event)
    }

    #[inline]
    fn command(command: &Command) -> Option<&Command> {
        Some(command)
    }

    fn is_spared(plan: &Plan, node: usize) -> bool {
        plan.nodes[node].operator
    }

    fn campaigns(plan: &Plan, node: usize) -> bool {
        plan.nodes[node].campaigns
    }

    fn observes(plan: &Plan, node: usize) -> Option<Duration> {
        let this = &plan.nodes[node];
        this.observes.then(|| plan::observe_every(&this.config))
    }

    fn campaign(plan: &Plan, node: usize, _: &mut Rng) -> Command {
        let value = plan::known(plan.nodes[node].name.as_str());
        Command::Campaign { value, priority: (node % 3) as u8 }
    }

    fn whim(plan: &Plan, node: usize, observe: Option<Command>, rng: &mut Rng) -> Option<Command> {
        let other = &plan.nodes[rng.below(plan.nodes.len())];
        Some(match rng.within(0..16) {
            0 => Command::Resign,
            1 => Command::Transfer { to: other.name.clone(), probe: rng.once_in(3) },
            2..=5 if plan.own.walls.is_slow(&plan.nodes[node]) => return None,
            2..=5 => Command::Extra(Extra::Verify { leader: other.address }),
            6 => observe?,
            7 if observe.is_some() && rng.once_in(3) => Command::Unobserve,
            _ => return None,
        })
    }

    fn started(run: &mut Run<Self>, node: usize, life: u128) {
        run.own.who[node].inc = Inc(life);
        run.own.lives[node] += 1;
        run.own.work[node].fill(Work::default());
    }

    fn input(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        input: &Input<Words>,
    ) -> Verdict {
        run.heard(context, node, input)
    }

    #[inline(always)]
    fn effect(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        disk: &Disk,
    ) -> Verdict {
        run.own_effect(context, node, effect, disk)
    }

    fn dropped(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
    ) -> Verdict {
        run.decided(context, node, effect)
    }

    /// The application creates an edict if its handle shows it as leader.
    fn asked(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        election: usize,
        handle: Standing,
    ) -> Verdict {
        let Standing::Leading { fence: Some(fence), .. } = handle else { return Ok(()) };
        let work = &mut run.own.work[node][election];
        let counter = work.edicts;
        work.edicts += 1;
        let Some(timestamp) = &work.timestamp.clone() else { return Ok(()) };
        run.counts.own.edicts += 1;
        let who = &run.own.who[node].clone();
        run.tell_own(context, Own::Edict { election, who, fence, timestamp, counter })
    }

    #[inline(always)]
    fn note(
        &mut self,
        plan: &Plan,
        history: &mut History<Details>,
        now: u64,
        fact: Fact<'_, Self>,
    ) {
        self.now = now;
        if let Some(watch) = &mut self.watch {
            watch.at(now);
            if let Fact::Crashed { node } = fact {
                watch.crashed(plan, history, node, &self.who[node]);
            }
        }
        match fact {
            Fact::Ended { node, election, .. } => self.work[node][election].timestamp = None,
            Fact::Claimed(claim) => {
                let leaderships = history.elections[claim.election].leaderships.iter_mut();
                if let Some(led) = leaderships.rev().find(|led| led.is(&claim)) {
                    led.own.alone = led.own.alone.max(claim.alone);
                    led.own.wall = led.own.wall.max(claim.wall);
                }
            }
            Fact::Own(own) => self.note_own(history, now, own),
            _ => {}
        }
    }

    fn led(&self, _: &Plan, claim: &Claim) -> Details {
        let first = self.work[claim.node][claim.election].first;
        let Claim { node, alone, wall, .. } = *claim;
        let (who, read) = (self.who[node].clone(), self.read[node]);
        Details { who, first, released: None, promised: 0, alone, wall, read }
    }

    fn ends(led: &Leadership<Details>) -> u64 {
        led.until.max(led.own.promised)
    }

    /// Expects no leader at a node whose lease no quorum grants.
    fn can_lead(plan: &Plan, node: usize) -> bool {
        is_given(plan, plan.nodes[node].config.lease, None)
    }

    fn seen(check: &Check<'_, Self>, leader: &LeaderView) -> Option<(usize, u128)> {
        let who = named(leader);
        let node = check.plan.nodes.iter().position(|node| node.name == who.name)?;
        Some((node, who.inc.0))
    }

    fn patience(plan: &Plan, node: usize) -> Option<u64> {
        let config = &plan.nodes[node].config;
        let patience = config.drift.real_at_most(plan::patience(config));
        Some(patience.as_nanos() as u64)
    }

    /// An entry prints in less than a kilobyte, a grant with its surroundings in less than eight
    /// kilobytes.
    fn memory(plan: &Plan) -> Memory {
        let limits = &plan.config().limits;
        let few = limits.parked < plan.nodes.len();
        let each = 8_192 + (limits.watermarks + plan.nodes.len()) * 1_024;
        let bytes = 65_536 + plan.elections.len() * each;
        Memory { every: if few { EVERY_FEW } else { EVERY }, bytes }
    }

    fn overfull(check: &Check<'_, Self>, _: usize, printed: &str) -> Option<String> {
        let room = check.plan.config().limits.parked;
        let waiting = printed.matches("ParkedRequest {").count();
        (waiting > room * check.plan.elections.len())
            .then(|| format!("lets {waiting} wait, and has room for {room} in each election"))
    }

    fn life(plan: &Plan, node: usize, life: u128) -> impl Display {
        Who { name: plan.nodes[node].name.clone(), inc: Inc(life) }
    }

    fn backing(
        check: &Check<'_, Self>,
        election: usize,
        node: usize,
        life: u128,
        until: u64,
    ) -> String {
        let who = Who { name: check.plan.nodes[node].name.clone(), inc: Inc(life) };
        format!(", on grants of {}, {}", check.backers(election, &who, until), check.clock(node))
    }

    fn role(plan: &Plan, node: usize) -> &'static str {
        match (plan.nodes[node].member, plan.nodes[node].campaigns) {
            _ if plan.nodes[node].operator => "operator",
            (true, true) => "grantor, candidate",
            (true, false) => "grantor",
            (false, _) => "candidate",
        }
    }

    fn address(plan: &Plan, node: usize) -> String {
        plan.nodes[node].address.to_string()
    }

    fn describe(plan: &Plan) -> String {
        let config = plan.config();
        let campaigning = plan.nodes.iter().filter(|node| node.campaigns).count();
        format!(
            "{} members ({:?}), {} nodes, {campaigning} that campaign, {} elections; lease {:?}, \
             delta_max {:?}, rho {}e-9, skew {:?} ({:?}), refresh {:?}, d {:?}",
            plan.members(),
            plan.membership().quorums(),
            plan.nodes.len(),
            plan.elections.len(),
            config.lease,
            config.delta_max,
            config.drift.parts_per_billion(),
            config.clock_skew_max,
            plan.own.walls,
            config.refresh,
            config.round_trip,
        )
    }

    fn summary(counts: &crate::scenario::Counts<Counts>) -> Vec<String> {
        let common = &counts.common;
        let own = &counts.own;
        vec![
            format!("messages      {}", common.messages),
            format!(
                "elections     {} won: {} ran out, {} handed over, {} given up or withdrawn",
                common.elected, common.lost, common.transferred, common.resigned
            ),
            format!(
                "also          {} claims raised, {} edicts, {} verifications, {} views \
                 of observers",
                common.claims, own.edicts, own.verified, common.views
            ),
        ]
    }

    fn losses(counts: &crate::scenario::Counts<Counts>) -> String {
        let ends = counts.common.crashes;
        let own = &counts.own;
        let lost = own.lost_disks;
        let foreign = own.foreign_disks;
        let absent = own.absent_disks;
        format!(
            "{ends} ends of a process, {lost} directories lost, {foreign} mistaken, {absent} absent"
        )
    }
}

/// The other members that remember everything, or will.
fn remember(plan: &Plan, disks: &[&mut Disk], node: usize) -> MemberSet {
    let remembers = |other: &usize| {
        let present = plan.copy_of(*other).unwrap_or(*other);
        let name = plan.membership().name(*other);
        let disk = disks[present].present();
        let is_founder = disks.iter().any(|by| by.present().names_founder(name, disk));
        (disk.knows_fences() || is_founder) && plan.nodes[*other].directory
    };
    (0..plan.members()).filter(|other| *other != node).filter(remembers).collect()
}

/// Removes a state directory for a while. An empty directory may take its place for good. If few
/// others remember, no directory takes its place: where no member remembers, the cluster would be
/// founded again.
fn miss(run: &mut Run<QuorumLeases>, disks: &mut [&mut Disk], node: usize) -> bool {
    let plan = &run.plan;
    let counts = &mut run.counts.own;
    let quorums = plan.membership().quorums();
    let remembering = remember(plan, disks, node);
    let safe = quorums.is_quorum(remembering)
        || (quorums.is_possible(remembering) && !remembering.is_empty());
    if disks[node].is_aside() || !safe {
        return false;
    }
    counts.absent_disks += 1;
    run.own.lost_disk = true;
    let seed = plan.conditions.seed;
    let number = ABSENT + counts.absent_disks;
    let memory = instance(seed, node, number, plan.own.focus.sets_back(seed));
    disks[node].mount(&Disk::new(node, memory, false));
    true
}

/// Loses a state directory, if the others remember enough, or if all are lost.
fn lose(run: &mut Run<QuorumLeases>, disks: &mut [&mut Disk], node: usize) -> bool {
    let plan = &mut run.plan;
    let seed = plan.conditions.seed;
    let focus = plan.own.focus;
    if focus.changes() {
        let spares = changes::can_spare(plan, disks, node);
        if spares {
            run.counts.own.lost_disks += 1;
            let number = run.counts.own.lost_disks;
            *disks[node] = Disk::new(node, instance(seed, node, number, false), false);
        }
        return spares;
    }
    // A quorum of the others must remember, now or soon.
    let enough = plan.membership().quorums().is_quorum(remember(plan, disks, node));
    // Before the founding of the cluster, a new directory can be lost.
    let few = run.counts.own.lost_disks < (plan.members() as u64 - 1) / 2;
    let new = (0..plan.members()).all(|other| !disks[other].is_whole());
    let is_new = focus.founds() && few && new;
    if !(enough || is_new || focus.loses_all(seed)) {
        return false;
    }
    run.own.installed.install(plan, node);
    run.counts.own.lost_disks += 1;
    run.own.lost_disk = true;
    let number = run.counts.own.lost_disks;
    *disks[node] = Disk::new(node, instance(seed, node, number, focus.sets_back(seed)), false);
    true
}
