//! What of a timeline is drawn: all of it, or what matters most and a sample of the rest.

use std::collections::BTreeMap;

use crate::timeline::{Arrow, Lane, Mark, Span, SpanKind, Timeline};

/// More messages than this are a grey cloud.
const MOST_ARROWS: usize = 240;
/// More marks than this hide each other.
const MOST_MARKS: usize = 240;
/// More spans than this are lines, not bars.
const MOST_SPANS: usize = 400;

/// The parts of a timeline that can be drawn, and what to say about the others.
pub(super) struct Shown<'a> {
    pub(super) lanes: &'a [Lane],
    pub(super) spans: Vec<&'a Span>,
    pub(super) arrows: Vec<&'a Arrow>,
    pub(super) marks: Vec<&'a Mark>,
    pub(super) violation: Option<(u64, &'a str)>,
    /// What is missing, one sentence each.
    pub(super) notes: Vec<String>,
    /// The holders in the order in which they began to lead, then of those who never did.
    pub(super) holders: Vec<&'a str>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(timeline: &'a Timeline) -> Self {
        let lanes = timeline.lanes.as_slice();
        let violation = timeline.violation.as_ref().map(|(at, what)| (*at, what.as_str()));
        let ends = timeline.arrows.iter().map(|arrow| arrow.arrived.unwrap_or(arrow.sent));
        let last = ends.chain(timeline.marks.iter().map(|mark| mark.at)).max().unwrap_or(0);
        let focus = violation.map_or(last, |(at, _)| at);

        let mut notes = Vec::new();
        let spans = of_lanes(&timeline.spans, |span| span.lane < lanes.len(), &mut notes);
        let arrows = of_lanes(
            &timeline.arrows,
            |arrow| arrow.from < lanes.len() && arrow.to < lanes.len(),
            &mut notes,
        );
        let marks = of_lanes(&timeline.marks, |mark| mark.lane < lanes.len(), &mut notes);
        let spans = thin(spans, MOST_SPANS, "spans", &mut notes, |span| {
            let near = span.from.abs_diff(focus).min(span.until.abs_diff(focus));
            (span.kind != SpanKind::Claim, near)
        });
        let arrows = thin(arrows, MOST_ARROWS, "messages", &mut notes, |arrow| {
            arrow.sent.abs_diff(focus).min(arrow.arrived.unwrap_or(arrow.sent).abs_diff(focus))
        });
        let marks = thin(marks, MOST_MARKS, "events", &mut notes, |mark| {
            (!mark.fault, mark.at.abs_diff(focus))
        });
        let holders = holders(&spans);
        Self { lanes, spans, arrows, marks, violation, notes, holders }
    }

    /// Every instant at which something drawn begins, ends or happens.
    pub(super) fn instants(&self) -> Vec<u64> {
        let mut instants: Vec<u64> = self.violation.iter().map(|(at, _)| *at).collect();
        for span in &self.spans {
            instants.push(span.from);
            instants.extend((span.until != u64::MAX).then_some(span.until));
        }
        for arrow in &self.arrows {
            instants.push(arrow.sent);
            instants.extend(arrow.arrived);
        }
        instants.extend(self.marks.iter().map(|mark| mark.at));
        instants
    }

    /// Claims of one election that overlap, by two holders.
    pub(super) fn conflicts(&self) -> Vec<(&'a Span, &'a Span)> {
        let mut claims: Vec<&Span> =
            self.spans.iter().copied().filter(|span| span.kind == SpanKind::Claim).collect();
        claims.sort_by_key(|claim| claim.from);
        let mut found = Vec::new();
        for (i, a) in claims.iter().copied().enumerate() {
            let during = claims[i + 1..].iter().copied().take_while(|b| b.from < a.until);
            let other = |b: &&Span| (a.lane, &a.holder) != (b.lane, &b.holder);
            let overlaps = |b: &&Span| a.election == b.election && b.from < b.until;
            found.extend(during.filter(other).filter(overlaps).map(|b| (a, b)));
        }
        found
    }

    /// Whether rows have to say which election they are about.
    pub(super) fn several_elections(&self) -> bool {
        let mut elections = self.spans.iter().filter_map(|span| span.election.as_deref());
        let first = elections.next();
        elections.any(|other| Some(other) != first)
    }
}

fn of_lanes<'a, T>(
    all: &'a [T],
    has_lane: impl Fn(&T) -> bool,
    notes: &mut Vec<String>,
) -> Vec<&'a T> {
    let kept: Vec<&T> = all.iter().filter(|one| has_lane(one)).collect();
    let lost = all.len() - kept.len();
    if lost > 0 {
        notes.push(format!("{lost} not drawn: of a lane that is not in the timeline"));
    }
    kept
}

/// At most `most`: half of them those with the lowest rank, the others spread over the rest.
fn thin<'a, T, R: Ord>(
    all: Vec<&'a T>,
    most: usize,
    what: &str,
    notes: &mut Vec<String>,
    rank: impl Fn(&T) -> R,
) -> Vec<&'a T> {
    if all.len() <= most {
        return all;
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|i| (rank(all[*i]), *i));
    let mut rest = order.split_off(most / 2);
    rest.sort_unstable();
    let sample = most - most / 2;
    order.extend((0..sample).map(|i| rest[i * rest.len() / sample]));
    order.sort_unstable();
    let total = all.len();
    notes.push(format!(
        "{most} of {total} {what} are drawn: the nearest to the violation or the end, \
         and a sample of the others"
    ));
    order.into_iter().map(|i| all[i]).collect()
}

fn holders<'a>(spans: &[&'a Span]) -> Vec<&'a str> {
    let mut first: BTreeMap<&str, (bool, u64, usize)> = BTreeMap::new();
    for span in spans {
        if let Some(holder) = span.holder.as_deref() {
            let seen = (span.kind != SpanKind::Claim, span.from, span.lane);
            let known = first.entry(holder).or_insert(seen);
            *known = seen.min(*known);
        }
    }
    let mut holders: Vec<&str> = first.keys().copied().collect();
    holders.sort_by_key(|holder| (first[holder], *holder));
    holders
}
