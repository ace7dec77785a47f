//! A run as shapes on one axis of true time: claims and grants, messages, faults. [`svg`] draws it.

pub mod svg;

/// A run, or the end of one, ready to be drawn. All times are true time in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    /// Title in one line.
    pub title: String,
    /// The nodes, from the top down.
    pub lanes: Vec<Lane>,
    pub spans: Vec<Span>,
    pub arrows: Vec<Arrow>,
    /// Events at one instant.
    pub marks: Vec<Mark>,
    /// The moment that must not have been, and what is wrong with it.
    pub violation: Option<(u64, String)>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    pub name: String,
    /// Role, for example `grantor` or `candidate`.
    pub role: String,
    /// How its clock runs, for example `1.1000 of true time`.
    pub clock: String,
}

/// Something on one node that lasted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    pub lane: usize,
    pub kind: SpanKind,
    /// The election, where it is about one.
    pub election: Option<String>,
    /// Holder with its life: a claim and the grants that back it have the same, and so the same
    /// colour.
    pub holder: Option<String>,
    pub from: u64,
    /// When it ended, or would have; [`u64::MAX`] if never. A lease that was extended is one span,
    /// not several that overlap.
    pub until: u64,
    pub label: String,
}

/// Kind of a [`Span`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanKind {
    /// A candidate claims to lead.
    Claim,
    /// A grantor has given its lease; the label names the holder.
    Grant,
    /// A grantor waits after a restart.
    Quarantine,
    /// The process does not run at all.
    Down,
    /// The process is stopped, and does not know.
    Paused,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    pub from: usize,
    pub sent: u64,
    pub to: usize,
    /// When it arrived; `None` if it was lost.
    pub arrived: Option<u64>,
    pub label: String,
}

/// Something on one node at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub lane: usize,
    pub at: u64,
    pub label: String,
}
