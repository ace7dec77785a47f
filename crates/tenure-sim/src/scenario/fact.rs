//! Facts that every protocol has.

use tenure_core::{End, Fence, Standing, Time, View, WallTime};

use super::Scenario;

/// A raised claim, renewals included.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub node: usize,
    pub life: u128,
    pub election: usize,
    /// Fence, if the protocol orders leaders.
    pub fence: Option<Fence>,
    /// Number of ended campaigns and leaderships of this life.
    pub term: u64,
    /// End of the claim, in true time.
    pub until: u64,
    /// End of the claim, on the clock of its node.
    pub ends: Time,
    /// End of the claim by the node's clock without the wall clock, in true time.
    pub alone: u64,
    /// End of the claim on the wall clock of its node, if the claim has such an end.
    pub wall: Option<WallTime>,
    /// Time of the decision; the process may have stopped in the meantime.
    pub decided: u64,
}

/// A fact for checks. Elections and nodes have numbers; times of type `u64` are true time. `Own`
/// has the facts of one protocol.
#[derive(Debug)]
pub enum Fact<'a, S: Scenario> {
    /// A life began.
    Started { node: usize, life: u128 },
    /// A life ended.
    Crashed { node: usize },
    /// An application asks to lead.
    Campaigns { node: usize, election: usize },
    /// An application begins or ends an observation.
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
        /// Time of the decision; the process may have stopped in the meantime.
        decided: u64,
        /// The same, on the clock of the node.
        read: Time,
    },
    /// A leadership has a lease of full length.
    Settled { node: usize, election: usize },
    /// Others know the end of the leadership.
    Released { node: usize, election: usize },
    /// A leadership or a campaign is over.
    Ended {
        node: usize,
        election: usize,
        end: &'a End,
        /// Time of the decision.
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
    /// An observer's view changes.
    Viewed {
        node: usize,
        election: usize,
        view: &'a View,
        /// End of the viewed leadership, if it is known.
        until: u64,
        /// Time at which the view was read; the process may have stopped in the meantime.
        looked: u64,
    },
    /// A process has handled an input.
    Handled {
        node: usize,
        core: &'a S::Core,
        /// Instant on the clock of the node, if the input was a timer.
        timer: Option<Time>,
    },
    /// A moment without possible faults has passed.
    Moment,
    /// A fact of this protocol alone.
    Own(S::Fact<'a>),
}

impl<S: Scenario> Clone for Fact<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scenario> Copy for Fact<'_, S> {}
