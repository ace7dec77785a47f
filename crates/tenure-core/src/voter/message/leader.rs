//! A leader, as a voter tells others of it.

use core::time::Duration;

use crate::name::Value;
use crate::voter::identity::{Leadership, VoterUrl};

/// A leader, and how long it leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LeaderDto {
    /// Which leadership. Its counter is the fence.
    pub leadership: Leadership,
    /// `voterUrl`.
    pub url: VoterUrl,
    /// `value`.
    pub value: Value,
    /// How much longer it leads at least, by the clock of the one that says so, unless it gives
    /// up; `None`: not known, or `available`.
    pub remaining: Option<Duration>,
}
