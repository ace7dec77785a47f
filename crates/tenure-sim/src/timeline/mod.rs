//! A run as shapes on one axis of true time: claims and grants, messages, faults. [`svg`] draws it.

pub mod svg;

/// A run, or its end, ready to be drawn. All times are true time in nanoseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timeline {
    pub title: String,
    /// Nodes from the top down.
    pub lanes: Vec<Lane>,
    pub spans: Vec<Span>,
    pub arrows: Vec<Arrow>,
    pub marks: Vec<Mark>,
    /// Time and description of the violation.
    pub violation: Option<(u64, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    pub name: String,
    pub role: String,
    /// Rate of its clock, for example `1.1000 of true time`.
    pub clock: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    pub lane: usize,
    pub kind: SpanKind,
    /// Election, if the span has one.
    pub election: Option<String>,
    /// Holder with its life. A claim and its grants have the same holder, and so the same colour.
    pub holder: Option<String>,
    pub from: u64,
    /// End of the span; [`u64::MAX`] if never. An extended lease is one span, not several that
    /// overlap.
    pub until: u64,
    pub label: String,
}

/// Kind of a [`Span`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanKind {
    /// A candidate claims to lead.
    Claim,
    /// A grantor's lease; the label names the holder.
    Grant,
    /// A grantor waits after a restart.
    Quarantine,
    /// The process does not run.
    Down,
    /// The process is stopped, and does not know it.
    Paused,
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    pub from: usize,
    pub sent: u64,
    pub to: usize,
    /// Arrival; `None` if the message was lost.
    pub arrived: Option<u64>,
    pub label: String,
}

/// An event of one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub lane: usize,
    pub at: u64,
    pub label: String,
}
