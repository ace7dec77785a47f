//! A leader, as a voter names it to others.

use core::time::Duration;

use crate::name::Value;
use crate::voter::identity::{Leadership, VoterUrl};

/// A leader, and the rest of its lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaderDto {
    /// The leadership. Its counter is the fence.
    pub leadership: Leadership,
    /// `voterUrl`.
    pub url: VoterUrl,
    /// `value`.
    pub value: Value,
    /// The time for which the leader certainly leads unless it gives up, by the sender's clock;
    /// `None` if unknown, or with `available`.
    pub remaining: Option<Duration>,
}
