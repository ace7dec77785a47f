//! The words of answers: JSON, with spans in milliseconds, rounded down. `tenure observe --json`
//! prints the same words.

use std::time::Duration;

use serde::Serialize;
use tenure::{Fence, LeaderView, Time, View};
use utoipa::ToSchema;

/// A span in whole milliseconds, rounded down.
#[must_use]
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The most bytes of a value in an answer. A store accepts values of any length.
const VALUE_MAX: usize = 256;

/// The whole characters in the first bytes of a text.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The state of an election, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Leader,
    /// The election certainly has no leader.
    Vacant,
    #[default]
    Unknown,
}

impl State {
    pub(crate) const ALL: [Self; 3] = [Self::Leader, Self::Vacant, Self::Unknown];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Vacant => "vacant",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) const fn of(view: &View) -> Self {
        match view {
            View::Leader(LeaderView { leaving: Some(_), .. }) | View::Vacant => Self::Vacant,
            View::Leader(_) | View::Leaders { .. } => Self::Leader,
            View::Unknown { .. } => Self::Unknown,
        }
    }
}

/// A leader. A field is absent if the protocol has nothing for the field.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Leader {
    /// The name of the leader for others.
    pub id: String,
    /// The text that the leader shows, such as its address; absent where the process only lists the
    /// election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The length of the whole value in bytes, where `value` is only its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<usize>,
    /// The number that grows with every leadership; null where leaders have none.
    pub fence: Option<u64>,
    /// The rest of the lease, unless the leader renews it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<String>,
    /// The time since the last message from the leader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_ms: Option<u64>,
}

impl Leader {
    /// The words for a leader, with at most `most` bytes of its value.
    fn of(leader: &LeaderView, now: Time, most: usize) -> Self {
        let whole = leader.value.text();
        let value = beginning(&whole, most);
        Self {
            id: leader.id.to_string(),
            value: Some(value.to_owned()),
            value_bytes: (value != whole).then_some(leader.value.as_bytes().len()),
            fence: leader.fence.map(Fence::number),
            remaining_ms: leader.until.map(|until| millis(until.since(now))),
            address: leader.address.map(|address| address.to_string()),
            incarnation: leader.incarnation.map(|incarnation| format!("{incarnation:032x}")),
            heard_ms: leader.heard.map(|heard| millis(now.since(heard))),
        }
    }
}

/// A state of an election at one instant; by default unknown.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
pub struct ViewWords {
    pub state: State,
    #[serde(flatten)]
    pub leader: Option<Leader>,
    /// Further leaders, where leaders may overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Leader>,
    /// The rest of a promise that no other process leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// For how long the leader has been unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Why no leader is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ViewWords {
    /// The words for a view at `now`.
    #[must_use]
    pub fn of(view: &View, now: Time) -> Self {
        Self::within(view, now, usize::MAX)
    }

    /// The words for a view at `now`, with the beginnings of long values.
    pub(crate) fn brief(view: &View, now: Time) -> Self {
        Self::within(view, now, VALUE_MAX)
    }

    fn within(view: &View, now: Time, most: usize) -> Self {
        let words = Self { state: State::of(view), ..Self::default() };
        match view {
            View::Leader(LeaderView { id, leaving: Some(leaving), .. }) => {
                let why = format!(
                    "{id} has stepped down, and promised that nobody else leads for a while"
                );
                Self { why: Some(why), held_ms: Some(millis(leaving.since(now))), ..words }
            }
            View::Leader(leader) | View::Leaders { followed: leader, .. } => {
                let others = view.others().iter().map(|other| Leader::of(other, now, most));
                let others = others.collect();
                Self { leader: Some(Leader::of(leader, now, most)), others, ..words }
            }
            View::Vacant => words,
            View::Unknown { since } => Self { for_ms: Some(millis(now.since(*since))), ..words },
        }
    }
}

/// An election, as this process sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Election {
    pub election: String,
    pub protocol: String,
    #[serde(flatten)]
    pub view: ViewWords,
    /// The age of the oldest fact in this answer; null while the state is unknown.
    pub age_ms: Option<u64>,
    /// For how long this process has seen this state.
    pub since_ms: u64,
    /// The candidate of this process, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub here: Option<Here>,
    /// The latest changes, newest first; only in the answer for one election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<History>>,
}

/// The state of the candidate of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HereState {
    Idle,
    Campaigning,
    Leading,
    /// The process leads until its work, which is being stopped, has ended.
    Stopping,
    Resigned,
    Lost,
}

/// The candidate of this process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Here {
    pub state: HereState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_ms: Option<u64>,
    /// Leaderships of this process since its start.
    pub terms: u64,
    /// Renewals in all these leaderships.
    pub renewals: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Why the lease is not renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overdue: Option<String>,
    /// Why the last leadership ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Why a candidate waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Waits {
    /// The kind of the reason: lower-case letters and hyphens.
    pub reason: String,
    pub text: String,
    pub for_ms: u64,
}

/// A change that this process has seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct History {
    /// The time of the change by the wall clock of this process.
    pub time: String,
    pub ago_ms: u64,
    pub kind: String,
    pub text: String,
}

/// A change of view without its spans: "leader b (10.0.0.7:80), fence 7".
pub(crate) fn change(view: &View) -> String {
    let one = |leader: &LeaderView| {
        let mut text = format!("leader {}", leader.id);
        if !leader.value.as_bytes().is_empty() && leader.value.as_bytes() != leader.id.as_bytes() {
            text += &format!(" ({})", beginning(&leader.value.to_string(), VALUE_MAX));
        }
        if let Some(fence) = leader.fence {
            text += &format!(", fence {fence}");
        }
        text
    };
    match view {
        View::Leader(LeaderView { id, leaving: Some(_), .. }) => {
            format!("vacant: {id} has stepped down")
        }
        View::Leader(leader) => one(leader),
        View::Leaders { followed, others } => {
            let others: Vec<_> = others.iter().map(one).collect();
            format!("{}; also {}", one(followed), others.join(", "))
        }
        View::Vacant => "vacant".to_owned(),
        View::Unknown { .. } => "unknown".to_owned(),
    }
}
