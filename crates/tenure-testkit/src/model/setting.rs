//! Bounds of an exploration.

use std::ops::Range;
use std::time::Duration;

use super::{Cluster, Rate};

/// The most nodes that campaign.
const CANDIDATES_MAX: usize = 3;

/// How often each thing may happen on one way through the states. Everything not counted here
/// may happen in any order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Budget<T> {
    /// Messages and timers that are not handled within the tick in which they could be. A
    /// message that is late arrives at any later time, or never: loss is included.
    pub late: u8,
    /// Troubles, that is everything below but campaigns, that come while messages of the same
    /// tick are on their way.
    pub hasty: u8,
    /// Campaigns of each candidate, in their order.
    pub campaigns: [u8; CANDIDATES_MAX],
    /// Resignations of leaders.
    pub resigns: u8,
    /// Campaigns that are withdrawn before they are won.
    pub withdrawals: u8,
    /// Candidates that stop, and go on later or never.
    pub pauses: u8,
    /// Troubles of the protocol.
    pub own: T,
}

impl<T> Budget<T> {
    /// Nothing happens at all but troubles of the protocol.
    pub const fn none(own: T) -> Self {
        let campaigns = [0; CANDIDATES_MAX];
        Self { late: 0, hasty: 0, campaigns, resigns: 0, withdrawals: 0, pauses: 0, own }
    }
}

/// Setting of an exploration.
#[derive(Clone, Debug)]
pub struct Setting<C: Cluster> {
    /// For people.
    pub name: &'static str,
    /// True time from one instant to the next.
    pub tick: Duration,
    pub horizon: u8,
    /// How fast the clock of each node is.
    pub rates: &'static [Rate],
    pub candidates: Range<usize>,
    /// Nodes that may change places, because nothing but their names tells them apart.
    pub alike: Range<usize>,
    pub budget: Budget<C::Troubles>,
    /// Marks without which the exploration proves nothing.
    pub must_show: &'static [&'static str],
    pub own: C::Settings,
}
