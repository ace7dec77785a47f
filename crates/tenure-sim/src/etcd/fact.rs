//! What happened, in the words of the protocol.

use tenure_core::View;
use tenure_core::etcd::{Answer, Bytes, Etcd, LeaseId, Lost, Request};
use tenure_core::{Fence, Standing, Time};

use super::store::note::Note;

/// Something that a property may judge. Elections and nodes go by their numbers; times that are
/// `u64` are true time.
#[derive(Clone, Copy, Debug)]
pub enum Fact<'a> {
    /// A life began.
    Started {
        /// Which node.
        node: usize,
        /// Its life.
        life: u64,
    },
    /// A life ended.
    Crashed {
        /// Which node.
        node: usize,
    },
    /// An application begins to follow who leads, or stops it.
    Observes {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// Whether it begins.
        begins: bool,
    },
    /// A claim is raised.
    Claimed {
        /// Which node.
        node: usize,
        /// Its life.
        life: u64,
        /// Which election.
        election: usize,
        /// Its fence.
        fence: Fence,
        /// Its key.
        key: &'a Bytes,
        /// When the claim ends.
        until: u64,
        /// The same as its core says it, on the clock of its node.
        ends: Time,
        /// When that was decided: its process may have stopped before it did so.
        decided: u64,
    },
    /// A claim is lowered.
    Lowered {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
    },
    /// A leadership is announced.
    Elected {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// Its key.
        key: &'a Bytes,
        /// When that was decided.
        decided: u64,
    },
    /// A leadership or a campaign is over.
    Ended {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// What was lost; `None` if it was given up.
        lost: Option<Lost>,
        /// When that was decided.
        decided: u64,
    },
    /// A candidate says that it waits for somebody else's key to go.
    Waits {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// That key.
        behind: &'a Bytes,
    },
    /// The key of what has ended is told as gone.
    Released {
        /// Which node's.
        node: usize,
        /// In which election.
        election: usize,
        /// The key.
        key: &'a Bytes,
    },
    /// A process takes its lease for over.
    Closed {
        /// Which node.
        node: usize,
        /// The lease.
        lease: LeaseId,
        /// Why, if it was lost.
        lost: Option<Lost>,
    },
    /// An application asks its handle and its core whether it leads.
    Asked {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// What the handle says: the fence, while the clock is before the end of the claim.
        handle: Option<Fence>,
        /// What the core says.
        standing: Standing,
    },
    /// A request is sent.
    Sent {
        /// By which node.
        node: usize,
        /// Its life.
        life: u64,
        /// The request.
        request: &'a Request,
        /// What its clock shows.
        local: Time,
        /// What its clock showed when that was decided.
        decided: Time,
    },
    /// An answer arrives.
    Heard {
        /// At which node.
        node: usize,
        /// The answer.
        answer: &'a Answer,
        /// What its clock shows.
        local: Time,
    },
    /// A core did not wait for the answer that it was given last.
    Unasked {
        /// Which node's.
        node: usize,
    },
    /// An observer sees something else than before.
    Viewed {
        /// Which node.
        node: usize,
        /// Which election.
        election: usize,
        /// What it sees.
        view: &'a View,
        /// When it looked: its process may have stopped before it said so.
        looked: u64,
    },
    /// An input was handled by a core of ours.
    Handled {
        /// Which node.
        node: usize,
        /// Its core.
        core: &'a Etcd,
        /// What its clock showed, if it was a timer.
        timer: Option<Time>,
    },
    /// Something has become true in the store.
    Stored(&'a Note),
    /// A moment has passed.
    Moment,
}
