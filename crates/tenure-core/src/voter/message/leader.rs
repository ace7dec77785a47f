//! A leader, as a voter names it to others.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::Value;
use crate::voter::identity::{Leadership, VoterUrl};
use crate::voter::json::nanos_if_any;

/// A leader, and the rest of its lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LeaderDto {
    /// The leadership. Its counter is the fence.
    pub leadership: Leadership,
    #[serde(rename = "voterUrl")]
    pub url: VoterUrl,
    pub value: Value,
    /// The time for which the leader certainly leads unless it gives up, by the sender's clock;
    /// `None` if unknown, or in mode `available`.
    #[serde(default, rename = "remainingNs", with = "nanos_if_any")]
    pub remaining: Option<Duration>,
}
