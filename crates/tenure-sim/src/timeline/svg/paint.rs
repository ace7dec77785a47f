//! Lanes, what lies across a whole lane, messages and marks.

use std::fmt::Write as _;

use super::arrows::{Course, LABEL_SIZE};
use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Point, Rect, Type};
use super::lanes::{LaneBox, MARK_HEIGHT, RowKind};
use super::marks::MARK_SIZE;
use super::shown::Shown;
use super::{MARGIN, PLOT_LEFT, PLOT_RIGHT, text, units};
use crate::timeline::{Arrow, Mark, Span, SpanKind};

pub(super) const INK: &str = "#1f2937";
pub(super) const GREY: &str = "#64748b";
pub(super) const RED: &str = "#dc2626";

/// A colour for each holder, none of them red and all apart for the colour-blind, then again
/// from the first.
pub(super) const COLOURS: [&str; 8] =
    ["#1d4ed8", "#b45309", "#0f766e", "#7e22ce", "#4d7c0f", "#0e7490", "#854d0e", "#334155"];

/// Fills and arrow heads; their names are prefixed, for pages that hold more than the picture.
pub(super) const PATTERNS: &str = r##"<defs>
<pattern id="tl-conflict" width="7" height="7" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)">
<rect width="7" height="7" fill="#dc2626" fill-opacity="0.10"/>
<rect width="2.6" height="7" fill="#dc2626" fill-opacity="0.75"/>
</pattern>
<pattern id="tl-quarantine" width="9" height="9" patternUnits="userSpaceOnUse"
 patternTransform="rotate(-45)">
<rect width="9" height="9" fill="#fef3c7"/>
<rect width="2.5" height="9" fill="#f0c14b"/>
</pattern>
<pattern id="tl-down" width="7" height="7" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)">
<rect width="7" height="7" fill="#d1d5db"/>
<rect width="2.5" height="7" fill="#9ca3af"/>
</pattern>
<pattern id="tl-paused" width="7" height="7" patternUnits="userSpaceOnUse">
<rect width="7" height="7" fill="#ffffff" fill-opacity="0.35"/>
<circle cx="3.5" cy="3.5" r="1.4" fill="#111827" fill-opacity="0.55"/>
</pattern>
<marker id="tl-head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7"
 markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.8 L8,4 L0,7.2 z" fill="#475569"/></marker>
</defs>
"##;

/// The frames of the lanes and what stands left of them.
pub(super) fn lanes(canvas: &mut Canvas, lanes: &[LaneBox<'_>], elections: bool) {
    for lane in lanes {
        let frame = Rect {
            x: MARGIN - 6.0,
            y: lane.top,
            width: PLOT_RIGHT - MARGIN + 6.0,
            height: lane.bottom - lane.top,
        };
        canvas.rect(frame, r##"fill="#f3f5f8" stroke="#d5dae1" rx="4""##);
        let room = PLOT_LEFT - MARGIN - 74.0;
        let lines = [
            (&lane.lane.name, Type::new(14.0, INK).bold()),
            (&lane.lane.role, Type::new(11.0, INK)),
            (&lane.lane.clock, Type::new(10.5, GREY)),
        ];
        let whole = format!("{}\n{}\n{}", lane.lane.name, lane.lane.role, lane.lane.clock);
        canvas.titled(&whole, |canvas| {
            for ((line, set), y) in lines.into_iter().zip([18.0, 33.0, 47.0]) {
                if let Some(line) = text::fit(line, room, set.size, set.bold) {
                    canvas.text(Point { x: MARGIN, y: lane.top + y }, set, &line);
                }
            }
        });
        captions(canvas, lane, elections);
    }
}

/// What each row is, at the edge of the plot.
fn captions(canvas: &mut Canvas, lane: &LaneBox<'_>, elections: bool) {
    for row in lane.rows.iter().filter(|row| row.first) {
        let kind = match row.kind {
            RowKind::State => continue,
            RowKind::Claims => "leads",
            RowKind::Grants => "grants",
        };
        let caption = match row.election.filter(|_| elections) {
            Some(election) => format!("{kind} {election}"),
            None => kind.to_owned(),
        };
        let at = Point { x: PLOT_LEFT - 6.0, y: row.top + row.kind.height() / 2.0 + 3.5 };
        if let Some(caption) = text::fit(&caption, 64.0, 10.0, false) {
            canvas.text(at, Type::new(10.0, GREY).anchor(Anchor::End), &caption);
        }
    }
}

/// Where a process is down, or waits in quarantine.
pub(super) fn bands(canvas: &mut Canvas, lanes: &[LaneBox<'_>], axis: &Axis) {
    for (span, at) in across(lanes, axis) {
        let fill = match span.kind {
            SpanKind::Quarantine => "url(#tl-quarantine)",
            SpanKind::Down => "url(#tl-down)",
            SpanKind::Paused | SpanKind::Claim | SpanKind::Grant => continue,
        };
        let title = span_title(span);
        canvas.titled(&title, |canvas| canvas.rect(at, &format!(r#"fill="{fill}""#)));
    }
}

/// Pauses lie over the bars: what is claimed goes on under them.
pub(super) fn pauses(canvas: &mut Canvas, lanes: &[LaneBox<'_>], axis: &Axis) {
    for (span, at) in across(lanes, axis).filter(|(span, _)| span.kind == SpanKind::Paused) {
        canvas.titled(&span_title(span), |canvas| {
            canvas.rect(at, r##"fill="url(#tl-paused)" stroke="#6b7280" stroke-dasharray="2 2""##);
        });
    }
}

fn across<'a>(
    lanes: &'a [LaneBox<'a>],
    axis: &'a Axis,
) -> impl Iterator<Item = (&'a Span, Rect)> + 'a {
    lanes.iter().flat_map(move |lane| {
        let states = lane.rows.iter().filter(|row| row.kind == RowKind::State);
        states.flat_map(|row| row.spans.iter().copied()).map(move |span| {
            let (left, right) = extent(axis, span);
            let (y, height) = (lane.top + 1.0, lane.bottom - lane.top - 2.0);
            (span, Rect { x: left, y, width: right - left, height })
        })
    })
}

/// From where to where a span is drawn: never so short that it cannot be seen, and to the edge
/// when it has no end.
pub(super) fn extent(axis: &Axis, span: &Span) -> (f64, f64) {
    let left = axis.x(span.from);
    let right = if span.until == u64::MAX { PLOT_RIGHT } else { axis.x(span.until) };
    (left, right.max(left + 2.0))
}

/// Where two claim the same election at once, from the one to the other.
pub(super) fn conflicts(
    canvas: &mut Canvas,
    shown: &Shown<'_>,
    lanes: &[LaneBox<'_>],
    axis: &Axis,
) {
    let middle = |span: &Span| {
        let rows = lanes[span.lane].rows.iter();
        let row = rows.into_iter().find(|row| row.spans.iter().any(|one| std::ptr::eq(*one, span)));
        row.map_or(0.0, |row| row.top + row.kind.height() / 2.0)
    };
    for (a, b) in shown.conflicts() {
        let (from, until) = (a.from.max(b.from), a.until.min(b.until));
        let left = axis.x(from);
        let right = if until == u64::MAX { PLOT_RIGHT } else { axis.x(until) };
        let (top, bottom) = (middle(a).min(middle(b)), middle(a).max(middle(b)));
        let at = Rect { x: left, y: top, width: (right - left).max(3.0), height: bottom - top };
        let length = units::exact(until - from);
        let title = format!("two claims at once for {length}: {} and {}", a.label, b.label);
        canvas.titled(&title, |canvas| {
            canvas.rect(at, r##"fill="url(#tl-conflict)" stroke="#dc2626" stroke-width="0.8""##);
        });
    }
}

/// The lines of all messages.
pub(super) fn courses(canvas: &mut Canvas, courses: &[Course<'_>]) {
    for course in courses {
        let (start, end) = (course.corners[0], course.corners[course.corners.len() - 1]);
        canvas.titled(&arrow_title(course.arrow), |canvas| {
            let reach = r##"stroke="#ffffff" stroke-opacity="0" stroke-width="7""##;
            canvas.polyline(&course.corners, reach);
            let dot =
                format_args!(r#"cx="{:.1}" cy="{:.1}" r="1.6" fill="{GREY}""#, start.x, start.y);
            canvas.element("circle", dot);
            if course.arrow.arrived.is_some() {
                let style = r##"stroke="#64748b" stroke-width="1.1" marker-end="url(#tl-head)""##;
                canvas.polyline(&course.corners, style);
            } else {
                let style = r##"stroke="#94a3b8" stroke-width="1.1" stroke-dasharray="4 2""##;
                canvas.polyline(&course.corners, style);
                cross(canvas, end);
            }
        });
    }
}

/// The end of a message that never arrives.
pub(super) fn cross(canvas: &mut Canvas, at: Point) {
    for side in [-1.0, 1.0] {
        let a = Point { x: at.x - 3.5, y: at.y - 3.5 * side };
        let b = Point { x: at.x + 3.5, y: at.y + 3.5 * side };
        canvas.line(a, b, r##"stroke="#111827" stroke-width="1.6""##);
    }
}

pub(super) fn course_labels(canvas: &mut Canvas, courses: &[Course<'_>]) {
    for course in courses {
        if let Some((at, label)) = &course.label {
            canvas.titled(&arrow_title(course.arrow), |canvas| {
                canvas.rect(*at, r##"fill="#ffffff" fill-opacity="0.8""##);
                let base = Point { x: at.x + 1.0, y: at.bottom() - 3.0 };
                canvas.text(base, Type::new(LABEL_SIZE, "#334155"), label);
            });
        }
    }
}

/// Marks and what they say.
pub(super) fn flags(canvas: &mut Canvas, lanes: &[LaneBox<'_>]) {
    for lane in lanes {
        for flag in &lane.flags {
            let y = lane.flags_top + flag.row as f64 * MARK_HEIGHT + MARK_HEIGHT / 2.0;
            let title = format!("{}\nat {}", flag.mark.label, units::exact(flag.mark.at));
            canvas.titled(&title, |canvas| {
                symbol(canvas, Point { x: flag.x, y }, flag.mark);
                if let Some((x, label)) = &flag.text {
                    let width = text::width(label, MARK_SIZE, false) + 2.0;
                    backed(canvas, Rect { x: *x - 1.0, y: y - 6.0, width, height: 13.0 });
                    let fill = if flag.mark.fault { "#9a3412" } else { INK };
                    let set = Type::new(MARK_SIZE, fill);
                    if *x < flag.x {
                        let end = Point { x: *x + width - 2.0, y: y + 3.5 };
                        canvas.text(end, set.anchor(Anchor::End), label);
                    } else {
                        canvas.text(Point { x: *x, y: y + 3.5 }, set, label);
                    }
                }
            });
        }
    }
}

/// What lies behind a text, so that lines may pass under it.
pub(super) fn backed(canvas: &mut Canvas, at: Rect) {
    canvas.rect(at, r##"fill="#f3f5f8" fill-opacity="0.88" rx="2""##);
}

fn symbol(canvas: &mut Canvas, at: Point, mark: &Mark) {
    if mark.fault { triangle(canvas, at) } else { dot(canvas, at) }
}

/// A fault.
pub(super) fn triangle(canvas: &mut Canvas, at: Point) {
    let corner = |dx: f64, dy: f64| Point { x: at.x + dx, y: at.y + dy };
    let corners = [corner(0.0, -4.5), corner(4.5, 3.8), corner(-4.5, 3.8)];
    canvas.polygon(&corners, r##"fill="#f59e0b" stroke="#9a3412""##);
}

/// Something that a node did.
pub(super) fn dot(canvas: &mut Canvas, at: Point) {
    let place = format_args!(r#"cx="{:.1}" cy="{:.1}" r="3.3" fill="{INK}""#, at.x, at.y);
    canvas.element("circle", place);
}

/// All about a span.
pub(super) fn span_title(span: &Span) -> String {
    let what = match span.kind {
        SpanKind::Claim => "leads",
        SpanKind::Grant => "grant",
        SpanKind::Quarantine => "quarantine",
        SpanKind::Down => "down",
        SpanKind::Paused => "paused",
    };
    let mut title = format!("{what}: {}", span.label);
    for (name, value) in [("election", &span.election), ("holder", &span.holder)] {
        if let Some(value) = value {
            let _ = write!(title, "\n{name} {value}");
        }
    }
    let until = match span.until {
        u64::MAX => "the end".to_owned(),
        until => units::exact(until),
    };
    let _ = write!(title, "\nfrom {} until {until}", units::exact(span.from));
    title
}

fn arrow_title(arrow: &Arrow) -> String {
    let sent = units::exact(arrow.sent);
    match arrow.arrived {
        Some(at) => {
            let took = units::exact(at.saturating_sub(arrow.sent));
            format!("{}\nsent {sent}, arrived {}: {took}", arrow.label, units::exact(at))
        }
        None => format!("{}\nsent {sent}, lost", arrow.label),
    }
}
