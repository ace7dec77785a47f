//! Shows a failure to people: the violation, the world, the faults before it, every event on one
//! line, a picture, and the command that shows the failure again.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::recorder::LEGEND;
use crate::scenario::{PlanOf, Run, Scenario};
use crate::sweep::{Source, run};
use crate::timeline::{Lane, Timeline};
use crate::violation::Violation;
use crate::world::World;
use crate::world::clock::TRUE_RATE;
use crate::world::fault::{Fault, Kind};

/// A recorded second run of a world.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The plan of the world, in one line.
    pub plan: String,
    pub violation: Option<Violation>,
    pub lines: Vec<String>,
    pub timeline: Timeline,
    /// Faults and commands in order, with their true time.
    pub struck: Vec<(u64, Fault)>,
    pub events: u64,
}

/// Runs the world of `seed` again, recording everything.
#[must_use]
pub fn replay<S: Source>(source: &S, seed: u64, only: Option<BTreeSet<Fault>>) -> Replay {
    let plan = source.plan(seed);
    let line = format!("{}; {}", S::Scenario::describe(&plan), plan.times());
    let lanes = lanes::<S::Scenario>(&plan);
    let sites = plan.conditions.sites.iter().enumerate();
    let names = sites.map(|(node, site)| (S::Scenario::address(&plan, node), site.name.clone()));
    let names: Vec<(String, String)> = names.collect();
    let conditions = plan.conditions.clone();
    let run_of = Run::<S::Scenario>::new(plan).drawn();
    let mut world = World::new(conditions, run_of, only).recorded();
    let violation = run(&mut world).err();
    let end = world.now();
    let events = world.events();
    let struck = world.fate().struck().to_vec();
    let spans = world.system.spans.take();
    let recorder = world.into_recorder().unwrap_or_default();
    let named = |line: &String| {
        names.iter().fold(line.clone(), |line, (address, name)| line.replace(address, name))
    };
    let lines = recorder.lines().iter().map(named).collect();
    let title = format!("seed {seed}");
    let mut timeline = recorder.timeline(title, lanes, end);
    timeline.spans.extend(spans.into_iter().map(|mut span| {
        span.until = span.until.max(span.from);
        span
    }));
    timeline.violation = violation.as_ref().map(|v| (v.at, v.to_string()));
    Replay { plan: line, violation, lines, timeline, struck, events }
}

/// The nodes, for a picture.
fn lanes<S: Scenario>(plan: &PlanOf<S>) -> Vec<Lane> {
    let sites = plan.conditions.sites.iter().enumerate();
    let lane = sites.map(|(node, site)| Lane {
        name: site.name.clone(),
        role: S::role(plan, node).to_owned(),
        clock: format!("{:.4} of true time", site.clock.rate(0) as f64 / TRUE_RATE as f64),
    });
    lane.collect()
}

/// The command that replays this world.
#[must_use]
pub fn command<S: Source>(source: &S, seed: u64, only: &BTreeSet<Fault>) -> String {
    let only: Vec<String> = only.iter().map(ToString::to_string).collect();
    format!("cargo xtask replay --seed {seed}{} --only {}", source.flags(), only.join(","))
}

impl Replay {
    /// The replay as text, with the last `most` lines of the trace.
    #[must_use]
    pub fn text(&self, most: usize) -> String {
        let mut text = format!("world: {}\n", self.plan);
        let faults = self.struck.iter().filter(|(_, fault)| fault.kind != Kind::Act);
        let faults: Vec<String> = faults.map(|(_, fault)| fault.to_string()).collect();
        let commands = self.struck.len() - faults.len();
        let listed = if faults.is_empty() { "nothing".to_owned() } else { faults.join(" ") };
        let _ = writeln!(text, "faults: {listed}; commands of applications: {commands}");
        let _ =
            writeln!(text, "(a fault is KIND.PLACE.CHANCE, its place a node or 64 x from + to)\n");
        let _ = writeln!(text, "{LEGEND}\n");
        let left_out = self.lines.len().saturating_sub(most);
        if left_out > 0 {
            let _ = writeln!(text, "({left_out} lines before are left out: --trace FILE has all)");
        }
        for line in &self.lines[left_out..] {
            let _ = writeln!(text, "{line}");
        }
        if let Some(violation) = &self.violation {
            let _ = writeln!(text, "\nviolated: {violation}");
        }
        text
    }
}
