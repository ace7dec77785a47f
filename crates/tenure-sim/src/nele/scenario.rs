//! The scenario of NELE: its nodes, and the state that its checks use.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::nele::{
    Command, Event, Extra, Ignored, Mode, Nele, OwnEvent, Report, Request, Start, Target, TopicId,
};
use tenure_core::{Effect, Fence, Input, Loss, Time};

use super::broker::{Broker, Fault, Topic};
use super::client::Client;
use super::frame::{Frame, Notice, Place, Words};
use super::plan::{NodePlan, Plan, Settings, topic};
use super::properties::{Properties, SENTENCES};
use super::readings::Readings;
use crate::rng::Rng;
use crate::scenario::{
    Check, Claim, Fact, History, Leadership, Memory, Run, Scenario, Sentences, Verdict,
};
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::node::Node;
use crate::world::nodes::Nodes;

crate::tally! {
    Counts {
        /// Assigned partitions.
        assigned,
        /// Partitions that were given back or lost.
        unassigned,
        /// Published claims.
        claims,
        /// Void claims.
        void,
    }
}

/// Facts of these worlds alone.
#[derive(Clone, Copy, Debug)]
pub enum Own<'a> {
    /// A partition was assigned to a process, or taken from it.
    Assigned {
        node: usize,
        partition: u32,
        /// Time of the loss, on the process's clock; `None` for an assignment.
        at: Option<Time>,
    },
    /// A request of a core to its ledger.
    Asked {
        node: usize,
        request: &'a Request,
        /// Time on the clock of the node.
        at: Time,
    },
    /// A report of the ledger to a core.
    Heard {
        node: usize,
        report: &'a Report,
        /// Time on the clock of the node.
        at: Time,
    },
    /// An application leaves the group.
    Leaves { node: usize },
}

/// Life and fence of a leadership.
type Office = (u128, Option<Fence>);

#[derive(Debug)]
pub struct Emergence {
    /// Number of topics before each life began.
    began: BTreeMap<u128, usize>,
    /// Time of the last loss of acknowledged records.
    lost: Option<u64>,
    /// Times at which the topic was created anew.
    topics: Vec<u64>,
    /// Lives with other terms that each leader had heard when it took office.
    offices: BTreeMap<(usize, Office), BTreeSet<u128>>,
    /// The logs as far as each running process has read them.
    readings: BTreeMap<usize, Readings>,
}

impl Emergence {
    /// The present topic.
    #[must_use]
    pub fn topic(&self) -> TopicId {
        TopicId { topic: (self.topics.len() as u128 + 1) << 96, ..topic() }
    }

    /// Whether `one` had read a record of `other`, which has other terms, when `one` took office
    /// with this fence. `None` if `one` never took office with this fence.
    fn had_heard(&self, election: usize, one: Office, other: u128) -> Option<bool> {
        Some(self.offices.get(&(election, one))?.contains(&other))
    }

    /// Whether the later of two leaders had heard the other, if the other has a longer T.
    fn have_heard(&self, check: &Check<'_, Self>, claim: &Claim, other: &Leadership<()>) -> bool {
        let of = claim.election;
        let later = |office: Office, other: Office| office.1 > other.1;
        let ours = (claim.life, claim.fence);
        let theirs = (other.life, other.fence);
        match check.plan.own.unlike {
            // The later leader has the longer T, and waits for this T, which is long enough for the
            // other leader.
            Some(longer) if longer == other.node && later(theirs, ours) => true,
            Some(longer) if longer == claim.node && later(ours, theirs) => true,
            Some(longer) if longer == other.node => {
                let known = self.had_heard(of, ours, other.life);
                known.unwrap_or_else(|| self.heard_by(claim.node).contains(&other.life))
            }
            Some(longer) if longer == claim.node => {
                self.had_heard(of, theirs, claim.life).unwrap_or_default()
            }
            _ => true,
        }
    }

    /// The lives with other terms that a process has heard, and that may lead.
    fn heard_by(&self, node: usize) -> BTreeSet<u128> {
        self.readings.get(&node).map(Readings::unlike).unwrap_or_default()
    }
}

impl Scenario for Emergence {
    type Words = Words;
    type Process = Client;
    type Core = Nele;
    type Service = Broker;
    type Disk = ();
    type NodePlan = NodePlan;
    type Settings = Settings;
    type Extra = Extra;
    type OwnEvent = OwnEvent;
    type Details = ();
    type Fact<'a> = Own<'a>;
    type Counts = Counts;
    type Checks = Properties;

    const SENTENCES: Sentences = SENTENCES;

    fn new(_: &mut Plan) -> Self {
        Self {
            began: BTreeMap::new(),
            lost: None,
            topics: Vec::new(),
            offices: BTreeMap::new(),
            readings: BTreeMap::new(),
        }
    }

    fn node(&self, plan: &Plan, node: usize, _: &Clock) -> Node<Client, Broker> {
        match &plan.nodes[node] {
            NodePlan::Client(one) => {
                Node::Process(Client::new(one.config.clone(), one.manner.clone()))
            }
            NodePlan::Broker => {
                Node::Service(Broker::new(plan.own.terms, plan.broker_faults(node)))
            }
        }
    }

    fn core(process: &Client) -> &Nele {
        process.core()
    }

    fn disk(&self, _: &Plan, _: usize) {}

    fn start(&self, _: &Plan, _: usize, life: u128, (): &()) -> Result<Start, String> {
        Ok(Start { incarnation: life, seed: life as u64, topic: self.topic() })
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
        plan.process(node).is_none()
    }

    fn event(event: &Notice) -> Option<&Event> {
        match event {
            Notice::Core(event) => Some(event),
            Notice::Asked(_) | Notice::Heard(_) | Notice::Broke(_) => None,
        }
    }

    fn command(command: &Command) -> Option<&Command> {
        Some(command)
    }

    fn campaigns(plan: &Plan, node: usize) -> bool {
        plan.process(node).is_some_and(|one| one.campaigns)
    }

    fn observes(plan: &Plan, node: usize) -> Option<Duration> {
        plan.process(node).is_some_and(|one| one.observes).then_some(Duration::ZERO)
    }

    fn whim(plan: &Plan, node: usize, observe: Option<Command>, rng: &mut Rng) -> Option<Command> {
        let lead_on = rng.once_in(2);
        let again = rng.once_in(2);
        Some(match rng.within(0..40) {
            0 => Command::Resign,
            1..=4 => observe?,
            5 if observe.is_some() => Command::Unobserve,
            // A process that stands only for some roles leaves its other roles without a leader.
            6 if rng.once_in(4) && Self::campaigns(plan, node) => {
                Command::Campaign { value: Default::default(), priority: 0 }
            }
            7 if rng.once_in(2) => {
                // In calm worlds a leaving process keeps leading.
                Command::Extra(Extra::Leave { lead_on: lead_on || plan.calm, again })
            }
            _ => return None,
        })
    }

    fn started(run: &mut Run<Self>, _: usize, life: u128) {
        run.own.began.insert(life, run.own.topics.len());
    }

    fn effect(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        (): &(),
    ) -> Verdict {
        match effect {
            Effect::Send { message, .. } => {
                run.counts.common.messages += 1;
                run.counts.own.claims +=
                    u64::from(matches!(message, Frame::Produce(Target::One(_), _)));
            }
            Effect::Emit { event: Notice::Asked(request), .. } => {
                let at = context.sample();
                return run.tell_own(context, Own::Asked { node, request, at });
            }
            Effect::Emit { event: Notice::Heard(report), .. } => {
                let at = context.sample();
                return run.tell_own(context, Own::Heard { node, report, at });
            }
            Effect::Emit { event: Notice::Broke(fault), .. } => {
                let now = context.now;
                match fault {
                    Fault::Replica(lost) if *lost > 0 => run.own.lost = Some(now),
                    Fault::Topic(Topic::Anew) => {
                        run.own.lost = Some(now);
                        run.own.topics.push(now);
                    }
                    _ => {}
                }
            }
            Effect::Emit { election, event: Notice::Core(event) } => {
                let election = election.as_ref().and_then(|name| run.election(name));
                run.count(node, election, event);
                let (partition, at) = match event {
                    Event::Own(OwnEvent::Assigned { partition }) => (partition.0, None),
                    Event::Own(OwnEvent::Unassigned { partition, .. }) => {
                        (partition.0, Some(context.sample()))
                    }
                    _ => return Ok(()),
                };
                return run.tell_own(context, Own::Assigned { node, partition, at });
            }
            _ => {}
        }
        Ok(())
    }

    fn input(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        input: &Input<Words>,
    ) -> Verdict {
        if let Input::Command { command: Command::Extra(_), .. } = input {
            return run.tell_own(context, Own::Leaves { node });
        }
        Ok(())
    }

    fn note(&mut self, plan: &Plan, _: &mut History<()>, _: u64, fact: Fact<'_, Self>) {
        match fact {
            Fact::Started { node, .. } if plan.process(node).is_some() => {
                self.readings.insert(node, Readings::default());
            }
            Fact::Crashed { node } => drop(self.readings.remove(&node)),
            Fact::Claimed(claim) if plan.own.unlike.is_some() => {
                let heard = self.heard_by(claim.node);
                let office = (claim.election, (claim.life, claim.fence));
                self.offices.entry(office).or_insert(heard);
            }
            Fact::Own(Own::Asked { node, request, at }) => {
                if let Some(readings) = self.readings.get_mut(&node) {
                    readings.asks(request, at);
                }
            }
            Fact::Own(Own::Heard { node, report, at }) => {
                let process = plan.process(node);
                if let (Some(readings), Some(process)) = (self.readings.get_mut(&node), process) {
                    readings.hears(report, at, &process.config);
                }
            }
            _ => {}
        }
    }

    fn led(&self, _: &Plan, _: &Claim) {}

    /// Allows overlaps in `at_least_one`, between two groups, and for T (`takeover`) after a loss
    /// of acknowledged records. Also allows an overlap with a leader whose longer T the other
    /// leader has not heard.
    fn may_overlap(check: &Check<'_, Self>, claim: &Claim, other: &Leadership<()>) -> bool {
        let own = &check.plan.own;
        let group = |node| check.plan.process(node).map(|one| one.manner.group);
        let loses = check.own.lost.is_some_and(|lost| {
            check.now.max(claim.until.min(other.until)) < lost + own.at_most(own.takeover)
        });
        let heard = check.own.have_heard(check, claim, other);
        let groups = group(claim.node) != group(other.node);
        own.mode == Mode::AtLeastOne || loses || groups || !heard
    }

    /// Fences are ordered only within one group, and within one topic for lives that began on it.
    /// Two leaders are not ordered either if the later leader has not heard that the other leader
    /// has a longer T.
    fn may_exceed(check: &Check<'_, Self>, claim: &Claim, other: &Leadership<()>) -> bool {
        let group = |node| check.plan.process(node).map(|one| one.manner.group);
        let began = |life| check.own.began.get(&life);
        let anew = began(claim.life) > began(other.life);
        let unheard = !check.own.have_heard(check, claim, other);
        anew || unheard || group(claim.node) != group(other.node)
    }

    /// Allows losses before the world has settled: partitions move while processes come and go. An
    /// owner that gets its partition back from a process without this role may have read no record
    /// of the partition for T.
    fn may_lose(check: &Check<'_, Self>, node: usize, election: usize, loss: Loss) -> bool {
        let config = check.plan.process(node).map(|one| &one.config);
        let role = config.and_then(|config| config.role(&check.plan.elections[election]));
        let partition = config.zip(role).map(|(config, role)| config.partition_of(role));
        let readings = check.own.readings.get(&node).zip(partition);
        let fresh = readings.is_some_and(|(readings, partition)| readings.is_fresh(partition));
        let moved = loss == Loss::Reassigned || loss == Loss::Expired && !fresh;
        check.now < check.plan.settled && moved
    }

    /// Gives no bound in three cases. An observer shows leaders of its own group only. A process
    /// with a longer T may lead for longer than others know. In mode `at_least_one` a leader leads
    /// for T after each read, however late. [`ShownVacancies`](super::properties) checks all three.
    fn patience(plan: &Plan, _: usize) -> Option<u64> {
        let alone = plan.own.mode == Mode::AtMostOne && !plan.has_groups();
        (alone && plan.own.unlike.is_none()).then_some(plan.own.heard)
    }

    fn memory(_: &Plan) -> Memory {
        Memory { every: 1_024, bytes: 200_000 }
    }

    fn role(plan: &Plan, node: usize) -> &'static str {
        match plan.nodes[node] {
            NodePlan::Client(_) => "process",
            NodePlan::Broker => "broker",
        }
    }

    fn describe(plan: &Plan) -> String {
        let Settings { mode, takeover, unlike, terms, unreplicated, faults, .. } = &plan.own;
        let longest = unlike.map(|node| format!(" of n{node}")).unwrap_or_default();
        format!(
            "{mode}, {} processes, {} partitions, {} roles; T {} s{longest}, session {:?}, {}, \
             unreplicated {unreplicated}, {} faults of the broker",
            plan.nodes.len() - 1,
            terms.partitions,
            plan.elections.len(),
            *takeover as f64 / 1e9,
            terms.session,
            if terms.classic { "classic" } else { "newer" },
            faults.len(),
        )
    }

    fn summary(counts: &crate::scenario::Counts<Counts>) -> Vec<String> {
        let common = &counts.common;
        let own = &counts.own;
        vec![
            format!("messages      {} sent", common.messages),
            format!(
                "elections     {} won: {} lost, {} given up or withdrawn; {} claims raised, {} \
                 beside another",
                common.elected, common.lost, common.resigned, common.claims, common.beside
            ),
            format!(
                "also          {} views, {} partitions assigned, {} given back or lost, {} claims \
                 published, {} void",
                common.views, own.assigned, own.unassigned, own.claims, own.void
            ),
        ]
    }
}

impl Run<Emergence> {
    fn count(&mut self, node: usize, election: Option<usize>, event: &Event) {
        let counts = &mut self.counts.own;
        match (event, election) {
            (Event::Own(OwnEvent::Assigned { .. }), _) => counts.assigned += 1,
            (Event::Own(OwnEvent::Unassigned { .. }), _) => counts.unassigned += 1,
            (Event::Own(OwnEvent::ClaimVoid { .. }), _) => counts.void += 1,
            (Event::Own(OwnEvent::Ignored(Ignored::Command)), Some(election)) => {
                self.apps[node][election].anew = None;
            }
            _ => {}
        }
    }
}
