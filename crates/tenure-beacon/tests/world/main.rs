//! Beacons in made-up worlds: what every protocol promises is judged for them, too.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

mod bent;

use std::convert::Infallible;
use std::time::Duration;

use bent::{Bent, Flaw};
use tenure_beacon::{Config, Words};
use tenure_core::{Command, Drift, Effect, Event, Loss, NodeName, WallTime};
use tenure_sim::rng::Rng;
use tenure_sim::scenario::plan::{MS, Outline, known};
use tenure_sim::scenario::{
    Check, Claimed, Fact, Judged, Leadership, Past, Plan, PlanOf, Property, Run, Scenario, promises,
};
use tenure_sim::sweep::{CountsOf, Found, Source, Sweep};
use tenure_sim::world::Context;
use tenure_sim::world::clock::Clock;
use tenure_sim::world::node::Node;
use tenure_sim::world::nodes::Nodes;
use tenure_sim::{explain, scenario};

/// A beacon is lit.
#[derive(Clone, Copy, Debug)]
struct Lit {
    node: usize,
    leads: bool,
}

tenure_sim::tally! {
    /// What is counted only for beacons.
    Counts {
        /// How many were lit.
        lit,
    }
}

/// Whoever calls itself leader on the bus has a claim.
#[derive(Debug, Default)]
struct LightsAreTrue;

impl Property<Beacons> for LightsAreTrue {
    const NAME: &'static str = "Who lights a leader's beacon leads";
    const SOURCE: &'static str = "beacons";

    fn see(&mut self, check: &Check<'_, Beacons>, fact: Fact<'_, Beacons>) -> Result<(), String> {
        let Fact::Own(Lit { node, leads: true }) = fact else { return Ok(()) };
        let led = |past: &Past<()>| past.leaderships.iter().any(|led| led.node == node);
        match check.history.elections.iter().any(led) {
            true => Ok(()),
            false => Err(format!("{} says that it leads, and never did", check.name(node))),
        }
    }
}

tenure_sim::checks! {
    /// All of them.
    Properties of Beacons { LightsAreTrue; promises::All }
}
const BEAT: Duration = Duration::from_millis(200);
const LEASE: Duration = Duration::from_secs(1);
/// How far two wall clocks are apart at most.
const SKEW: Duration = Duration::from_millis(100);
/// A message takes no longer in a calm world.
const TRIP: u64 = 20 * MS;

/// Beacons in a world.
#[derive(Debug)]
struct Beacons;

impl Scenario for Beacons {
    type Words = Words;
    type Process = Bent;
    type Core = Bent;
    type Service = Infallible;
    type Disk = ();
    type NodePlan = ();
    type Settings = Flaw;
    type Extra = Infallible;
    type OwnEvent = Infallible;
    type Led = ();
    type Fact<'a> = Lit;
    type Counts = Counts;
    type Checks = Properties;

    fn new(_: &mut PlanOf<Self>) -> Self {
        Self
    }

    fn node(&self, plan: &PlanOf<Self>, node: usize, _: &Clock) -> Node<Bent, Infallible> {
        let config = Config { beat: BEAT, lease: LEASE, skew: SKEW };
        Node::Process(Bent::new(plan.own, config, name(plan, node)))
    }

    fn core(process: &Bent) -> &Bent {
        process
    }

    fn disk(&self, _: &PlanOf<Self>, _: usize) {}

    fn start(&self, _: &PlanOf<Self>, _: usize, life: u128, (): &()) -> Result<u128, String> {
        Ok(life)
    }

    fn write((): &mut (), record: Infallible) {
        match record {}
    }

    fn sender(&self, plan: &PlanOf<Self>, node: usize, _: u128) -> NodeName {
        name(plan, node)
    }

    /// The bus carries everything to everybody else.
    fn recipients(&self, plan: &PlanOf<Self>, from: usize, _: &&'static str) -> Nodes {
        (0..plan.nodes.len()).filter(|node| *node != from).collect()
    }

    fn event(event: &Event<Infallible>) -> Option<&Event<Infallible>> {
        Some(event)
    }

    fn command(command: &Command<Infallible>) -> Option<&Command<Infallible>> {
        Some(command)
    }

    fn campaign(plan: &PlanOf<Self>, node: usize, _: &mut Rng) -> Command<Infallible> {
        let value = known(&plan.conditions.sites[node].name);
        Command::Campaign { value, priority: 0 }
    }

    fn whim(
        _: &PlanOf<Self>,
        _: usize,
        observe: Option<Command<Infallible>>,
        rng: &mut Rng,
    ) -> Option<Command<Infallible>> {
        if rng.once_in(8) { Some(Command::Resign) } else { observe.filter(|_| rng.once_in(8)) }
    }

    fn effect(
        run: &mut Run<Self>,
        context: &Context<'_>,
        node: usize,
        effect: &Effect<Words>,
        (): &(),
    ) -> Judged {
        let Effect::Send { message, .. } = effect else { return Ok(()) };
        run.counts.own.lit += 1;
        run.tell_own(context, Lit { node, leads: message.until > WallTime::ZERO })
    }

    fn led(&self, _: &PlanOf<Self>, _: &Claimed) {}

    /// While messages are lost each side may have a leader; and two that begin at once have not
    /// heard of each other.
    fn may_overlap(check: &Check<'_, Self>, _: &Claimed, other: &Leadership<()>) -> bool {
        let stormy = !check.plan.calm && check.now < check.plan.settled;
        stormy || check.now < other.from + TRIP
    }

    /// Of two that began at once, one stops.
    fn may_lose(check: &Check<'_, Self>, _: (usize, usize), loss: Loss) -> bool {
        loss == Loss::Superseded && check.now < check.plan.settled
    }

    fn address(_: &PlanOf<Self>, node: usize) -> String {
        format!("to n{node}")
    }

    fn describe(plan: &PlanOf<Self>) -> String {
        format!("{} beacons, {:?}", plan.nodes.len(), plan.own)
    }
}

fn name(plan: &PlanOf<Beacons>, node: usize) -> NodeName {
    plan.conditions.sites[node].name.parse().unwrap()
}

#[derive(Clone, Copy, Debug)]
struct Worlds(Flaw);

impl Source for Worlds {
    type Scenario = Beacons;

    const NAME: &'static str = "beacons";

    fn plan(&self, seed: u64) -> PlanOf<Beacons> {
        let nodes = (0..2 + seed % 4).map(|n| (format!("n{n}"), ())).collect();
        let nanos = |span: Duration| span.as_nanos() as u64;
        let (unit, settles) = (nanos(LEASE), 8 * nanos(LEASE));
        let outline = Outline { unit, trip: TRIP, drift: Drift::DEFAULT, settles };
        let mut plan = Plan::draw(seed, nodes, outline, self.0);
        // Two clocks are off by the skew together.
        plan.conditions.draw_wall_clocks(nanos(SKEW) / 2);
        plan
    }
}

fn sweep(flaw: Flaw, worlds: u64) -> Found<CountsOf<Worlds>> {
    Sweep { first: 1, worlds, events: u64::MAX, source: Worlds(flaw), threads: 2 }.run()
}

#[test]
fn beacons_keep_what_they_promise() {
    let found = sweep(Flaw::None, 200);
    assert_eq!(found.violation, None);
    let scenario::Common { claims, elected, lost, resigned, views, .. } = found.counts.common;
    assert!(claims > elected && elected > 2_000, "{found:?}");
    assert!(found.counts.own.lit > claims, "{found:?}");
    assert!(lost > 200 && resigned > 500 && views > 1_000, "{found:?}");
}

#[test]
fn what_beacons_do_wrong_is_noticed_by_the_promise_about_it() {
    for (flaw, promise) in [
        (Flaw::Boasts, "Who lights a leader's beacon leads"),
        (Flaw::InboundBlocked, "At most one leader"),
        (Flaw::Returns, "A claim that has lapsed does not return"),
        (Flaw::Silent, "Observers see what is"),
        (Flaw::Modest, "Handle and core agree"),
        (Flaw::Hoards, "Memory is bounded"),
        (Flaw::Idles, "Every election has a leader in the end"),
        (Flaw::Discreet, "Handles get the events that they wait for"),
        (Flaw::Restless, "Handles get the events that they wait for"),
        (Flaw::Lingers, "Handles get the events that they wait for"),
    ] {
        let (_, violation) = sweep(flaw, 200).violation.unwrap_or_else(|| panic!("{flaw:?}"));
        assert_eq!(violation.property, promise, "{flaw:?}: {violation}");
    }
}

#[test]
fn a_world_of_beacons_is_told_and_drawn() {
    let account = explain::account(&Worlds(Flaw::None), 4, None);
    let says = |what: &str| account.lines.iter().any(|line| line.contains(what));
    assert!(
        says("its wall clock is set") && says("to everybody: ") && says("elected"),
        "{account:?}"
    );
    let picture = tenure_sim::timeline::svg::draw(&account.timeline);
    assert!(picture.contains("<title>leads "), "{picture}");
    let [one, two] = [0, 1].map(|_| explain::account(&Worlds(Flaw::None), 4, None).lines);
    assert_eq!(one, two);
}
