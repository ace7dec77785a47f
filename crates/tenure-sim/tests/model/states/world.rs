//! States of the model, and the steps between them.
//!
//! Within a tick the model handles every message on its way and every due timer, in any order.
//! Messages and timers that are left at the end of the tick are late, and cost budget. A budget of
//! `k` thus reaches every run with at most `k` departures from a network that works.
//!
//! Three things merge states without losing any future:
//!
//! - Messages on their way are a multiset; late messages do not differ by how late they are.
//! - A lost message is a message that never arrives, not an action.
//! - The judge forgets lapsed claims, all fences but the highest, and all quorum timestamps but the
//!   last: a leadership ordered after the last is ordered after all.

use std::rc::Rc;

use super::grantors::{self, CANDIDATES, LostState, NAMES};
use super::judge::{Claim, Judge};
use super::known::{SharedValue, print_of};
use super::node::{Letter, Node, Stimulus};
use super::reaction::{Consequence, Reactions};
use super::setting::{Budget, Setting};
use super::symmetry::{Symmetry, TWINS};

/// Factors that encode the place of a letter in a state.
const LATE: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
const QUEUED: u128 = 0xc2b2_ae3d_27d4_eb4f_1656_67b1_9e37_79f9;

#[derive(Clone)]
pub(crate) struct State {
    tick: u8,
    nodes: Vec<SharedValue<Node>>,
    /// Letters to deliver within this tick, and late letters; each in the order of prints.
    prompt: Vec<SharedValue<Letter>>,
    late: Vec<SharedValue<Letter>>,
    paused: Vec<bool>,
    left: Budget,
    judge: Judge,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// A message arrives: the nth of the prompt or of the late messages. A repeated message stays.
    Deliver {
        late: bool,
        nth: usize,
        repeat: bool,
    },
    Fire(usize),
    Campaign(usize),
    Resign(usize),
    Withdraw(usize),
    Restart(usize, LostState),
    Pause(usize),
    Continue(usize),
    Tick,
}

impl Action {
    fn is_trouble(&self) -> bool {
        use Action::{Campaign, Continue, Deliver, Fire, Pause, Resign, Restart, Tick, Withdraw};
        match self {
            Deliver { .. } | Fire(_) | Campaign(_) | Tick => false,
            Resign(_) | Withdraw(_) | Restart(..) | Pause(_) | Continue(_) => true,
        }
    }
}

pub(crate) struct World {
    reactions: Reactions,
    symmetry: Symmetry,
}

impl World {
    pub(crate) fn new(setting: &Setting) -> Self {
        let symmetry = Symmetry::new(&setting.alike);
        Self { reactions: Reactions::new(setting), symmetry }
    }

    fn setting(&self) -> &Rc<Setting> {
        &self.reactions.setting
    }

    /// The numbers of different states of single nodes, and of calls of the core.
    pub(crate) fn work(&self) -> (usize, usize) {
        (self.reactions.nodes.len(), self.reactions.calls())
    }

    fn time(&self, tick: u8) -> u64 {
        self.reactions.time(tick)
    }

    /// Lets a node react, and passes the consequences to the others.
    fn hit(&mut self, next: &mut State, n: usize, stimulus: Stimulus) -> Result<(), String> {
        let node = &next.nodes[n];
        let tick = next.tick;
        let reaction = self.reactions.of(&self.symmetry, node, tick, stimulus);
        let (after, noticed) = reaction.as_ref().as_ref().map_err(String::clone)?;
        let at = self.time(tick);
        let life = after.life();
        next.nodes[n] = after.clone();
        for notice in noticed {
            match notice {
                Consequence::Sent(letter) => {
                    grantors::leaves(next.judge.claim.as_ref(), life, &letter.message)?;
                    queue(&mut next.prompt, letter.clone());
                }
                &Consequence::Raised { first, fence, until } => {
                    next.judge.raise(Claim { life, first, fence, until }, at)?;
                }
                Consequence::Lowered => next.judge.lower(life),
                Consequence::Stamped(stamp) => {
                    next.judge.stamped(self.setting(), &next.left, stamp)?;
                }
            }
        }
        Ok(())
    }

    fn check(&mut self, state: &State) -> Result<(), String> {
        let setting = Rc::clone(self.setting());
        let mut look = |node: usize| self.reactions.look(&state.nodes[node], state.tick);
        grantors::check(&setting, &state.judge, &mut look)
    }

    /// Number of letters and timers that this tick could still handle.
    fn undone(&self, state: &State) -> usize {
        let at = self.time(state.tick);
        let letters = state.prompt.iter().filter(|letter| !state.paused[letter.to]).count();
        let due = |n: &usize| !state.paused[*n] && state.nodes[*n].is_due(at);
        letters + (0..NAMES.len()).filter(due).count()
    }

    fn deliveries(state: &State, actions: &mut Vec<Action>) {
        for (late, letters) in [(false, &state.prompt), (true, &state.late)] {
            for (nth, letter) in letters.iter().enumerate() {
                let before = (nth > 0).then(|| &letters[nth - 1]);
                let behind = before.is_some_and(|before| {
                    if late { before == letter } else { before.channel() == letter.channel() }
                });
                if behind || state.paused[letter.to] {
                    continue;
                }
                actions.push(Action::Deliver { late, nth, repeat: false });
                let mut left = state.left;
                if grantors::repeats(&mut left, &letter.message).is_some_and(|left| *left > 0) {
                    actions.push(Action::Deliver { late, nth, repeat: true });
                }
            }
        }
    }

    /// Adds faults and commands.
    fn troubles(&self, state: &State, actions: &mut Vec<Action>) {
        let left = &state.left;
        let at = self.time(state.tick);
        let setting = self.setting();
        for (n, node) in state.nodes.iter().enumerate() {
            if state.paused[n] {
                actions.push(Action::Continue(n));
                continue;
            }
            if CANDIDATES.contains(&n) {
                let campaigning = node.campaigning;
                let leads = node.leads(at);
                let may = [
                    (leads && left.resigns > 0, Action::Resign(n)),
                    (campaigning && !leads && left.withdrawals > 0, Action::Withdraw(n)),
                    (campaigning && left.pauses > 0, Action::Pause(n)),
                ];
                actions.extend(may.into_iter().filter(|(may, _)| *may).map(|(_, action)| action));
            }
            let may = |lost: &LostState| {
                let mut left = *left;
                *grantors::restarts_left(&mut left, n, *lost) > 0
            };
            let restarts = grantors::restarts(setting, n).iter().copied().filter(may);
            actions.extend(restarts.map(|lost| Action::Restart(n, lost)));
        }
    }
}

/// The interface of the search.
impl World {
    pub(crate) fn first(&mut self) -> State {
        let setting = Rc::clone(self.setting());
        let node = |n| self.reactions.nodes.keep(Node::new(&setting, n));
        let nodes: Vec<_> = (0..NAMES.len()).map(node).collect();
        self.symmetry.pair_first(&nodes);
        State {
            tick: 0,
            nodes,
            prompt: Vec::new(),
            late: Vec::new(),
            paused: vec![false; NAMES.len()],
            left: setting.budget,
            judge: Judge::default(),
        }
    }

    /// All possible actions, in an order that depends on the state alone.
    pub(crate) fn actions(&self, state: &State) -> Vec<Action> {
        let left = &state.left;
        let at = self.time(state.tick);
        let mut actions = Vec::new();
        Self::deliveries(state, &mut actions);
        for (n, node) in state.nodes.iter().enumerate() {
            if !state.paused[n] && node.is_due(at) {
                actions.push(Action::Fire(n));
            }
        }
        for (nth, n) in CANDIDATES.enumerate() {
            let may = left.campaigns[nth] > 0 && !state.paused[n];
            if may && !state.nodes[n].campaigning {
                actions.push(Action::Campaign(n));
            }
        }
        if state.prompt.is_empty() || left.hasty > 0 {
            self.troubles(state, &mut actions);
        }
        if state.tick < self.setting().horizon && self.undone(state) <= usize::from(left.late) {
            actions.push(Action::Tick);
        }
        actions
    }

    /// The next state, or the property that the action violates.
    pub(crate) fn act(&mut self, state: &State, action: &Action) -> Result<State, String> {
        let mut next = state.clone();
        if action.is_trouble() && !state.prompt.is_empty() {
            next.left.hasty -= 1;
        }
        match *action {
            Action::Deliver { late, nth, repeat } => {
                let letters = if late { &mut next.late } else { &mut next.prompt };
                let letter = letters.remove(nth);
                if repeat {
                    *grantors::repeats(&mut next.left, &letter.message).expect("one was left") -= 1;
                    insert(&mut next.late, letter.clone());
                }
                self.hit(&mut next, letter.to, Stimulus::Letter(letter))?;
            }
            Action::Fire(n) => self.hit(&mut next, n, Stimulus::Timeout)?,
            Action::Campaign(n) => {
                next.left.campaigns[n - CANDIDATES.start] -= 1;
                self.hit(&mut next, n, Stimulus::Campaign)?;
            }
            Action::Resign(n) => {
                next.left.resigns -= 1;
                self.hit(&mut next, n, Stimulus::Resign)?;
            }
            Action::Withdraw(n) => {
                next.left.withdrawals -= 1;
                self.hit(&mut next, n, Stimulus::Resign)?;
            }
            Action::Restart(n, lost) => {
                *grantors::restarts_left(&mut next.left, n, lost) -= 1;
                self.hit(&mut next, n, Stimulus::Restart(lost))?;
            }
            Action::Pause(n) => {
                next.left.pauses -= 1;
                next.paused[n] = true;
            }
            Action::Continue(n) => next.paused[n] = false,
            Action::Tick => {
                let undone = u8::try_from(self.undone(state)).unwrap();
                next.left.late -= undone;
                for letter in std::mem::take(&mut next.prompt) {
                    insert(&mut next.late, letter);
                }
                next.tick += 1;
                next.judge.pass(self.time(next.tick));
            }
        }
        self.check(&next)?;
        Ok(next)
    }

    /// The print of a state: two states have the same print only if both have the same future.
    pub(crate) fn print(&self, state: &State) -> u128 {
        let rest = print_of(&(state.tick, &state.paused, state.left, state.judge.rest()));
        let mut sums = [rest; TWINS];
        let sums = &mut sums[..self.symmetry.len()];
        let mut add = |twins: [u128; TWINS], place: u128| {
            for (sum, twin) in sums.iter_mut().zip(twins) {
                debug_assert!(twin != 0, "everything in a state knows its twins");
                *sum = sum.wrapping_add(twin.wrapping_mul(place));
            }
        };
        // Prints are random numbers. The sum of prints, each multiplied by an odd factor, therefore
        // distinguishes sets of prints. Nodes and letters contain their places; only the order
        // within a channel, and the lateness of a letter, must be added.
        state.nodes.iter().for_each(|node| add(node.twins(), 1));
        state.late.iter().for_each(|letter| add(letter.twins(), LATE));
        state.judge.stamp.iter().for_each(|last| add(last.twins(), 1));
        let mut before: Option<(&SharedValue<Letter>, u128)> = None;
        for letter in &state.prompt {
            let place = match before {
                Some((before, place)) if before.channel() == letter.channel() => {
                    place.wrapping_mul(QUEUED)
                }
                _ => QUEUED,
            };
            add(letter.twins(), place);
            before = Some((letter, place));
        }
        sums.iter().copied().min().unwrap()
    }

    /// The state's marks; the search must find each somewhere.
    pub(crate) fn marks(&mut self, state: &State) -> Vec<&'static str> {
        let setting = Rc::clone(self.setting());
        let all = setting.budget;
        let left = state.left;
        let judge = &state.judge;
        let common = [
            (judge.elected > 0, "elected"),
            (judge.changed, "another elected"),
            (judge.changed && left.resigns < all.resigns, "another after a resignation"),
            (judge.changed && left.pauses < all.pauses, "another after a pause"),
            (judge.elected > 1 && !judge.changed, "the same again"),
        ];
        let mut look = |node: usize| self.reactions.look(&state.nodes[node], state.tick);
        let own = grantors::marks(&setting, &left, judge, &mut look);
        common.into_iter().chain(own).filter(|(seen, _)| *seen).map(|(_, mark)| mark).collect()
    }

    pub(crate) fn describe(&self, state: &State, action: &Action) -> String {
        let tick = state.tick;
        let what = match action {
            Action::Deliver { late, nth, repeat } => {
                let letter = &if *late { &state.late } else { &state.prompt }[*nth];
                let to = NAMES[letter.to];
                let from = NAMES[letter.by];
                let late = if *late { " late" } else { "" };
                let repeat = if *repeat { ", to be repeated" } else { "" };
                format!("{from} to {to}{late}: {}{repeat}", letter.message)
            }
            Action::Fire(n) => format!("{} timeout", NAMES[*n]),
            Action::Campaign(n) => format!("{} campaigns", NAMES[*n]),
            Action::Resign(n) => format!("{} resigns", NAMES[*n]),
            Action::Withdraw(n) => format!("{} withdraws", NAMES[*n]),
            Action::Restart(n, lost) => format!("{} restarts, losing {lost:?}", NAMES[*n]),
            Action::Pause(n) => format!("{} stops", NAMES[*n]),
            Action::Continue(n) => format!("{} goes on", NAMES[*n]),
            Action::Tick => format!("tick, leaving {} undone", self.undone(state)),
        };
        let clocks: Vec<_> = state
            .nodes
            .iter()
            .map(|node| format!("{} {}", NAMES[node.number], node.clock.shows(self.time(tick))))
            .collect();
        match action {
            Action::Tick => format!("{tick} {what} [{}]", clocks.join(", ")),
            _ => format!("{tick} {what}"),
        }
    }
}

/// Adds a letter behind the letters of the same channel.
fn queue(letters: &mut Vec<SharedValue<Letter>>, letter: SharedValue<Letter>) {
    let at = letters.partition_point(|other| other.channel() <= letter.channel());
    letters.insert(at, letter);
}

fn insert(letters: &mut Vec<SharedValue<Letter>>, letter: SharedValue<Letter>) {
    let at = letters.partition_point(|other| other.print() < letter.print());
    letters.insert(at, letter);
}
