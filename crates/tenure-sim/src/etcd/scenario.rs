//! The scenario of elections on etcd: its nodes, and the state that its checks use.

use std::convert::Infallible;
use std::time::Duration;

use tenure_core::etcd::{Etcd, Event, Extra, Ignored, Op, OwnEvent, Refusal};
use tenure_core::{Command, Effect, ElectionName, Input, Protocol};

use super::elections::Elections;
use super::fact::Own;
use super::foreign::Foreign;
use super::outside::Outside;
use super::packet::{Begin, Order, Packet, Place, Report};
use super::plan::{NodePlan, Plan, Settings};
use super::process::Process;
use super::properties::{Properties, SENTENCES};
use super::records::{Details, Records};
use super::store::Cluster;
use super::store::note::Note;
use super::troubles;
use super::words::Words;
use crate::rng::Rng;
use crate::scenario::plan::MS;
use crate::scenario::{
    Check, Claim, CommandOf, Fact, History, Leadership, Run, Scenario, Sentences, Verdict,
};
use crate::timeline::SpanKind;
use crate::world::Context;
use crate::world::clock::Clock;
use crate::world::node::Node;
use crate::world::nodes::Nodes;

crate::tally! {
    Counts {
        /// Candidates that contend again after a loss.
        again,
        /// Keys that came late, and were deleted.
        late_keys,
        /// Calls with an uncertain outcome.
        unsure,
        /// Refusals for want of room or rights.
        refused,
        /// Faults of etcd.
        troubles,
        terms,
        restored,
        /// Keys of foreign candidates.
        foreign,
    }
}

impl Scenario for Elections {
    type Words = Words;
    type Process = Process;
    type Core = Etcd;
    type Service = Outside;
    type Disk = ();
    type NodePlan = NodePlan;
    type Settings = Settings;
    type Extra = Extra;
    type OwnEvent = OwnEvent;
    type Details = Details;
    type Fact<'a> = Own<'a>;
    type Counts = Counts;
    type Checks = Properties;

    const SENTENCES: Sentences = SENTENCES;

    fn new(plan: &mut Plan) -> Self {
        let nodes = plan.nodes.len();
        Self {
            records: Records::new(plan),
            names: vec![None; nodes],
            lost: vec![None; nodes],
            key: "".into(),
        }
    }

    fn node(&self, plan: &Plan, node: usize, _: &Clock) -> Node<Process, Outside> {
        let store = plan.store_node();
        match &plan.nodes[node] {
            NodePlan::Ours(ours) => Node::Process(Process::new(ours.config.clone(), store)),
            NodePlan::Foreign(ttl) => {
                Node::Service(Outside::Foreign(Box::new(Foreign::new(store, *ttl))))
            }
            NodePlan::Store => {
                let cluster = Cluster::new(plan.own.store.clone());
                Node::Service(Outside::Store(Box::new(cluster)))
            }
        }
    }

    fn core(process: &Process) -> &Etcd {
        process.core()
    }

    fn disk(&self, _: &Plan, _: usize) {}

    fn start(&self, plan: &Plan, node: usize, life: u128, (): &()) -> Result<Begin, String> {
        let lease = plan.ours(node).and_then(|ours| ours.lease);
        Ok(Begin { life: life as u64, node, lease })
    }

    fn write((): &mut (), record: Infallible) {
        match record {}
    }

    fn sender(&self, _: &Plan, node: usize, _: u128, _: &Place) -> Place {
        Place(node)
    }

    fn recipients(&self, plan: &Plan, _: usize, to: &Place) -> Nodes {
        if to.0 < plan.nodes.len() { Nodes::one(to.0) } else { Nodes::NONE }
    }

    fn is_spared(plan: &Plan, node: usize) -> bool {
        matches!(plan.nodes[node], NodePlan::Store)
    }

    fn event(event: &Report) -> Option<&Event> {
        match event {
            Report::Ours(event) => Some(event),
            Report::Store(_) => None,
        }
    }

    fn command(command: &Order) -> Option<&Command<Extra>> {
        match command {
            Order::Ours(command) => Some(command),
            Order::Contend | Order::Trouble(_) => None,
        }
    }

    fn campaigns(plan: &Plan, node: usize) -> bool {
        plan.ours(node).is_some_and(|ours| ours.campaigns)
    }

    fn stays_out(plan: &Plan, node: usize, election: usize) -> bool {
        plan.ours(node).is_some_and(|ours| ours.abstains >> election & 1 == 1)
    }

    fn observes(plan: &Plan, node: usize) -> Option<Duration> {
        plan.ours(node).is_some_and(|ours| ours.observes).then_some(Duration::ZERO)
    }

    fn campaign(plan: &Plan, node: usize, rng: &mut Rng) -> Command<Extra> {
        Command::Campaign { value: plan.first_value(node, rng.within(0..9)), priority: 0 }
    }

    fn whim(
        plan: &Plan,
        node: usize,
        observe: Option<Command<Extra>>,
        rng: &mut Rng,
    ) -> Option<Command<Extra>> {
        Some(match rng.within(0..16) {
            0 | 1 => Command::Resign,
            2 => Command::Extra(Extra::Proclaim { value: plan.value(node, rng.within(0..9)) }),
            3 if rng.once_in(4) => {
                Command::Campaign { value: plan.first_value(node, 9), priority: 0 }
            }
            4 => observe?,
            5 if observe.is_some() && rng.once_in(3) => Command::Unobserve,
            _ => return None,
        })
    }

    fn first_command(
        run: &Run<Self>,
        context: &Context<'_>,
        _: usize,
        process: &Process,
    ) -> Option<CommandOf<Self>> {
        let leads =
            |name: &ElectionName| process.core().standing(name, context.local()).is_leading();
        troubles::nested(&run.plan, context.now, leads)
    }

    fn service_command(
        plan: &Plan,
        node: usize,
        service: &Outside,
        now: u64,
        rng: &mut Rng,
    ) -> Option<CommandOf<Self>> {
        match service {
            Outside::Foreign(_) => {
                let election = troubles::contends(plan, node, now, rng)?;
                Some((plan.elections[election].clone(), Order::Contend))
            }
            Outside::Store(_) => {
                let trouble = troubles::trouble(plan, now, rng)?;
                Some((plan.elections[0].clone(), Order::Trouble(trouble)))
            }
        }
    }

    fn started(run: &mut Run<Self>, node: usize, _: u128) {
        run.own.names[node] = None;
        run.own.lost[node] = None;
    }

    fn input(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        input: &Input<Words>,
    ) -> Verdict {
        match input {
            Input::Message { message: Packet::Tell { life, answer, .. }, .. }
                if run.history.lives[node].is_some_and(|runs| runs as u64 == *life)
                    && run.plan.ours(node).is_some() =>
            {
                run.tell_own(context, Own::Heard { node, answer })
            }
            Input::Command { command: Order::Trouble(_), .. } => {
                run.counts.own.troubles += 1;
                Ok(())
            }
            Input::Command {
                election,
                command: Order::Ours(Command::Extra(Extra::Proclaim { value })),
            } => {
                if let Some(election) = run.election(election) {
                    run.apps[node][election].say(value);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn handled(run: &mut Run<Self>, _: &Context<'_>, node: usize, process: &Process) -> Verdict {
        run.own.names[node] = process.core().names_keys().or(run.own.names[node]);
        Ok(())
    }

    fn raised(run: &mut Run<Self>, claim: &Claim) {
        if let Some(key) = run.own.key(&run.plan, claim.node, claim.election) {
            run.own.key = key;
        }
    }

    fn effect(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        (): &(),
    ) -> Verdict {
        match effect {
            Effect::Send { message: Packet::Ask { life, request, .. }, .. } => {
                if run.plan.ours(node).is_some() {
                    run.counts.common.messages += 1;
                    let life = *life;
                    run.tell_own(context, Own::Sent { node, life, request })?;
                } else if let Op::Grant { lease, .. } = request.op {
                    run.own.records.owners.insert(lease, (node, *life));
                }
                Ok(())
            }
            Effect::Emit { event: Report::Store(note), .. } => {
                match note {
                    Note::Leader(Some(_)) => run.counts.own.terms += 1,
                    Note::Restored { .. } => run.counts.own.restored += 1,
                    Note::Put(kv) if kv.value == "foreign".into() => run.counts.own.foreign += 1,
                    _ => {}
                }
                run.tell_own(context, Own::Stored(note))?;
                run.draw_firsts(context.now);
                Ok(())
            }
            Effect::Emit { election, event: Report::Ours(event) } => {
                let election = election.as_ref().and_then(|name| run.election(name));
                run.own_event(context, node, election, event)
            }
            _ => Ok(()),
        }
    }

    fn note(&mut self, _: &Plan, history: &mut History<Details>, now: u64, fact: Fact<'_, Self>) {
        self.records.note(history, now, fact);
    }

    fn led(&self, _: &Plan, claim: &Claim) -> Details {
        let key = self.key.clone();
        Details { robbed: self.records.is_robbed(&key, claim.fence), key }
    }

    /// A claim never continues a leadership from before a restore, because the store then gives the
    /// same fences again.
    fn continues(&self, led: &Leadership<Details>, claim: &Claim) -> bool {
        led.is(claim) && led.until > self.records.restored.unwrap_or(0)
    }

    fn is_kept(&self, led: &Leadership<Details>, now: u64) -> bool {
        !led.own.robbed || led.until >= now
    }

    /// Allows overlaps if a key or lease was removed, or if the store went back.
    fn may_overlap(check: &Check<'_, Self>, claim: &Claim, other: &Leadership<Details>) -> bool {
        // The process may have stopped between its win and this claim, while its key was taken.
        let taken = || check.own.records.is_taken(&check.own.key);
        other.own.robbed || check.own(claim).map_or_else(taken, |own| own.own.robbed)
    }

    fn may_exceed(check: &Check<'_, Self>, _: &Claim, other: &Leadership<Details>) -> bool {
        let restored = check.own.records.restored;
        // The other process may have stopped between its win and its claim, while the next
        // candidate led.
        check.own.records.is_taken(&check.own.key)
            || restored.is_some_and(|back| other.from < back)
            // An answer from before the restore may still be on its way.
            || other.own.robbed && restored.is_some()
    }

    fn may_return(_: &Check<'_, Self>, _: &Claim, older: &Leadership<Details>) -> bool {
        older.own.robbed
    }

    /// Expects no leader if the revisions exceed the end of the fences.
    fn can_lead(plan: &Plan, _: usize) -> bool {
        !plan.own.exhausts
    }

    fn vacancy(check: &Check<'_, Self>, election: usize) -> String {
        let first = check.own.records.firsts[election].now();
        format!("; the first is {}", first.map_or("nobody".to_owned(), ToString::to_string))
    }

    fn drawn(&self, _: &Plan, claim: &Claim) -> (String, String) {
        let fence = claim.fence.map_or_else(String::new, |fence| fence.to_string());
        (fence.clone(), fence)
    }

    fn role(plan: &Plan, node: usize) -> &'static str {
        match plan.nodes[node] {
            NodePlan::Ours(_) => "candidate",
            NodePlan::Foreign(_) => "foreign candidate",
            NodePlan::Store => "store, first keys",
        }
    }

    fn describe(plan: &Plan) -> String {
        let ours: Vec<_> = (0..plan.nodes.len()).filter_map(|node| plan.ours(node)).collect();
        let campaigning = ours.iter().filter(|ours| ours.campaigns).count();
        let not = |is: bool| if is { "" } else { "not " };
        format!(
            "{} of ours, {campaigning} of them campaign, {} foreign, {} elections; lease {} s, rho \
             {}, revoked up to {:.1} s late, renewals race {}revocations, stuck leaders {}mended, \
             {}restored, {}meddled with",
            ours.len(),
            plan.nodes.len() - ours.len() - 1,
            plan.elections.len(),
            plan.conditions.unit / 1_000 / MS,
            plan.own.bounds.drift,
            plan.own.store.late as f64 / 1e9,
            not(plan.own.store.racing),
            not(plan.own.store.fixed),
            not(plan.own.restores),
            not(plan.own.meddling),
        )
    }

    fn summary(counts: &crate::scenario::Counts<Counts>) -> Vec<String> {
        let common = &counts.common;
        let own = &counts.own;
        vec![
            format!("requests      {}, {} of unknown outcome", common.messages, own.unsure),
            format!(
                "elections     {} won: {} lost, {} given up or withdrawn, {} again",
                common.elected, common.lost, common.resigned, own.again
            ),
            format!(
                "also          {} claims raised, {} views of observers, {} resets, {} late keys, \
                 {} foreign keys",
                common.claims, common.views, common.gaps, own.late_keys, own.foreign
            ),
            format!(
                "in etcd       {} troubles, {} terms, {} backups restored, {} refusals",
                own.troubles, own.terms, own.restored, own.refused
            ),
        ]
    }
}

impl Run<Elections> {
    fn own_event(
        &mut self,
        context: &Context<'_>,
        node: usize,
        election: Option<usize>,
        event: &Event,
    ) -> Verdict {
        let counts = &mut self.counts.own;
        match (event, election) {
            (&Event::Own(OwnEvent::Closed { lease, lost }), _) => {
                return self.tell_own(context, Own::Closed { node, lease, lost });
            }
            (Event::Own(OwnEvent::Ignored(Ignored::Unasked)), _) => {
                return self.tell_own(context, Own::Unasked { node });
            }
            (Event::Own(OwnEvent::Unsure { .. }), _) => counts.unsure += 1,
            (Event::Own(OwnEvent::Obstacle { refusal, .. }), _) => {
                let refuses = matches!(refusal, Refusal::NoSpace { .. } | Refusal::Denied { .. });
                counts.refused += u64::from(refuses);
            }
            (Event::Own(OwnEvent::LateKey { .. }), _) => counts.late_keys += 1,
            (Event::Own(OwnEvent::Again(_)), _) => counts.again += 1,
            (Event::Own(OwnEvent::Lost(lost)), _) => self.own.lost[node] = Some(*lost),
            (Event::Ended(_), _) => self.own.lost[node] = None,
            (Event::Own(OwnEvent::Ignored(Ignored::Command)), Some(election)) => {
                self.apps[node][election].anew = None;
            }
            (Event::Released, Some(election)) => {
                let Some(key) = &self.own.key(&self.plan, node, election) else { return Ok(()) };
                return self.tell_own(context, Own::Released { node, election, key });
            }
            _ => {}
        }
        Ok(())
    }

    /// Draws the first key of each election beside the claims, in the picture; the key's create
    /// revision is the fence.
    fn draw_firsts(&mut self, now: u64) {
        if !self.spans.are_kept() {
            return;
        }
        let lane = self.plan.store_node();
        for election in 0..self.plan.elections.len() {
            let first = self.own.records.firsts[election].now();
            match first.map(|kv| kv.created.to_string()) {
                Some(label) => {
                    let said = || (label.clone(), label);
                    self.draw(SpanKind::Grant, lane, election, now..u64::MAX, said);
                }
                None => self.cut(SpanKind::Grant, lane, election, now),
            }
        }
    }
}
