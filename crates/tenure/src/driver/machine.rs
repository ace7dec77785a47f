//! What the loop keeps for every protocol: its core, its campaigns and its observers.

use std::collections::VecDeque;
use std::fmt;

use tenure_core::{Command, ElectionName, Input};

use super::backend::{Backend, WordsOf};
use super::boards::Boards;
use super::order::Elected;
use super::seats::{Resign, Seats};
use crate::view::View;

/// The core, with the campaigns and observers of its handles. A [`Backend`] hands in what the core
/// must hear; the loop handles that in its order, each with the same sample of the clock.
pub struct Machine<B: Backend> {
    /// The protocol's state machine.
    pub core: B::Core,
    /// Its campaigns and leaderships.
    pub seats: Seats<B::Kind>,
    /// Its observers.
    pub boards: Boards,
    inputs: VecDeque<Input<WordsOf<B>>>,
    /// Commands that follow from the effects at hand: they come before all other inputs.
    owed: Vec<Input<WordsOf<B>>>,
}

impl<B: Backend> Machine<B> {
    pub(super) fn new(core: B::Core) -> Self {
        let (seats, boards) = (Seats::default(), Boards::default());
        Self { core, seats, boards, inputs: VecDeque::new(), owed: Vec::new() }
    }

    /// The core hears this after what was handed in before.
    pub fn input(&mut self, input: Input<WordsOf<B>>) {
        self.inputs.push_back(input);
    }

    /// The core is told so after what was handed in before.
    pub fn command(&mut self, election: ElectionName, command: Command<B::Extra>) {
        self.input(Input::Command { election, command });
    }

    /// A campaign was won; its claim was raised just before.
    pub fn elected(&mut self, election: ElectionName, elected: Elected<B::Kind>) {
        let owed = self.seats.elected(&election, elected);
        self.owe(election, owed);
    }

    /// The core sees this.
    pub fn see(&mut self, election: ElectionName, view: View) {
        self.boards.see(&election, view);
        self.look_again(election);
    }

    /// The core sees this, and may have missed anything since what it saw before.
    pub fn see_after_gap(&mut self, election: ElectionName, view: View) {
        self.boards.see_after_gap(&election, view);
        self.look_again(election);
    }

    fn look_again(&mut self, election: ElectionName) {
        if let Some(every) = self.boards.look_again(&election) {
            self.owed.push(Input::Command { election, command: Command::Observe { every } });
        }
    }

    pub(super) fn owe(&mut self, election: ElectionName, owed: Option<Resign>) {
        let resign = |Resign| Input::Command { election, command: Command::Resign };
        self.owed.extend(owed.map(resign));
    }

    /// What the core hears next.
    pub(super) fn next_input(&mut self) -> Option<Input<WordsOf<B>>> {
        self.owed.pop().or_else(|| self.inputs.pop_front())
    }
}

impl<B: Backend> fmt::Debug for Machine<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("seats", &self.seats).finish_non_exhaustive()
    }
}
