//! Breadth first through every state that can be reached, each visited once.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

/// A model: a first state, and the actions in each state.
pub(crate) trait Model {
    type State;
    type Action;

    fn first(&mut self) -> Self::State;
    /// Everything that can happen, in an order that depends on the state alone.
    fn actions(&self, state: &Self::State) -> Vec<Self::Action>;
    /// The next state, or the property that the action violates.
    fn act(&mut self, state: &Self::State, action: &Self::Action) -> Result<Self::State, String>;
    /// Print of a state: equal for two states only if both have the same future.
    fn print(&self, state: &Self::State) -> u128;
    /// Marks that the state shows; the search has to find each somewhere.
    fn marks(&mut self, state: &Self::State) -> Vec<&'static str>;
    fn describe(&mut self, state: &Self::State, action: &Self::Action) -> String;
}

/// How far an exploration came.
#[derive(Default)]
pub struct Exploration {
    /// States reached, each as often as an action led to it.
    pub reached: u64,
    pub states: usize,
    /// The most actions that a state is away from the first.
    pub depth: u32,
    /// States in which each of these was seen.
    pub marks: BTreeMap<&'static str, u64>,
    /// Whether nothing was left out: no state was reached and not followed.
    pub complete: bool,
}

/// A property that does not hold, and a shortest way to it.
pub struct Violation {
    /// Which, and what was seen.
    pub why: String,
    pub steps: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, after", self.why)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// How one state was reached: from which other, by the how manieth of its actions.
struct Arrival {
    from: u32,
    action: u16,
}

/// Visits every state, or stops at the first violation, which breadth makes a shortest one, or
/// when more than `most` states were found.
pub(crate) fn explore<M: Model>(model: &mut M, most: usize) -> (Exploration, Option<Violation>) {
    let mut explored = Exploration { states: 1, complete: true, ..Exploration::default() };
    let first = model.first();
    let mut seen = HashSet::from([model.print(&first)]);
    let mut found = vec![Arrival { from: 0, action: 0 }];
    let mut frontier = VecDeque::from([(first, 0_u32, 0_u32)]);
    while let Some((state, number, depth)) = frontier.pop_front() {
        explored.depth = depth;
        for mark in model.marks(&state) {
            *explored.marks.entry(mark).or_default() += 1;
        }
        for (nth, action) in model.actions(&state).iter().enumerate() {
            explored.reached += 1;
            let action_number = u16::try_from(nth).expect("few actions");
            let next = match model.act(&state, action) {
                Ok(next) => next,
                Err(why) => {
                    let steps =
                        retrace(model, &found, Arrival { from: number, action: action_number });
                    return (explored, Some(Violation { why, steps }));
                }
            };
            if !seen.insert(model.print(&next)) {
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

/// The way to `last`, walked again from the first state.
fn retrace<M: Model>(model: &mut M, found: &[Arrival], last: Arrival) -> Vec<String> {
    let mut number = last.from;
    let mut way = vec![last.action];
    while number != 0 {
        let Arrival { from, action } = found[number as usize];
        way.push(action);
        number = from;
    }
    let mut state = model.first();
    let mut steps = Vec::new();
    for nth in way.into_iter().rev() {
        let action = model.actions(&state).swap_remove(usize::from(nth));
        steps.push(model.describe(&state, &action));
        match model.act(&state, &action) {
            Ok(next) => state = next,
            Err(_) => break,
        }
    }
    steps
}
