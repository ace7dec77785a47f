//! Breadth first through every reachable state, each visited once.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use super::world::World;

#[derive(Default)]
pub(crate) struct Exploration {
    /// Number of states reached, counted once for each action that led to a state.
    pub(crate) reached: u64,
    pub(crate) states: usize,
    /// Largest distance of a state from the first, in actions.
    pub(crate) depth: u32,
    /// Number of states that show each mark.
    pub(crate) marks: BTreeMap<&'static str, u64>,
    /// Whether every reached state was explored.
    pub(crate) complete: bool,
}

/// A violated property, and a shortest way to it.
pub(crate) struct Violation {
    /// Property and evidence.
    pub(crate) why: String,
    pub(crate) steps: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, after", self.why)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// The way to a state: the previous state, and the number of the action.
struct Arrival {
    from: u32,
    action: u16,
}

/// Visits every state. Stops at the first violation, or beyond `most` states. The search is
/// breadth-first, so the way to the violation is a shortest one.
pub(crate) fn explore(world: &mut World, most: usize) -> (Exploration, Option<Violation>) {
    let mut explored = Exploration { states: 1, complete: true, ..Exploration::default() };
    let first = world.first();
    let mut seen = HashSet::from([world.print(&first)]);
    let mut found = vec![Arrival { from: 0, action: 0 }];
    let mut frontier = VecDeque::from([(first, 0_u32, 0_u32)]);
    while let Some((state, number, depth)) = frontier.pop_front() {
        explored.depth = depth;
        for mark in world.marks(&state) {
            *explored.marks.entry(mark).or_default() += 1;
        }
        for (nth, action) in world.actions(&state).iter().enumerate() {
            explored.reached += 1;
            let action_number = u16::try_from(nth).expect("few actions");
            let next = match world.act(&state, action) {
                Ok(next) => next,
                Err(why) => {
                    let steps =
                        retrace(world, &found, Arrival { from: number, action: action_number });
                    return (explored, Some(Violation { why, steps }));
                }
            };
            if !seen.insert(world.print(&next)) {
                continue;
            }
            if explored.states == most {
                explored.complete = false;
                return (explored, None);
            }
            let here = u32::try_from(found.len()).expect("fewer states than 2³²");
            found.push(Arrival { from: number, action: action_number });
            explored.states += 1;
            frontier.push_back((next, here, depth + 1));
        }
    }
    (explored, None)
}

/// The way to `last`, repeated from the first state.
fn retrace(world: &mut World, found: &[Arrival], last: Arrival) -> Vec<String> {
    let mut number = last.from;
    let mut way = vec![last.action];
    while number != 0 {
        let Arrival { from, action } = found[number as usize];
        way.push(action);
        number = from;
    }
    let mut state = world.first();
    let mut steps = Vec::new();
    for nth in way.into_iter().rev() {
        let action = world.actions(&state).swap_remove(usize::from(nth));
        steps.push(world.describe(&state, &action));
        match world.act(&state, &action) {
            Ok(next) => state = next,
            Err(_) => break,
        }
    }
    steps
}
