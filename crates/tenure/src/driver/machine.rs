//! What the loop keeps for every protocol: its core, its campaigns and its observers.

use std::collections::VecDeque;
use std::fmt;

use tenure_core::{Command, ElectionName, End, Event, Input, Loss, TransferFailure};

use super::LOG;
use super::backend::{Backend, WordsOf};
use super::boards::Boards;
use super::order::Elected;
use super::seats::{Resign, Seats};
use crate::error::TransferError;
use crate::kind::Kind;

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

    /// What the core tells of an election, as far as every protocol does.
    pub(super) fn on_event(
        &mut self,
        backend: &mut B,
        election: &ElectionName,
        event: Event<B::Own>,
    ) {
        let Self { seats, boards, .. } = self;
        match event {
            Event::Elected { id, fence } => {
                let extra = backend.elected(election);
                let owed = match B::Kind::fence(fence) {
                    Some(fence) => seats.elected(election, Elected { id, fence, extra }),
                    None => seats.mismatched(election),
                };
                self.owe(election.clone(), owed);
            }
            Event::Settled => seats.settled(election),
            Event::Waiting(waiting) => seats.waits(election, backend.explain(waiting)),
            Event::Ended(end) => {
                backend.ended(&end);
                match end {
                    End::Lost(loss) => seats.ended(election, loss),
                    End::Withdrawn => seats.ended(election, Loss::Resigned),
                    End::Refused { why } => seats.refused(election, why.to_string()),
                }
            }
            Event::Released => seats.released(election),
            Event::SuccessorWaits { .. } => seats.successor_waits(election),
            Event::TransferFailed { to, why } => match why {
                TransferFailure::NotWaiting => {
                    seats.transfer_failed(election, TransferError::NotWaiting { to });
                }
                TransferFailure::NotLeading => {
                    seats.transfer_failed(election, TransferError::NotLeading);
                }
                // That was told when the later one came.
                TransferFailure::Replaced => {}
            },
            Event::View(view) => {
                boards.see(election, view);
                if let Some(every) = boards.look_again(election) {
                    let (election, command) = (election.clone(), Command::Observe { every });
                    self.owed.push(Input::Command { election, command });
                }
            }
            Event::Gap => boards.missed(election),
            Event::NotObserved { why } => {
                boards.close(election);
                tracing::warn!(target: LOG, %election, "cannot be observed: {why}");
                backend.not_observed(election, &why);
            }
            Event::Own(own) => backend.on_event(Some(election.clone()), own, self),
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
