//! The scenario of ALLCALL: its nodes, and the state that its checks use.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::allcall::{Allcall, Command, Event, Ignored, OwnEvent, Rank, Start};
use tenure_core::{Effect, End, Loss};

use super::client::Client;
use super::frame::{Frame, Place, Words};
use super::plan::{Kind, NodePlan, Plan, Settings};
use super::properties::{Properties, SENTENCES};
use super::station::Station;
use crate::rng::{Rng, mix};
use crate::scenario::parts::WithParts;
use crate::scenario::{
    Check, Claim, Fact, History, Leadership, Memory, Run, Scenario, Sentences, Verdict,
};
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::conditions::Incident;
use crate::world::node::Node;
use crate::world::nodes::Nodes;

crate::tally! {
    Counts {
        /// Rounds that became void after a valid round.
        void,
        /// Grants and renewals without effect.
        unconfirmed,
        /// Leaders that received a greater claim.
        beaten,
        /// Claims that ended too late for any right clock.
        far,
        /// Clocks found to be off.
        off,
    }
}

#[derive(Debug)]
pub struct LeasedLeaders {
    /// Rank of each participant, once it has started.
    pub ranks: Vec<Option<Rank>>,
    /// Time by which the last disturbance of each election has passed: the end of a process, the
    /// start or end of a campaign, a new or lost connection, a step of a clock. A greater claim is
    /// no disturbance.
    pub stirred: Vec<u64>,
    /// Time at which a leader gave way to a greater claim, by participant and election. This claim
    /// also causes the next steps of the former leader.
    beaten: BTreeMap<(usize, usize), u64>,
    /// Present lead of each wall clock, and the time since which the clock has that lead.
    pub ahead: Vec<(u64, i64)>,
    /// Span for which each wall clock was within K before its lead exceeded K.
    pub agreed: Vec<u64>,
    /// End of the span in which perhaps no other participant can confirm a clock that has moved by
    /// more than K.
    doubted: Vec<u64>,
}

impl LeasedLeaders {
    /// Whether a wall clock is off by more than K, or was so at any time since shortly before
    /// `then`.
    fn was_wrong(&self, plan: &Plan, node: usize, then: u64) -> bool {
        let (since, ahead) = self.ahead[node];
        let heard = since + plan.own.slow(3 * plan.own.heartbeat);
        !plan.own.is_right(node) && (ahead.unsigned_abs() > plan.own.skew || then < heard)
    }

    /// Time since which an election has been undisturbed. A leader that gave way and did not come
    /// back counts as a disturbance.
    pub fn settled(&self, election: usize) -> u64 {
        let gone = self.beaten.iter().filter(|((_, of), _)| *of == election);
        gone.map(|(_, at)| *at).fold(self.stirred[election], u64::max)
    }

    fn stir(&mut self, election: Option<usize>, at: u64) {
        let all = 0..self.stirred.len();
        for stirred in all.filter(|one| election.is_none_or(|only| only == *one)) {
            self.stirred[stirred] = self.stirred[stirred].max(at);
        }
    }
}

/// Whether a candidate with precedence over a leader campaigns, or did so at the start of the last
/// round that could have renewed. A round takes H, others hear the next call within another H, and
/// a call shows presence for 5 H/2.
fn was_outranked(check: &Check<'_, LeasedLeaders>, node: usize, election: usize) -> bool {
    let own = &check.plan.own;
    let recently = own.slow(own.heartbeat * 9 / 2) + own.delay;
    let ranks = &check.own.ranks;
    (0..check.plan.participants()).any(|other| {
        let left = check.apps[other][election].left;
        let was_there = check.contends(other, election) || check.now - left <= recently;
        was_there && ranks[other] < ranks[node]
    })
}

impl Scenario for LeasedLeaders {
    type Words = Words;
    type Process = Client;
    type Core = Allcall;
    type Service = Station;
    type Disk = ();
    type NodePlan = NodePlan;
    type Settings = Settings;
    type Extra = std::convert::Infallible;
    type OwnEvent = OwnEvent;
    type Details = ();
    type Fact<'a> = std::convert::Infallible;
    type Counts = Counts;
    type Checks = Properties;

    const SENTENCES: Sentences = SENTENCES;

    fn new(plan: &mut Plan) -> Self {
        let walls = plan.conditions.sites.iter().map(|site| (0, site.wall));
        Self {
            ranks: vec![None; plan.nodes.len()],
            stirred: vec![0; plan.elections.len()],
            beaten: BTreeMap::new(),
            agreed: vec![0; plan.nodes.len()],
            doubted: vec![0; plan.nodes.len()],
            ahead: walls.collect(),
        }
    }

    fn node(&self, plan: &Plan, node: usize, _: &Clock) -> Node<Client, Station> {
        match &plan.nodes[node] {
            NodePlan::Participant(one) => {
                Node::Process(Client::new(one.config.clone(), one.manner.clone()))
            }
            NodePlan::Station(others) => {
                Node::Service(Station::new(others.clone(), plan.own.asker))
            }
        }
    }

    fn core(process: &Client) -> &Allcall {
        process.core()
    }

    fn disk(&self, _: &Plan, _: usize) {}

    fn start(&self, _: &Plan, _: usize, life: u128, (): &()) -> Result<Start, String> {
        let seed = life as u64;
        Ok(Start { incarnation: life, tie: u128::from(mix(seed)), seed })
    }

    fn write((): &mut (), record: std::convert::Infallible) {
        match record {}
    }

    fn sender(&self, _: &Plan, node: usize, _: u128, _: &Place) -> Place {
        Place(node)
    }

    fn recipients(&self, _: &Plan, _: usize, to: &Place) -> Nodes {
        Nodes::one(to.0)
    }

    fn is_spared(plan: &Plan, node: usize) -> bool {
        plan.participant(node).is_none()
    }

    fn event(event: &Event) -> Option<&Event> {
        Some(event)
    }

    fn command(command: &Command) -> Option<&Command> {
        Some(command)
    }

    fn campaigns(plan: &Plan, node: usize) -> bool {
        plan.participant(node).is_some_and(|one| one.campaigns)
    }

    fn observes(plan: &Plan, node: usize) -> Option<Duration> {
        plan.participant(node)
            .is_some_and(|one| one.observes && plan.own.odd != Some(node))
            .then_some(Duration::ZERO)
    }

    fn whim(plan: &Plan, _: usize, observe: Option<Command>, rng: &mut Rng) -> Option<Command> {
        let calm = plan.own.odd.is_some() || plan.own.wrong.0 != 0;
        Some(match rng.within(0..40) {
            0 if !calm => Command::Resign,
            1..=4 => observe?,
            5 if observe.is_some() => Command::Unobserve,
            6 if rng.once_in(4) => Command::Campaign { value: Default::default(), priority: 0 },
            36.. if !calm && plan.own.hasty => Command::Resign,
            _ => return None,
        })
    }

    fn started(run: &mut Run<Self>, node: usize, _: u128) {
        run.own.ranks[node] = None;
    }

    fn incident(run: &mut Run<Self>, context: &Context<'_>, number: usize) {
        let plan = &run.plan;
        let own = &mut run.own;
        let Incident::Step { node, ahead } = plan.conditions.incidents[number].1 else { return };
        let (since, before) = own.ahead[node];
        if before.unsigned_abs() <= plan.own.skew {
            own.agreed[node] = context.now - since;
        }
        own.ahead[node] = (context.now, ahead);
        if before.abs_diff(ahead) > plan.own.skew {
            // The participant now waits for a lease, and may lose its own leadership.
            own.stir(None, context.now + plan.own.listening());
            own.doubted[node] = context.now + plan.own.slow(plan.own.lease);
        }
    }

    fn handled(run: &mut Run<Self>, context: &Context<'_>, _: usize, process: &Client) -> Verdict {
        if process.linked() {
            run.own.stir(None, context.now + run.plan.own.listening());
        }
        Ok(())
    }

    fn effect(
        run: &mut Run<Self>,
        _: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        (): &(),
    ) -> Verdict {
        match effect {
            Effect::Send { message: Frame::Publish(..), .. } => run.counts.common.messages += 1,
            Effect::Emit { election, event: Event::Own(event) } => {
                let election = election.as_ref().and_then(|name| run.election(name));
                run.own_event(node, election, event);
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, plan: &Plan, _: &mut History<()>, now: u64, fact: Fact<'_, Self>) {
        match fact {
            Fact::Crashed { .. } => self.stir(None, now),
            Fact::Campaigns { node, election } => {
                // Do not count a former leader that campaigns again soon: the greater claim reaches
                // it before the other participant renews twice.
                let again = |at: u64| now - at + plan.own.delay <= plan.own.skew / 2;
                if !self.beaten.remove(&(node, election)).is_some_and(again) {
                    self.stir(Some(election), now + plan.own.listening());
                }
            }
            Fact::Ended { node, election, end, .. } => {
                if *end == End::Lost(Loss::Superseded) && plan.own.kind == Kind::Parted {
                    self.beaten.insert((node, election), now);
                } else {
                    self.stir(Some(election), now);
                }
            }
            _ => {}
        }
    }

    fn led(&self, _: &Plan, _: &Claim) {}

    /// Allows overlaps between disconnected parts of the bus: each part has a leader. Also allows
    /// overlaps with a leader whose clock was wrong, because promise (a) requires right clocks.
    fn may_overlap(check: &Check<'_, Self>, claim: &Claim, other: &Leadership<()>) -> bool {
        let plan = check.plan;
        let own = &check.plan.own;
        match own.kind {
            _ if check.now >= plan.settled => false,
            Kind::Connected => false,
            Kind::Beyond => {
                let begun = check.own(claim).map_or(check.now, |own| own.from).min(other.from);
                let wrong = |node| check.own.was_wrong(check.plan, node, begun);
                wrong(claim.node) || wrong(other.node)
            }
            Kind::Parted | Kind::Lossy | Kind::Divided => true,
        }
    }

    /// Allows the end of a leader that doubts its clock. Before the world has settled, also allows
    /// the end of a leader that has received a greater claim, or that a better candidate outranked.
    /// This candidate may have left since, but too late for the leader's next renewal.
    fn may_lose(check: &Check<'_, Self>, node: usize, election: usize, loss: Loss) -> bool {
        let outranked = || was_outranked(check, node, election);
        let doubted = loss == Loss::Expired && check.now < check.own.doubted[node];
        let unsettled = check.now < check.plan.settled;
        doubted || unsettled && (loss == Loss::Superseded || loss == Loss::Expired && outranked())
    }

    fn can_lead(plan: &Plan, node: usize) -> bool {
        plan.own.odd != Some(node)
    }

    /// Bounds the delay while all participants are connected, because each of them then answers
    /// every round. The last round was less than a heartbeat late, and the next one is overdue by
    /// less than half a heartbeat.
    fn patience(plan: &Plan, _: usize) -> Option<u64> {
        let own = &plan.own;
        let all = matches!(own.kind, Kind::Connected | Kind::Beyond);
        all.then(|| own.slow(own.heartbeat * 7 / 2) + own.delay)
    }

    /// A core keeps the last call of each participant for each election: less than a kilobyte.
    fn memory(plan: &Plan) -> Memory {
        Memory { every: 1_024, bytes: 8_192 + plan.elections.len() * 4_096 }
    }

    fn role(plan: &Plan, node: usize) -> &'static str {
        match plan.nodes[node] {
            NodePlan::Participant(_) => "participant",
            NodePlan::Station(_) => "server of the bus",
        }
    }

    fn describe(plan: &Plan) -> String {
        let Settings { kind, heartbeat, lease, skew, delay, on_conflict, steady, wrong, .. } =
            &plan.own;
        let seconds = |span: &u64| *span as f64 / 1e9;
        let participants = plan.participants();
        format!(
            "{kind:?}, {participants} participants, {} servers, {} elections; H {} s, L {} s, K {} \
             s, delay {:.3} s, {on_conflict}, steady {steady}, wrong clocks {:b}",
            plan.nodes.len() - participants,
            plan.elections.len(),
            seconds(heartbeat),
            seconds(lease),
            seconds(skew),
            seconds(delay),
            wrong.0,
        )
    }

    fn summary(counts: &crate::scenario::Counts<Counts>) -> Vec<String> {
        let common = &counts.common;
        let own = &counts.own;
        vec![
            format!("packets       {} published", common.messages),
            format!(
                "elections     {} won: {} handed over, {} lost, {} given up or withdrawn; {} \
                 claims raised, {} beside another",
                common.elected,
                common.transferred,
                common.lost,
                common.resigned,
                common.claims,
                common.beside
            ),
            format!(
                "also          {} views, {} void rounds, {} not confirmed, {} beaten, {} claims \
                 too far, {} clocks off, {} cuts between servers",
                common.views, own.void, own.unconfirmed, own.beaten, own.far, own.off, common.cuts
            ),
        ]
    }
}

impl WithParts for LeasedLeaders {
    const OVERLAP: &'static str = "promise (b)";
    const VACANCY: &'static str = "promise (c)";

    /// H + d with `yield`, and L − K + d with `serve-out`.
    fn overlap_most(check: &Check<'_, Self>) -> Option<u64> {
        let own = &check.plan.own;
        (own.kind == Kind::Parted).then(|| own.overlap_most())
    }

    /// L + 3K + 2H, also for a lone participant.
    fn vacant_most(check: &Check<'_, Self>, _: usize, election: usize) -> Option<(u64, u64)> {
        let own = &check.plan.own;
        let steady = own.kind == Kind::Parted || check.plan.calm;
        steady.then(|| (own.vacant_most(), check.own.stirred[election]))
    }
}

impl Run<LeasedLeaders> {
    fn own_event(&mut self, node: usize, election: Option<usize>, event: &OwnEvent) {
        let counts = &mut self.counts.own;
        match (event, election) {
            (OwnEvent::Started { rank, .. }, _) => self.own.ranks[node] = Some(*rank),
            (OwnEvent::Void { .. }, _) => counts.void += 1,
            (OwnEvent::NotConfirmed { .. }, _) => counts.unconfirmed += 1,
            (OwnEvent::ClockOff { .. }, _) => counts.off += 1,
            (OwnEvent::Ignored(Ignored::TooFar), _) => counts.far += 1,
            (OwnEvent::Ignored(Ignored::Command), Some(election)) => {
                self.apps[node][election].anew = None;
            }
            (OwnEvent::Beaten { .. }, _) => counts.beaten += 1,
            _ => {}
        }
    }
}
