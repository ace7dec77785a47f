//! The state that the loop keeps for every protocol: core, campaigns and observers.

use std::collections::VecDeque;
use std::fmt;

use tenure_core::{Command, ElectionName, End, Event, Input, Loss, TransferFailure};

use super::backend::{Backend, WordsOf};
use super::campaigns::{Campaigns, LOG, Resign};
use super::subscriptions::Subscriptions;
use crate::error::TransferError;
use crate::request::Elected;
use crate::safety::SafetyClass;

/// The core, with the campaigns and observers of its handles. A [`Backend`] queues inputs for the
/// core here; the loop handles them in order, all with one sample of the clock.
pub struct Machine<B: Backend> {
    pub core: B::Core,
    pub campaigns: Campaigns<B::Class>,
    pub subscriptions: Subscriptions,
    inputs: VecDeque<Input<WordsOf<B>>>,
    /// Commands that follow from the effects being carried out. They come before all other inputs.
    owed: Vec<Input<WordsOf<B>>>,
}

impl<B: Backend> Machine<B> {
    pub(super) fn new(core: B::Core) -> Self {
        Self {
            core,
            campaigns: Campaigns::default(),
            subscriptions: Subscriptions::default(),
            inputs: VecDeque::new(),
            owed: Vec::new(),
        }
    }

    /// Queues an input for the core, behind earlier ones.
    pub fn input(&mut self, input: Input<WordsOf<B>>) {
        self.inputs.push_back(input);
    }

    /// Queues a command for the core, behind earlier inputs.
    pub fn command(&mut self, election: ElectionName, command: Command<B::Extra>) {
        self.input(Input::Command { election, command });
    }

    /// Handles an event of one election, of a kind that all protocols have.
    pub(super) fn on_event(
        &mut self,
        backend: &mut B,
        election: &ElectionName,
        event: Event<B::Own>,
    ) {
        let Self { campaigns, subscriptions, .. } = self;
        match event {
            Event::Elected { id, fence } => {
                let extra = backend.elected(election);
                let owed = match B::Class::fence(fence) {
                    Some(fence) => campaigns.elected(election, Elected { id, fence, extra }),
                    None => campaigns.mismatched(election),
                };
                self.owe(election.clone(), owed);
            }
            Event::Settled => campaigns.settled(election),
            Event::Waiting(waiting) => campaigns.waits(election, backend.explain(waiting)),
            Event::Ended(end) => {
                backend.ended(&end);
                match end {
                    End::Lost(loss) => campaigns.ended(election, loss),
                    End::Withdrawn => campaigns.ended(election, Loss::Resigned),
                    End::Refused { why } => campaigns.refused(election, why.to_string()),
                }
            }
            Event::Released => campaigns.released(election),
            Event::SuccessorWaits { .. } => campaigns.successor_waits(election),
            Event::TransferFailed { to, why } => match why {
                TransferFailure::NotWaiting => {
                    campaigns.transfer_failed(election, TransferError::NotWaiting { to });
                }
                TransferFailure::NotLeading => {
                    campaigns.transfer_failed(election, TransferError::NotLeading);
                }
                // The later hand-over has answered the earlier one already.
                TransferFailure::Replaced => {}
            },
            Event::View(view) => {
                subscriptions.see(election, *view);
                if let Some(every) = subscriptions.look_again(election) {
                    let election = election.clone();
                    let command = Command::Observe { every };
                    self.owed.push(Input::Command { election, command });
                }
            }
            Event::Gap => subscriptions.missed(election),
            Event::NotObserved { why } => {
                subscriptions.close(election);
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

    pub(super) fn owe_lapsed(&mut self, election: ElectionName, owed: Option<Resign>) {
        let lapsed = |Resign| Input::Command { election, command: B::lapsed() };
        self.owed.extend(owed.map(lapsed));
    }

    pub(super) fn next_input(&mut self) -> Option<Input<WordsOf<B>>> {
        self.owed.pop().or_else(|| self.inputs.pop_front())
    }
}

impl<B: Backend> fmt::Debug for Machine<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("campaigns", &self.campaigns).finish_non_exhaustive()
    }
}
