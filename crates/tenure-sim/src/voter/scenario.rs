//! The scenario of regional voters: its nodes, and the state that its checks use.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use tenure_core::voter::{
    Answer, Ask, Ballot, Change, Event, Fingerprint, Identity, Ignored, Leadership, Memory, Mode,
    OwnEvent, Participant, Start, Voter,
};
use tenure_core::{Effect, Loss, NodeName};

use super::account::{self, Account};
use super::exchange::{Command, Half, Place, To, Words};
use super::fact::Own;
use super::plan::{Kind, NodePlan, Plan, Settings};
use super::properties::{Properties, SENTENCES};
use super::server::Server;
use crate::rng::{Rng, mix};
use crate::scenario::parts::WithParts;
use crate::scenario::{
    Check, Claim, Fact, History, Leadership as PastLeadership, Memory as Room, Run, Scenario,
    Sentences, Verdict,
};
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::conditions::{DiskFate, Incident};
use crate::world::node::Node;
use crate::world::nodes::Nodes;

crate::tally! {
    Counts {
        /// Ballots that voters joined.
        ballots,
        /// Ballots with two highest numbers.
        ties,
        /// Reports that two results of a ballot have different numbers.
        differ,
        /// Written electorates.
        documents,
        /// Dropped voters.
        dropped,
        /// Late answers.
        late,
        /// Breaches that voters reported.
        breaches,
        /// Lost directories.
        lost,
        /// Leaders that were asked for another draw, and so no longer renewed.
        ways,
    }
}

#[derive(Debug)]
pub struct RegionalVoters {
    /// Promises and records of voters.
    pub account: Account,
    /// Running nodes, as others know them.
    pub who: Vec<Option<Participant>>,
    /// Leadership that the last handled result names; `None` if the node is not its leader.
    named: Vec<Option<Leadership>>,
    memories: u64,
    /// Whether the second pod runs.
    pod: bool,
    /// Time at which a process last started or ended, a campaign or leadership began or ended, or a
    /// voter was founded.
    stirred: u64,
    /// Draws that began after this time, or after the last split or heal.
    draws: BTreeSet<Ballot>,
    /// For a node and another that it knows: the time of their meeting, and the time until which
    /// the node seeks the other after dropping it. Two nodes that have forgotten each other and
    /// have no common acquaintance cannot find each other.
    known: BTreeMap<(usize, usize), (u64, u64)>,
}

impl RegionalVoters {
    #[must_use]
    pub fn memory(&self, node: usize) -> Option<&Memory> {
        self.account.written[node].as_ref()
    }

    /// Records a write of a node's directory.
    fn wrote(&mut self, node: usize, memory: &Memory, now: u64) {
        let founded = self.memory(node).is_some_and(|memory| memory.founded);
        if memory.founded && !founded {
            self.stir(now);
        }
        self.account.written[node] = Some(memory.clone());
    }

    /// Records that a node knows another node.
    fn meet(&mut self, pair: (usize, usize), now: u64) {
        let known = self.known.entry(pair).or_default();
        let since = if now < known.1 { known.0 } else { now };
        *known = (since, u64::MAX);
    }

    fn stir(&mut self, now: u64) {
        self.stirred = now;
        self.draws.clear();
    }

    fn founding(&self, node: usize) -> Option<Fingerprint> {
        Some(self.memory(node)?.electorate.as_ref()?.founding)
    }
}

/// The `number`th memory of a node.
fn begin(seed: u64, node: usize, number: u64) -> Memory {
    let half = |salt: u64| u128::from(mix(seed ^ mix(salt ^ (node as u64) << 32 ^ number << 8)));
    Memory::begin(Identity(half(1) << 64 | half(2)))
}

impl Scenario for RegionalVoters {
    type Words = Words;
    type Process = Server;
    type Core = Voter;
    type Service = Infallible;
    type Disk = Memory;
    type NodePlan = NodePlan;
    type Settings = Settings;
    type Extra = Ask;
    type OwnEvent = OwnEvent;
    type Details = Option<Fingerprint>;
    type Fact<'a> = Own<'a>;
    type Counts = Counts;
    type Checks = Properties;

    const SENTENCES: Sentences = SENTENCES;

    fn new(plan: &mut Plan) -> Self {
        let count = plan.nodes.len();
        Self {
            account: Account::new(count),
            who: vec![None; count],
            named: vec![None; count],
            memories: 0,
            pod: false,
            stirred: 0,
            draws: BTreeSet::new(),
            known: BTreeMap::new(),
        }
    }

    fn node(&self, plan: &Plan, node: usize, clock: &Clock) -> Node<Server, Infallible> {
        let NodePlan { config, manner, .. } = &plan.nodes[node];
        let calm = clock.shows(plan.conditions.storm_ends);
        Node::Process(Server::new(config.clone(), manner.clone(), calm))
    }

    fn core(process: &Server) -> &Voter {
        process.core()
    }

    fn disk(&self, plan: &Plan, node: usize) -> Memory {
        begin(plan.conditions.seed, node, 0)
    }

    fn start(&self, plan: &Plan, _: usize, life: u128, disk: &Memory) -> Result<Start, String> {
        let seed = if plan.own.alike { plan.conditions.seed } else { life as u64 };
        Ok(Start { incarnation: life, seed, memory: disk.clone() })
    }

    fn write(disk: &mut Memory, record: Memory) {
        *disk = record;
    }

    /// Loses a directory only while a quorum of every electorate keeps its directories.
    fn damage(
        run: &mut Run<Self>,
        disks: &mut [&mut Memory],
        node: usize,
        fate: DiskFate,
        _: bool,
    ) -> bool {
        if fate != DiskFate::Lost {
            return fate == DiskFate::Kept;
        }
        let identities: Vec<Identity> = disks.iter().map(|disk| disk.identity).collect();
        let whole = |disk: &&mut Memory| {
            let Some(electorate) = &disk.electorate else { return true };
            let kept = electorate.members.iter().filter(|member| {
                member.identity != identities[node] && identities.contains(&member.identity)
            });
            disk.founded && kept.count() >= electorate.quorum()
        };
        let majority = run.plan.own.mode == Mode::Majority;
        if majority && (node == 0 || !disks[node].founded || !disks.iter().all(whole)) {
            return false;
        }
        run.own.memories += 1;
        run.counts.own.lost += 1;
        *disks[node] = begin(run.plan.conditions.seed, node, run.own.memories);
        true
    }

    fn sender(&self, _: &Plan, node: usize, _: u128, _: &To) -> Place {
        Place(node)
    }

    fn recipients(&self, plan: &Plan, _: usize, to: &To) -> Nodes {
        match *to {
            To::Caller(node) => Nodes::one(node),
            To::Url(node, draw) => {
                let own = &plan.own;
                if own.strays != 0 && draw.is_multiple_of(own.strays) {
                    return Nodes::one((draw >> 32) as usize % own.voters);
                }
                match own.pod {
                    Some((pod, of)) if of == node && self.pod && draw & 1 == 1 => Nodes::one(pod),
                    Some((pod, of)) if pod == node => Nodes::one(of),
                    _ => Nodes::one(node),
                }
            }
        }
    }

    fn event(event: &Event) -> Option<&Event> {
        Some(event)
    }

    fn command(command: &Command) -> Option<&Command> {
        Some(command)
    }

    fn campaigns(plan: &Plan, node: usize) -> bool {
        plan.nodes[node].campaigns
    }

    fn observes(plan: &Plan, node: usize) -> Option<Duration> {
        plan.nodes[node].observes.then_some(Duration::ZERO)
    }

    fn whim(plan: &Plan, _: usize, observe: Option<Command>, rng: &mut Rng) -> Option<Command> {
        let timed = matches!(plan.own.kind, Kind::Connected | Kind::Parted);
        let whim = rng.within(0..40);
        let most = if plan.own.kind == Kind::Changing { 30 } else { 11 };
        Some(match whim {
            0 => Command::Resign,
            1..=4 => observe?,
            5 if observe.is_some() => Command::Unobserve,
            6 if rng.once_in(4) => Command::Campaign { value: Default::default(), priority: 0 },
            7..=8 if !timed => Command::Extra(Ask::Start),
            9..=39 if whim <= most && !timed => Command::Extra(operate(plan, rng)),
            _ => return None,
        })
    }

    fn started(run: &mut Run<Self>, node: usize, _: u128) {
        run.own.known.retain(|(knows, _), _| *knows != node);
        if run.plan.own.pod.is_some_and(|(pod, _)| pod == node) {
            run.own.pod = true;
        }
    }

    fn incident(run: &mut Run<Self>, _: &Context<'_>, number: usize) {
        if let Incident::Split { .. } = run.plan.conditions.incidents[number].1 {
            run.own.draws.clear();
        }
    }

    fn handled(run: &mut Run<Self>, _: &Context<'_>, node: usize, process: &Server) -> Verdict {
        let who = process.core().who();
        if run.own.who[node].as_ref().is_none_or(|known| known != who) {
            run.own.who[node] = Some(who.clone());
        }
        let named = process.endorsed().filter(|leadership| leadership.leader == *who);
        run.own.named[node] = named.cloned();
        Ok(())
    }

    fn effect(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        _: &Memory,
    ) -> Verdict {
        match effect {
            Effect::Send { message, .. } => run.sent(context, node, message)?,
            Effect::Persist(memory) => {
                run.counts.own.documents += 1;
                run.own.wrote(node, memory, context.now);
            }
            Effect::Emit { event: Event::Own(event), .. } => {
                run.own_event(context.now, node, event);
            }
            _ => {}
        }
        Ok(())
    }

    fn note(
        &mut self,
        plan: &Plan,
        history: &mut History<Option<Fingerprint>>,
        now: u64,
        fact: Fact<'_, Self>,
    ) {
        match fact {
            Fact::Own(Own::Promises { node, to, until, from }) => {
                if let Some(who) = &self.who[node] {
                    self.account.promise(who.identity, to, until, from);
                }
            }
            Fact::Own(Own::Releases { leadership, .. }) => {
                self.account.released.insert(leadership.clone());
            }
            Fact::Started { .. }
            | Fact::Campaigns { .. }
            | Fact::Ended { .. }
            | Fact::Elected { .. } => self.stir(now),
            Fact::Crashed { node } => {
                self.stir(now);
                self.who[node] = None;
                if plan.own.pod.is_some_and(|(pod, _)| pod == node) {
                    self.pod = false;
                }
                // A claim without an end ends with its process.
                for past in &mut history.elections {
                    let of = past.leaderships.iter_mut().filter(|led| led.node == node);
                    of.filter(|led| led.until > plan.conditions.end)
                        .for_each(|led| led.until = now);
                }
            }
            _ => {}
        }
    }

    fn led(&self, _: &Plan, claim: &Claim) -> Option<Fingerprint> {
        self.founding(claim.node)
    }

    /// Allows overlaps between separately founded networks, which do not know each other, and in
    /// mode `available`, in which each part has a leader.
    fn may_overlap(
        check: &Check<'_, Self>,
        claim: &Claim,
        other: &PastLeadership<Option<Fingerprint>>,
    ) -> bool {
        check.plan.own.mode == Mode::Available || check.own.founding(claim.node) != other.own
    }

    fn may_exceed(
        check: &Check<'_, Self>,
        claim: &Claim,
        other: &PastLeadership<Option<Fingerprint>>,
    ) -> bool {
        check.own.founding(claim.node) != other.own
    }

    /// Allows a superseded leader in mode `available` until the world has settled, because two
    /// leaders may begin there without knowing each other.
    fn may_lose(check: &Check<'_, Self>, _: usize, _: usize, loss: Loss) -> bool {
        let own = &check.plan.own;
        let one_of_two = own.mode == Mode::Available && loss == Loss::Superseded;
        own.kind == Kind::Mistaken || one_of_two && check.now < check.plan.settled
    }

    /// Expects no certain leader in a world of mistakes: such a world may have two networks, or a
    /// network that has lost too much.
    fn can_lead(plan: &Plan, _: usize) -> bool {
        plan.own.kind != Kind::Mistaken
    }

    /// Bounds the delay in mode `majority`: a view is at most a heartbeat and two request times
    /// late.
    fn patience(plan: &Plan, _: usize) -> Option<u64> {
        let own = &plan.own;
        let config = &plan.own.config;
        let certain = own.mode == Mode::Majority && own.kind != Kind::Mistaken;
        certain.then(|| own.slow(config.heartbeat + config.request_timeout * 2))
    }

    fn memory(plan: &Plan) -> Room {
        let count = plan.nodes.len();
        Room { every: 1_024, bytes: 65_536 + count * count * 8_192 }
    }

    fn role(_: &Plan, _: usize) -> &'static str {
        "voter"
    }

    fn describe(plan: &Plan) -> String {
        let Settings { kind, mode, config, founders, voters, two, pod, strays, alike } = &plan.own;
        let others = plan.nodes.iter().filter(|node| node.config.heartbeat != config.heartbeat);
        let hasty: String = others
            .map(|node| format!(" ({:?} at {})", node.config.heartbeat, node.config.id))
            .collect();
        format!(
            "{kind:?}, {mode}, {voters} voters, {founders} found{}; H {:?}{hasty}, m {}, t {:?}, \
             L {:?}, rho {}, second pod {}, strays {strays}, alike {alike}",
            if *two { " each of two networks" } else { "" },
            config.heartbeat,
            config.tolerance,
            config.request_timeout,
            config.lease(),
            config.drift,
            pod.is_some(),
        )
    }

    fn summary(counts: &crate::scenario::Counts<Counts>) -> Vec<String> {
        let common = &counts.common;
        let own = &counts.own;
        vec![
            format!("requests      {} sent, {} answers late", common.messages, own.late),
            format!(
                "elections     {} won in {} ballots, {} ties, {} other counts: {} lost, {} given \
                 up or withdrawn; {} claims raised, {} beside another",
                common.elected,
                own.ballots,
                own.ties,
                own.differ,
                common.lost,
                common.resigned,
                common.claims,
                common.beside
            ),
            format!(
                "also          {} views, {} writes, {} dropped, {} breaches, {} directories lost, \
                 {} gave way, {} cuts between regions",
                common.views,
                own.documents,
                own.dropped,
                own.breaches,
                own.lost,
                own.ways,
                common.cuts
            ),
        ]
    }
}

impl WithParts for RegionalVoters {
    const OVERLAP: &'static str = "guarantee (d)";
    const VACANCY: &'static str = "guarantees (c), (d)";

    fn overlap_most(check: &Check<'_, Self>) -> Option<u64> {
        let plan = check.plan;
        let own = &check.plan.own;
        let timed = matches!(own.kind, Kind::Parted | Kind::Connected) || check.now >= plan.settled;
        // In the beginning the voters do not know of each other.
        let timed = timed && check.now >= 2 * plan.conditions.unit;
        let draws = u32::try_from(check.own.draws.len()).unwrap_or(u32::MAX);
        (timed && own.mode == Mode::Available).then(|| own.change_most(draws.max(1)))
    }

    fn met(check: &Check<'_, Self>, one: usize, other: usize) -> Option<u64> {
        let known = |pair: (usize, usize)| check.own.known.get(&pair);
        let either = [known((one, other)), known((other, one))].into_iter().flatten();
        either.filter(|(_, until)| check.now < *until).map(|(since, _)| *since).min()
    }

    /// Returns the longest vacancy at `node` and the time from which it is measured. `None` for a
    /// part without a quorum, unless the mode is `available`.
    fn vacant_most(check: &Check<'_, Self>, node: usize, _: usize) -> Option<(u64, u64)> {
        let own = &check.plan.own;
        if !matches!(own.kind, Kind::Parted | Kind::Connected) {
            return None;
        }
        let all = 0..check.plan.nodes.len();
        let here = all.filter(|other| check.reach(node, *other)).count();
        let founded = check.own.memory(node).is_some_and(|memory| memory.founded);
        let quorum = founded && here > own.founders / 2;
        if own.mode == Mode::Majority && !quorum {
            return None;
        }
        let draws = u32::try_from(check.own.draws.len()).unwrap_or(u32::MAX);
        Some((own.vacant_most(draws.max(1)), check.own.stirred))
    }
}

/// Draws a request of an operator.
fn operate(plan: &Plan, rng: &mut Rng) -> Ask {
    let node = rng.below(plan.own.voters);
    let id = plan.nodes[node].config.id.clone();
    // Other worlds keep their members: after a change, the last member could be a voter that does
    // not want to lead.
    let changes = matches!(plan.own.kind, Kind::Changing | Kind::Mistaken);
    match rng.within(if changes { 0..8 } else { 6..8 }) {
        0..=2 => Ask::Change(Change::Add(id)),
        3..=5 => Ask::Change(Change::Remove(id)),
        6 => {
            let reason = "an operator says so".parse().unwrap_or_default();
            Ask::Remove { voter: id, reason }
        }
        _ => {
            let role = tenure_core::voter::Role::None;
            let voter_url = plan.nodes[node].config.url.clone();
            Ask::Register(tenure_core::voter::VoterDto {
                voter_id: id,
                voter_url,
                role,
                on_line: true,
            })
        }
    }
}

impl Run<RegionalVoters> {
    fn sent(&mut self, context: &Context<'_>, node: usize, half: &Half) -> Verdict {
        let (ask, answer) = match half {
            Half::Request(_, _, ask) => (Some(ask), None),
            Half::Answer(_, _, answer) => (None, Some(answer)),
        };
        if let Some(given) = account::promised(ask, answer) {
            let until = context.clock.reaches(context.sample().after(given.span));
            let from = context.sampled;
            self.tell_own(context, Own::Promises { node, to: &given.to, from, until })?;
        }
        match half {
            Half::Request(_, _, ask) => {
                self.counts.common.messages += 1;
                if let Ask::Release(leadership) = ask {
                    self.tell_own(context, Own::Releases { node, leadership })?;
                }
                self.tell_own(context, Own::Asks { node, ask })
            }
            Half::Answer(_, _, answer) => {
                if let Answer::Counted { open: false } = answer
                    && let Some(leadership) = self.own.named[node].take()
                {
                    self.tell_own(context, Own::Releases { node, leadership: &leadership })?;
                }
                self.tell_own(context, Own::Answers { node, answer })
            }
        }
    }

    fn own_event(&mut self, now: u64, node: usize, event: &OwnEvent) {
        let counts = &mut self.counts.own;
        let nodes = &self.plan.nodes;
        let named = |id: &NodeName| nodes.iter().position(|one| one.config.id == *id);
        match event {
            OwnEvent::Known { who } => {
                if let Some(other) = named(&who.id) {
                    self.own.meet((node, other), now);
                }
            }
            OwnEvent::Drawing { ballot } => {
                counts.ballots += 1;
                self.own.draws.insert(ballot.clone());
            }
            OwnEvent::Tie { .. } => counts.ties += 1,
            OwnEvent::VotesDiffer { .. } => counts.differ += 1,
            OwnEvent::GivesWay => counts.ways += 1,
            OwnEvent::Breach(_) => counts.breaches += 1,
            OwnEvent::Ignored(Ignored::Late) => counts.late += 1,
            OwnEvent::Ignored(Ignored::Command) => self.apps[node][0].anew = None,
            OwnEvent::Dropped { id } => {
                counts.dropped += 1;
                if let Some(other) = named(id)
                    && let Some((_, until)) = self.own.known.get_mut(&(node, other))
                {
                    *until = now + self.plan.own.forgets_after();
                }
            }
            _ => {}
        }
    }
}
