//! Facts that every protocol has.

use tenure_core::{End, Fence, Standing, Time, View};

use super::Scenario;

/// A claim that is raised, renewals included.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub node: usize,
    pub life: u128,
    pub election: usize,
    /// Its fence, where the protocol can order leaders.
    pub fence: Option<Fence>,
    /// How many campaigns and leaderships of this life ended before.
    pub term: u64,
    /// When the claim ends.
    pub until: u64,
    /// The same on the clock of its node.
    pub ends: Time,
    /// When that was decided: its process may have stopped before it did so.
    pub decided: u64,
}

/// A fact that a check may judge. Elections and nodes go by their numbers; times that are `u64` are
/// true time. `Own` has the facts of one protocol.
#[derive(Debug)]
pub enum Fact<'a, S: Scenario> {
    /// A life began.
    Started { node: usize, life: u128 },
    /// A life ended.
    Crashed { node: usize },
    /// An application asks to lead.
    Campaigns { node: usize, election: usize },
    /// An application begins to follow who leads, or stops it.
    Observes { node: usize, election: usize, begins: bool },
    /// A claim is raised.
    Claimed(Claim),
    /// A claim is lowered.
    Lowered { node: usize, election: usize },
    /// A leadership is announced.
    Elected {
        node: usize,
        election: usize,
        /// Name of the leader for others.
        id: &'a str,
        /// When that was decided: its process may have stopped before it said so.
        decided: u64,
    },
    /// A leadership has a lease of full length.
    Settled { node: usize, election: usize },
    /// Others know that it is over.
    Released { node: usize, election: usize },
    /// A leadership or a campaign is over.
    Ended {
        node: usize,
        election: usize,
        end: &'a End,
        /// When that was decided.
        decided: u64,
    },
    /// An application asks its handle and its core whether it leads.
    Asked {
        node: usize,
        election: usize,
        /// Answer of the handle.
        handle: Standing,
        /// Answer of the core.
        standing: Standing,
    },
    /// An observer sees something else than before.
    Viewed {
        node: usize,
        election: usize,
        view: &'a View,
        /// When what it sees ends, if it is a leader of which that is told.
        until: u64,
        /// When it looked: its process may have stopped before it said so.
        looked: u64,
    },
    /// An input was handled by a process.
    Handled {
        node: usize,
        core: &'a S::Core,
        /// Instant on the clock of the node, if the input was a timer.
        timer: Option<Time>,
    },
    /// A moment has passed in which nothing may go wrong any more.
    Moment,
    /// A fact that only this protocol has.
    Own(S::Fact<'a>),
}

impl<S: Scenario> Clone for Fact<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scenario> Copy for Fact<'_, S> {}
