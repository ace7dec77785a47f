//! Where each lane lies, and what is in which of its rows.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::marks::{self, Flag};
use super::shown::Shown;
use crate::timeline::{Lane, Span, SpanKind};

/// Room between the frame of a lane and its rows.
const PAD: f64 = 5.0;
/// Under one row, before the next.
const SPACE: f64 = 3.0;
/// Name, role and clock need this much.
const LEAST_HEIGHT: f64 = 56.0;
/// Spans of one kind and election that overlap take this many rows at most.
const MOST_ROWS: usize = 4;
/// The height of a row of marks.
pub(super) const MARK_HEIGHT: f64 = 15.0;

/// One node, laid out.
pub(super) struct LaneBox<'a> {
    pub(super) lane: &'a Lane,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) rows: Vec<Row<'a>>,
    /// Its marks, and where their rows begin.
    pub(super) flags: Vec<Flag<'a>>,
    pub(super) flags_top: f64,
}

/// Spans of one kind about one election that do not overlap.
pub(super) struct Row<'a> {
    pub(super) kind: RowKind,
    pub(super) election: Option<&'a str>,
    /// Whether it is the first of its kind and election, which is where that is said.
    pub(super) first: bool,
    pub(super) top: f64,
    pub(super) spans: Vec<&'a Span>,
}

/// From the top of a lane down.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowKind {
    /// The captions of what fills the whole lane: down, paused, quarantine.
    State,
    Claims,
    Grants,
}

impl RowKind {
    pub(super) fn of(kind: SpanKind) -> Self {
        match kind {
            SpanKind::Claim => Self::Claims,
            SpanKind::Grant => Self::Grants,
            SpanKind::Quarantine | SpanKind::Down | SpanKind::Paused => Self::State,
        }
    }

    pub(super) fn height(self) -> f64 {
        match self {
            Self::State => 13.0,
            Self::Claims => 21.0,
            Self::Grants => 16.0,
        }
    }
}

/// The lanes from `top` down, with room for the arrows between them.
pub(super) fn place<'a>(shown: &Shown<'a>, axis: &Axis, top: f64, right: f64) -> Vec<LaneBox<'a>> {
    let mut y = top;
    let mut placed = Vec::new();
    for (index, lane) in shown.lanes.iter().enumerate() {
        let mut rows = rows(shown.spans.iter().copied().filter(|span| span.lane == index));
        let top = y;
        y += PAD;
        for row in &mut rows {
            row.top = y;
            y += row.kind.height() + SPACE;
        }
        let marks = shown.marks.iter().copied().filter(|mark| mark.lane == index);
        let (flags, flag_rows) = marks::place(marks, shown.violation, axis, right);
        let flags_top = y;
        y += flag_rows as f64 * MARK_HEIGHT + PAD - SPACE;
        y = y.max(top + LEAST_HEIGHT);
        placed.push(LaneBox { lane, top, bottom: y, rows, flags, flags_top });
        y += gap_below(shown, index);
    }
    placed
}

/// More messages need more room for what they say.
fn gap_below(shown: &Shown<'_>, index: usize) -> f64 {
    let passes = |from: usize, to: usize| from.min(to) <= index && index < from.max(to);
    let passing = shown.arrows.iter().filter(|arrow| passes(arrow.from, arrow.to)).count();
    let own = shown.arrows.iter().any(|arrow| arrow.from == index && arrow.to == index);
    let last = index + 1 == shown.lanes.len();
    match (passing, own) {
        (0, true) => 24.0,
        (0, false) if last => 0.0,
        (0, false) => 14.0,
        (many, _) => 48.0 + many.min(40) as f64,
    }
}

fn rows<'a>(spans: impl Iterator<Item = &'a Span>) -> Vec<Row<'a>> {
    let mut groups: BTreeMap<(RowKind, Option<&str>), Vec<&Span>> = BTreeMap::new();
    for span in spans {
        let kind = RowKind::of(span.kind);
        let election = if kind == RowKind::State { None } else { span.election.as_deref() };
        groups.entry((kind, election)).or_default().push(span);
    }
    let mut rows = Vec::new();
    for ((kind, election), mut spans) in groups {
        spans.sort_by_key(|span| (span.from, span.until));
        let mut packed: Vec<Vec<&Span>> = Vec::new();
        for span in spans {
            let is_free = |row: &Vec<&Span>| row.iter().all(|other| other.until <= span.from);
            match packed.iter().position(is_free) {
                Some(free) => packed[free].push(span),
                None if packed.len() == MOST_ROWS => packed[MOST_ROWS - 1].push(span),
                None => packed.push(vec![span]),
            }
        }
        rows.extend(packed.into_iter().enumerate().map(|(i, spans)| Row {
            kind,
            election,
            first: i == 0,
            top: 0.0,
            spans,
        }));
    }
    rows
}
