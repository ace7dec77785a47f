//! A few cores, a network that loses, repeats and reorders messages, and every input of every core.

use std::time::Duration;

use tenure_core::{Effect, Input, Ticket, Time};

use super::subject::{Received, Subject, Words};
use crate::Rng;
use crate::handle;

/// How the clocks of a cluster advance.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clocks {
    Forward,
    /// The clocks never advance.
    Still(Time),
    /// The clocks approach the end of time.
    UpTo(Time),
}

pub(super) struct Cluster<S: Subject> {
    pub(super) cores: Vec<S::Core>,
    pub(super) times: Vec<Time>,
    network: Vec<(usize, Received<S>)>,
    flushes: Vec<(usize, Ticket)>,
    store: S::Store,
    clocks: Clocks,
    pub(super) rng: Rng,
}

/// A call of `handle`.
pub(super) struct Call<S: Subject> {
    pub(super) node: usize,
    pub(super) now: Time,
    pub(super) input: Input<Words<S>>,
    pub(super) before: S::Core,
    pub(super) effects: Vec<Effect<Words<S>>>,
}

impl<S: Subject> Cluster<S> {
    pub(super) fn new(seed: u64, clocks: Clocks) -> Self {
        let origin = |node| match clocks {
            Clocks::Forward => S::origin(node),
            Clocks::Still(at) | Clocks::UpTo(at) => at,
        };
        let mut cluster = Self {
            cores: (0..S::NODES).map(S::core).collect(),
            times: (0..S::NODES).map(origin).collect(),
            network: Vec::new(),
            flushes: Vec::new(),
            store: S::Store::default(),
            clocks,
            rng: Rng::new(seed),
        };
        for node in 0..S::NODES {
            cluster.hand(node, Input::Start(S::start(node)));
        }
        cluster
    }

    /// Gives one node its next input, and returns that input with the state before it.
    pub(super) fn step(&mut self) -> Call<S> {
        self.advance();
        let node = self.rng.within(0..S::NODES as u64) as usize;
        let input = match self.rng.within(0..20) {
            0..=8 | 16.. if !self.network.is_empty() => return self.deliver(),
            9 if !self.flushes.is_empty() => {
                let which = self.rng.within(0..self.flushes.len() as u64) as usize;
                let (node, ticket) = self.flushes.swap_remove(which);
                let failed = self.rng.once_in(5);
                let input =
                    if failed { Input::Failed(Some(ticket)) } else { Input::Flushed(ticket) };
                return self.hand(node, input);
            }
            10 => {
                let elections = S::elections();
                let which = self.rng.within(0..elections.len() as u64) as usize;
                let command = S::command(&mut self.rng);
                Input::Command { election: elections[which].clone(), command }
            }
            11 if self.rng.once_in(4) => Input::Failed(None),
            12 if self.rng.once_in(3) => {
                let (from, message) = S::hostile(&mut self.rng);
                Input::Message { from, message }
            }
            _ => Input::Timeout,
        };
        self.hand(node, input)
    }

    fn deliver(&mut self) -> Call<S> {
        let which = self.rng.within(0..self.network.len() as u64) as usize;
        let (to, (from, message)) = if self.rng.once_in(8) {
            self.network[which].clone()
        } else {
            self.network.swap_remove(which)
        };
        self.hand(to, Input::Message { from, message })
    }

    fn advance(&mut self) {
        let span = match self.rng.within(0..20) {
            0 if self.rng.once_in(8) => Duration::from_millis(self.rng.within(1..2_000)),
            0..=3 => Duration::from_millis(self.rng.within(1..10)),
            4..=12 => Duration::from_micros(self.rng.within(1..500)),
            _ => Duration::ZERO,
        };
        for now in &mut self.times {
            if !matches!(self.clocks, Clocks::Still(_)) {
                *now = now.after(span);
            }
        }
    }

    fn hand(&mut self, node: usize, input: Input<Words<S>>) -> Call<S> {
        let now = self.times[node];
        let core = &mut self.cores[node];
        let before = core.clone();
        let mut effects = Vec::new();
        handle(core, now, input.clone(), &mut effects);
        for effect in &effects {
            match effect {
                Effect::Send { to, message } => {
                    let sent = S::send(&mut self.store, node, to, message, &mut self.rng);
                    self.network.extend(sent);
                }
                Effect::Flush(ticket, _) => self.flushes.push((node, *ticket)),
                Effect::Raise { .. }
                | Effect::Bound { .. }
                | Effect::Lower { .. }
                | Effect::Persist(_)
                | Effect::Emit { .. } => {}
            }
        }
        if self.network.len() > 256 {
            self.network.drain(..128);
        }
        Call { node, now, input, before, effects }
    }
}
