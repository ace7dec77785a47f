//! The states of the model and what leads from one to the next.
//!
//! Within a tick every message that is on its way and every timer that is due is handled, in any
//! order; what is left at its end is late, which is counted. That is all of asynchrony, in the
//! order in which it departs from a network that works: a budget of `k` reaches everything that
//! takes at most `k` departures.
//!
//! No state is left out for symmetry: the cores are opaque, and their choices among grantors
//! that are equal go by position. Three things merge states without losing any future:
//!
//! - Messages on their way are a multiset, and what is late is not told apart by how late.
//! - Losing a message is not an action: it is a message that never arrives.
//! - The judge forgets claims that have lapsed, all fences but the highest, and all quorum
//!   timestamps but the last: what is ordered after the last one is ordered after all.

use tenure_core::nerio::{MemberSet, Message};

use crate::disk::Lost;
use crate::judge::{Judge, Life};
use crate::known::{Known, print_of};
use crate::node::{CANDIDATES, GRANTORS, Letter, NAMES, Node, Stimulus, who};
use crate::reaction::{Noticed, Reactions};
use crate::search::Model;
use crate::setting::{Budget, Setting, config};
use crate::symmetry::{PERMUTATIONS, pair_first};

/// Factors that tell where in a state a letter is.
const LATE: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
const QUEUED: u128 = 0xc2b2_ae3d_27d4_eb4f_1656_67b1_9e37_79f9;

#[derive(Clone)]
pub struct State {
    tick: u8,
    nodes: [Known<Node>; NAMES.len()],
    /// What is to be delivered within this tick, and what is late; each in the order of prints.
    prompt: Vec<Known<Letter>>,
    late: Vec<Known<Letter>>,
    paused: [bool; NAMES.len()],
    left: Budget,
    judge: Judge,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A message arrives: the nth of the prompt or of the late ones; a repeated one stays.
    Deliver {
        late: bool,
        nth: usize,
        repeat: bool,
    },
    Fire(usize),
    Campaign(usize),
    Resign(usize),
    Withdraw(usize),
    Restart(usize, Lost),
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

pub struct World {
    pub setting: Setting,
    reactions: Reactions,
}

impl World {
    pub fn new(setting: Setting) -> Self {
        let tick = u64::try_from(setting.tick.as_nanos()).unwrap();
        let permutations = if setting.alike { PERMUTATIONS.len() } else { 1 };
        Self { setting, reactions: Reactions::new(config(), tick, permutations) }
    }

    /// How many different states of one node there were, and how many calls of the core.
    pub fn work(&self) -> (usize, usize) {
        (self.reactions.nodes.len(), self.reactions.calls())
    }

    fn time(&self, tick: u8) -> u64 {
        self.reactions.time(tick)
    }

    /// Lets a node react, and others notice.
    fn hit(&mut self, next: &mut State, node: usize, stimulus: Stimulus) -> Result<(), String> {
        let reaction = self.reactions.of(&next.nodes[node], next.tick, stimulus);
        let (after, noticed) = reaction.as_ref().as_ref().map_err(String::clone)?;
        let (at, life) = (self.time(next.tick), Life { node, number: after.life });
        next.nodes[node] = after.clone();
        let lost_disk = next.left.losses < self.setting.budget.losses;
        for notice in noticed {
            match notice {
                Noticed::Sent(letter) => {
                    if let Message::Release(release) = &letter.message {
                        next.judge.released(life, release.start)?;
                    }
                    queue(&mut next.prompt, letter.clone());
                }
                Noticed::Raised { first, fence, until } => {
                    next.judge.raise((life, *first, *fence), at, *until)?;
                }
                Noticed::Lowered => next.judge.lower(life),
                Noticed::Elected(timestamp) => next.judge.timestamped(timestamp, lost_disk)?,
            }
        }
        Ok(())
    }

    /// Section 2, equation 14: who leads holds the grants of a quorum. A grantor that has lost
    /// its memory keeps its word by granting nothing to anybody.
    fn check_grants(&mut self, state: &State) -> Result<(), String> {
        let Some(claim) = &state.judge.claim else { return Ok(()) };
        let who = who(claim.life);
        let keeps = |&node: &usize| match self.reactions.grant(&state.nodes[node], state.tick) {
            (true, holder) => holder.as_ref() == Some(&who),
            (false, _) => true,
        };
        let keeping: MemberSet = GRANTORS.filter(keeps).collect();
        if self.reactions.config.quorums.is_quorum(keeping) {
            return Ok(());
        }
        let names: Vec<_> = keeping.iter().map(|node| NAMES[node]).collect();
        Err(format!("equation 14: {who} leads, granted by {names:?} only"))
    }

    /// What is left undone in this tick and could have been done.
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
                let behind = before.is_some_and(|before| match late {
                    true => before == letter,
                    false => before.channel() == letter.channel(),
                });
                if behind || state.paused[letter.to] {
                    continue;
                }
                actions.push(Action::Deliver { late, nth, repeat: false });
                if repeats(&mut state.left.clone(), &letter.message).is_some_and(|left| *left > 0) {
                    actions.push(Action::Deliver { late, nth, repeat: true });
                }
            }
        }
    }

    /// What people and machines do to nodes.
    fn troubles(&self, state: &State, actions: &mut Vec<Action>) {
        let (left, at) = (&state.left, self.time(state.tick));
        for n in CANDIDATES {
            if state.paused[n] {
                actions.push(Action::Continue(n));
                continue;
            }
            let (campaigning, leads) = (state.nodes[n].campaigning, state.nodes[n].leads(at));
            let may = [
                (leads && left.resigns > 0, Action::Resign(n)),
                (campaigning && !leads && left.withdrawals > 0, Action::Withdraw(n)),
                (campaigning && left.pauses > 0, Action::Pause(n)),
                (left.rebirths > 0, Action::Restart(n, Lost::Nothing)),
            ];
            actions.extend(may.into_iter().filter(|(may, _)| *may).map(|(_, action)| action));
        }
        for n in self.setting.struck.clone() {
            let may = [
                (left.crashes, Lost::Nothing),
                (left.reboots, Lost::Grants),
                (left.losses, Lost::Everything),
            ];
            let restart = |(_, lost)| Action::Restart(n, lost);
            actions.extend(may.into_iter().filter(|(left, _)| *left > 0).map(restart));
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn first(&mut self) -> State {
        let (grantors, candidates) = self.setting.rates;
        let rate = |n| if GRANTORS.contains(&n) { grantors } else { candidates };
        let reactions = &mut self.reactions;
        let mut node = |n| reactions.nodes.keep(Node::new(&reactions.config, n, rate(n)));
        let nodes = std::array::from_fn(&mut node);
        pair_first(&nodes);
        State {
            tick: 0,
            nodes,
            prompt: Vec::new(),
            late: Vec::new(),
            paused: [false; NAMES.len()],
            left: self.setting.budget,
            judge: Judge::default(),
        }
    }

    fn actions(&self, state: &State) -> Vec<Action> {
        let (left, at) = (&state.left, self.time(state.tick));
        let mut actions = Vec::new();
        Self::deliveries(state, &mut actions);
        for (n, node) in state.nodes.iter().enumerate() {
            if !state.paused[n] && node.is_due(at) {
                actions.push(Action::Fire(n));
            }
        }
        for n in CANDIDATES {
            let may = left.campaigns[n - CANDIDATES.start] > 0 && !state.paused[n];
            if may && !state.nodes[n].campaigning {
                actions.push(Action::Campaign(n));
            }
        }
        if state.prompt.is_empty() || left.hasty > 0 {
            self.troubles(state, &mut actions);
        }
        if state.tick < self.setting.horizon && self.undone(state) <= usize::from(left.late) {
            actions.push(Action::Tick);
        }
        actions
    }

    fn act(&mut self, state: &State, action: &Action) -> Result<State, String> {
        let mut next = state.clone();
        if action.is_trouble() && !state.prompt.is_empty() {
            next.left.hasty -= 1;
        }
        match *action {
            Action::Deliver { late, nth, repeat } => {
                let letters = if late { &mut next.late } else { &mut next.prompt };
                let letter = letters.remove(nth);
                if repeat {
                    *repeats(&mut next.left, &letter.message).expect("one was left") -= 1;
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
                let left = match (GRANTORS.contains(&n), lost) {
                    (false, _) => &mut next.left.rebirths,
                    (true, Lost::Nothing) => &mut next.left.crashes,
                    (true, Lost::Grants) => &mut next.left.reboots,
                    (true, Lost::Everything) => &mut next.left.losses,
                };
                *left -= 1;
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
        self.check_grants(&next)?;
        Ok(next)
    }

    fn print(&self, state: &State) -> u128 {
        let rest = print_of(&(state.tick, state.paused, state.left, state.judge.rest()));
        let mut sums = [rest; PERMUTATIONS.len()];
        let sums = &mut sums[..self.reactions.permutations];
        let mut add = |twins: [u128; PERMUTATIONS.len()], place: u128| {
            for (sum, twin) in sums.iter_mut().zip(twins) {
                debug_assert!(twin != 0, "everything in a state knows its twins");
                *sum = sum.wrapping_add(twin.wrapping_mul(place));
            }
        };
        // Prints are random numbers, so that sums of them, each taken an odd number of times,
        // tell sets of them apart. Nodes and letters know their places themselves; only the
        // order within a channel, and whether a letter is late, has to be added.
        state.nodes.iter().for_each(|node| add(node.twins(), 1));
        state.late.iter().for_each(|letter| add(letter.twins(), LATE));
        state.judge.timestamp.iter().for_each(|last| add(last.twins(), 1));
        let mut before: Option<(&Known<Letter>, u128)> = None;
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

    fn marks(&mut self, state: &State) -> Vec<&'static str> {
        let (all, left, judge) = (self.setting.budget, state.left, &state.judge);
        let leads = judge.claim.is_some();
        let serves =
            |n: usize, world: &mut Self| world.reactions.grant(&state.nodes[n], state.tick).0;
        let quarantined = !GRANTORS.into_iter().all(|n| serves(n, self));
        let rebooted = left.reboots < all.reboots || left.losses < all.losses;
        let marks = [
            (judge.elected > 0, "elected"),
            (judge.changed, "another elected"),
            (judge.changed && left.resigns < all.resigns, "another after a resignation"),
            (judge.changed && left.pauses < all.pauses, "another after a pause"),
            (judge.changed && left.rebirths < all.rebirths, "another after a rebirth"),
            (judge.elected > 1 && !judge.changed, "the same again"),
            (leads && left.crashes < all.crashes, "a leader after a crash"),
            (leads && quarantined, "a leader during a quarantine"),
            (leads && rebooted && !quarantined, "a leader after a quarantine"),
        ];
        marks.into_iter().filter(|(seen, _)| *seen).map(|(_, mark)| mark).collect()
    }

    fn describe(&mut self, state: &State, action: &Action) -> String {
        let tick = state.tick;
        let what = match action {
            Action::Deliver { late, nth, repeat } => {
                let letter = &if *late { &state.late } else { &state.prompt }[*nth];
                let (to, from) = (NAMES[letter.to], &letter.from.who.name);
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

/// How often a message of this kind may still be repeated.
fn repeats<'a>(left: &'a mut Budget, message: &Message) -> Option<&'a mut u8> {
    match message {
        Message::Request(_) => Some(&mut left.repeated_requests),
        Message::Release(_) => Some(&mut left.repeated_releases),
        _ => None,
    }
}

/// Behind what is on its way between the same two.
fn queue(letters: &mut Vec<Known<Letter>>, letter: Known<Letter>) {
    let at = letters.partition_point(|other| other.channel() <= letter.channel());
    letters.insert(at, letter);
}

fn insert(letters: &mut Vec<Known<Letter>>, letter: Known<Letter>) {
    let at = letters.partition_point(|other| other.print() < letter.print());
    letters.insert(at, letter);
}
