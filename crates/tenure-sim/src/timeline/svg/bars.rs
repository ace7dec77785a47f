//! Claims and grants, and their labels.

use super::axis::Axis;
use super::canvas::{Canvas, Point, Rect, Type};
use super::lanes::{LaneBox, Row, RowKind};
use super::paint::{COLOURS, GREY, INK, backed, extent, span_title};
use super::shown::Shown;
use super::{PLOT_RIGHT, text};
use crate::timeline::{Span, SpanKind};

/// Between the end of a bar and its label, inside or out.
const INSET: f64 = 5.0;

/// The colour of whoever a span is about.
pub(super) fn colour(shown: &Shown<'_>, span: &Span) -> &'static str {
    let holder = span.holder.as_deref();
    let place = shown.holders.iter().position(|known| Some(*known) == holder);
    place.map_or(GREY, |place| COLOURS[place % COLOURS.len()])
}

pub(super) fn bars(canvas: &mut Canvas, shown: &Shown<'_>, lanes: &[LaneBox<'_>], axis: &Axis) {
    for row in lanes.iter().flat_map(|lane| &lane.rows) {
        for span in &row.spans {
            let (left, right) = extent(axis, span);
            let height = row.kind.height();
            let at = Rect { x: left, y: row.top, width: right - left, height };
            let hue = colour(shown, span);
            let style = match span.kind {
                SpanKind::Claim => format!(r#"fill="{hue}" rx="3""#),
                SpanKind::Grant => {
                    canvas.rect(at, r##"fill="#ffffff" rx="2""##);
                    format!(r#"fill="{hue}" fill-opacity="0.2" stroke="{hue}" rx="2""#)
                }
                SpanKind::Quarantine | SpanKind::Down | SpanKind::Paused => continue,
            };
            canvas.titled(&span_title(span), |canvas| canvas.rect(at, &style));
        }
    }
}

/// What the rows of all lanes say, clear of the cuts and of the upright red line.
pub(super) fn labels(
    canvas: &mut Canvas,
    shown: &Shown<'_>,
    lanes: &[LaneBox<'_>],
    axis: &Axis,
    red: Option<f64>,
) {
    let mut walls: Vec<(f64, f64)> = red.map(|x| (x - 3.0, x + 3.0)).into_iter().collect();
    let line = walls.clone();
    let torn = |x: f64| (x - 7.0, x + 7.0);
    walls.extend(axis.cuts().iter().map(|cut| torn(f64::midpoint(cut.left, cut.right))));
    walls.sort_by(|a, b| a.0.total_cmp(&b.0));
    for row in lanes.iter().flat_map(|lane| &lane.rows) {
        let mut free_from = 0.0;
        for (i, span) in row.spans.iter().enumerate() {
            let next = row.spans.get(i + 1).map_or(PLOT_RIGHT, |next| axis.x(next.from));
            let (left, right) = extent(axis, span);
            let extent = (left.max(free_from), right);
            let Some((x, inside, label)) = place(span, row, extent, next, &walls, &line) else {
                continue;
            };
            let (size, bold) = size(row.kind);
            free_from = x + text::width(&label, size, bold) + INSET;
            let fill = match span.kind {
                SpanKind::Claim if inside => "#ffffff",
                SpanKind::Claim | SpanKind::Grant => colour(shown, span),
                SpanKind::Quarantine | SpanKind::Down | SpanKind::Paused => INK,
            };
            let at = Point { x, y: row.top + row.kind.height() / 2.0 + size * 0.36 };
            let set = if bold { Type::new(size, fill).bold() } else { Type::new(size, fill) };
            canvas.titled(&span_title(span), |canvas| {
                if row.kind == RowKind::State || !inside {
                    let width = text::width(&label, size, bold) + 4.0;
                    let (y, height) = (row.top, row.kind.height());
                    backed(canvas, Rect { x: x - 2.0, y, width, height });
                }
                canvas.text(at, set, &label);
            });
        }
    }
}

fn size(kind: RowKind) -> (f64, bool) {
    match kind {
        RowKind::Claims => (12.0, true),
        RowKind::Grants => (10.5, false),
        RowKind::State => (10.0, false),
    }
}

/// Where the label of a span begins, whether that is inside of it, and as much of it as fits:
/// whole in the first clear piece that holds it, else whole behind the bar, else shortened.
fn place(
    span: &Span,
    row: &Row<'_>,
    (left, right): (f64, f64),
    next: f64,
    walls: &[(f64, f64)],
    line: &[(f64, f64)],
) -> Option<(f64, bool, String)> {
    let (size, bold) = size(row.kind);
    let label = text::one_line(&span.label);
    let width = text::width(&label, size, bold);
    let pieces = pieces(left, right.min(next), walls);
    let holds = |piece: &&(f64, f64)| piece.1 - piece.0 >= width + 2.0 * INSET;
    if let Some(piece) = pieces.iter().find(holds) {
        return Some((piece.0 + INSET, true, label));
    }
    let room = behind(right, next, line);
    if room >= width + 2.0 * INSET {
        return Some((right + INSET, false, label));
    }
    let widest = pieces.iter().copied().max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (from, until) = widest?;
    let label = text::fit(&label, until - from - 2.0 * INSET, size, bold)?;
    Some((from + INSET, true, label))
}

/// What is left of a stretch when the walls are taken out.
fn pieces(left: f64, right: f64, walls: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (mut from, mut pieces) = (left, Vec::new());
    for (a, b) in walls.iter().filter(|(a, b)| *b > left && *a < right) {
        pieces.push((from, *a));
        from = from.max(*b);
    }
    pieces.push((from, right));
    pieces.retain(|(from, until)| until > from);
    pieces
}

/// The room right behind a bar.
fn behind(right: f64, next: f64, walls: &[(f64, f64)]) -> f64 {
    let pieces = pieces(right, next, walls);
    pieces.first().filter(|piece| piece.0 <= right).map_or(0.0, |piece| piece.1 - piece.0)
}
