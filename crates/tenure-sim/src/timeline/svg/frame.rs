//! What stands around the lanes: title, axis, cuts, the violated moment, the legend.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Point, Rect, Type};
use super::paint::{self, COLOURS, GREY, INK, RED};
use super::shown::Shown;
use super::{MARGIN, PLOT_LEFT, PLOT_RIGHT, WIDTH, text, units};
use crate::timeline::SpanKind;

const TITLE: Type = Type::new(17.0, INK).bold();
const NOTE: Type = Type::new(11.5, "#9a3412");
const BOX_HEAD: Type = Type::new(13.0, "#991b1b").bold();
const BOX_TEXT: Type = Type::new(12.5, "#7f1d1d");
const BOX_LINE: f64 = 17.0;
const BOX_WIDTH: f64 = 560.0;
const MOST_LINES: usize = 6;
/// The labels of the ticks, and above them what was cut out.
const AXIS_HEIGHT: f64 = 40.0;
const AXIS_SIZE: f64 = 11.0;
/// Holders explained in the legend.
const MOST_HOLDERS: usize = 16;

/// Everything above the lanes.
pub(super) struct Head<'a> {
    title: Option<String>,
    notes: &'a [String],
    violation: Option<Violation<'a>>,
    /// Where the lanes begin.
    pub(super) bottom: f64,
}

struct Violation<'a> {
    at: Rect,
    head: String,
    lines: Vec<String>,
    whole: &'a str,
}

impl<'a> Head<'a> {
    pub(super) fn new(title: &str, shown: &'a Shown<'_>, axis: &Axis) -> Self {
        let title = text::fit(title, WIDTH - 2.0 * MARGIN, TITLE.size, true);
        let y = 38.0 + shown.notes.len() as f64 * 16.0;
        let violation = shown.violation.map(|(at, whole)| {
            let lines = text::wrap(whole, BOX_WIDTH - 24.0, BOX_TEXT.size, MOST_LINES);
            let head = format!("violated at {}", units::exact(at));
            let widest = lines
                .iter()
                .map(|line| text::width(line, BOX_TEXT.size, false))
                .fold(text::width(&head, BOX_HEAD.size, true), f64::max);
            let width = widest + 24.0;
            let left = (axis.x(at) - width / 2.0).clamp(MARGIN, WIDTH - MARGIN - width);
            let height = (lines.len() + 1) as f64 * BOX_LINE + 10.0;
            Violation { at: Rect { x: left, y, width, height }, head, lines, whole }
        });
        let bottom = violation.as_ref().map_or(y, |violation| violation.at.bottom()) + AXIS_HEIGHT;
        Self { title, notes: &shown.notes, violation, bottom }
    }

    pub(super) fn paint(&self, canvas: &mut Canvas) {
        if let Some(title) = &self.title {
            canvas.text(Point { x: MARGIN, y: 28.0 }, TITLE, title);
        }
        for (i, note) in self.notes.iter().enumerate() {
            let y = 46.0 + i as f64 * 16.0;
            if let Some(note) = text::fit(note, WIDTH - 2.0 * MARGIN, NOTE.size, false) {
                canvas.text(Point { x: MARGIN, y }, NOTE, &note);
            }
        }
        let Some(Violation { at, head, lines, whole }) = &self.violation else { return };
        canvas.titled(whole, |canvas| {
            canvas.rect(*at, r##"fill="#fee2e2" stroke="#dc2626" stroke-width="2" rx="5""##);
            let x = at.x + 12.0;
            canvas.text(Point { x, y: at.y + BOX_LINE + 1.0 }, BOX_HEAD, head);
            for (i, line) in lines.iter().enumerate() {
                let y = at.y + (i + 2) as f64 * BOX_LINE + 1.0;
                canvas.text(Point { x, y }, BOX_TEXT, line);
            }
        });
    }
}

/// The grid and the labels of its lines; one that would touch another or the red line is left
/// out.
pub(super) fn grid(canvas: &mut Canvas, axis: &Axis, plot: Rect, red: Option<f64>) {
    let name = Type::new(AXIS_SIZE, GREY).anchor(Anchor::End);
    canvas.text(Point { x: PLOT_LEFT - 6.0, y: plot.y - 8.0 }, name, "true time");
    let mut free = PLOT_LEFT - 4.0;
    for tick in axis.ticks() {
        let (top, bottom) = (plot.y - 4.0, plot.bottom());
        let (a, b) = (Point { x: tick.x, y: top }, Point { x: tick.x, y: bottom });
        canvas.line(a, b, r##"stroke="#cbd5e1" stroke-width="1""##);
        let half = text::width(&tick.label, AXIS_SIZE, false) / 2.0;
        let meets_red = red.is_some_and(|x| (x - tick.x).abs() < half + 4.0);
        if tick.x - half > free && tick.x + half < WIDTH && !meets_red {
            let set = Type::new(AXIS_SIZE, INK).anchor(Anchor::Middle);
            canvas.text(Point { x: tick.x, y: plot.y - 8.0 }, set, &tick.label);
            free = tick.x + half + 8.0;
        }
    }
}

/// The cuts: the plot torn from top to bottom, and above it how much is missing.
pub(super) fn cuts(canvas: &mut Canvas, axis: &Axis, plot: Rect, red: Option<f64>) {
    let mut free = 0.0;
    for cut in axis.cuts() {
        let middle = f64::midpoint(cut.left, cut.right);
        let edge = |x: f64| {
            let teeth = ((plot.height + 12.0) / 7.0).ceil().max(1.0) as usize;
            (0..=teeth).map(move |i| {
                let side = if i % 2 == 0 { -2.5 } else { 2.5 };
                Point { x: x + side, y: plot.y - 6.0 + i as f64 * 7.0 }
            })
        };
        let left: Vec<Point> = edge(middle - 3.5).collect();
        let right: Vec<Point> = edge(middle + 3.5).collect();
        let around: Vec<Point> = left.iter().chain(right.iter().rev()).copied().collect();
        let title = format!("{} in which nothing begins or ends", units::exact(cut.length));
        canvas.titled(&title, |canvas| {
            canvas.polygon(&around, r##"fill="#ffffff""##);
            for side in [&left, &right] {
                canvas.polyline(side, r##"stroke="#a3adbb" stroke-width="0.9""##);
            }
        });
        let label = format!("{} cut", units::about(cut.length));
        let half = text::width(&label, 10.0, false) / 2.0;
        let meets_red = |x: f64| red.is_some_and(|red| (red - x).abs() < half + 4.0);
        let beside = red.map(|red| if red < middle { red + half + 5.0 } else { red - half - 5.0 });
        let x = if meets_red(middle) { beside.unwrap_or(middle) } else { middle };
        if x - half > free {
            let set = Type::new(10.0, GREY).anchor(Anchor::Middle);
            canvas.text(Point { x, y: plot.y - 24.0 }, set, &label);
            free = x + half + 6.0;
        }
    }
}

/// From the box down through all lanes.
pub(super) fn red_line(
    canvas: &mut Canvas,
    shown: &Shown<'_>,
    red: Option<f64>,
    head: &Head<'_>,
    plot: Rect,
) {
    let (Some(x), Some((_, whole)), Some(violation)) = (red, shown.violation, &head.violation)
    else {
        return;
    };
    canvas.titled(whole, |canvas| {
        let (a, b) = (Point { x, y: violation.at.bottom() }, Point { x, y: plot.bottom() + 6.0 });
        canvas.line(a, b, &format!(r#"stroke="{RED}" stroke-width="2.5""#));
    });
}

/// What the colours and shapes mean: only those that are in the picture. Gives its lower end.
pub(super) fn legend(canvas: &mut Canvas, shown: &Shown<'_>, axis: &Axis, top: f64) -> f64 {
    let mut row = Flow { x: MARGIN, y: top };
    let leads = |holder: &str| {
        let of = |span: &&super::super::Span| span.holder.as_deref() == Some(holder);
        shown.spans.iter().filter(|span| span.kind == SpanKind::Claim).any(of)
    };
    for (i, holder) in shown.holders.iter().take(MOST_HOLDERS).enumerate() {
        let hue = COLOURS[i % COLOURS.len()];
        let what = if leads(holder) { "leads, and its grants" } else { "its grants" };
        row.entry(canvas, &format!("{holder} {what}"), |canvas, at| {
            swatch(canvas, at, &format!(r#"fill="{hue}" rx="2""#), 0.0, 12.0);
            let style = format!(r#"fill="{hue}" fill-opacity="0.2" stroke="{hue}" rx="2""#);
            swatch(canvas, at, &style, 13.0, 12.0);
        });
    }
    let others = shown.holders.len().saturating_sub(MOST_HOLDERS);
    if others > 0 {
        row.entry(
            canvas,
            &format!("{others} more holders, colours again from the first"),
            |_, _| (),
        );
    }
    let fills = [
        (SpanKind::Quarantine, "tl-quarantine", "in quarantine after a restart"),
        (SpanKind::Down, "tl-down", "down"),
        (SpanKind::Paused, "tl-paused", "paused, unaware"),
    ];
    for (kind, fill, what) in fills {
        if shown.spans.iter().any(|span| span.kind == kind) {
            row.entry(canvas, what, |canvas, at| {
                let style = format!(r##"fill="url(#{fill})" stroke="#9ca3af""##);
                swatch(canvas, at, &style, 0.0, 25.0);
            });
        }
    }
    symbols(canvas, shown, axis, &mut row);
    row.y + 16.0
}

fn symbols(canvas: &mut Canvas, shown: &Shown<'_>, axis: &Axis, row: &mut Flow) {
    let middle = |at: Point| Point { x: at.x + 12.5, y: at.y - 4.0 };
    let ends =
        |at: Point| [at, Point { x: at.x + 24.0, y: at.y }].map(|p| Point { x: p.x, y: p.y - 4.0 });
    if shown.arrows.iter().any(|arrow| arrow.arrived.is_some()) {
        row.entry(canvas, "message", |canvas, at| {
            let style = r##"stroke="#64748b" stroke-width="1.1" marker-end="url(#tl-head)""##;
            canvas.polyline(&ends(at), style);
        });
    }
    if shown.arrows.iter().any(|arrow| arrow.arrived.is_none()) {
        row.entry(canvas, "message lost", |canvas, at| {
            let style = r##"stroke="#94a3b8" stroke-width="1.1" stroke-dasharray="4 2""##;
            canvas.polyline(&ends(at), style);
            paint::cross(canvas, Point { x: at.x + 21.0, y: at.y - 4.0 });
        });
    }
    if shown.marks.iter().any(|mark| mark.fault) {
        row.entry(canvas, "fault", |canvas, at| paint::triangle(canvas, middle(at)));
    }
    if shown.marks.iter().any(|mark| !mark.fault) {
        row.entry(canvas, "what a node did", |canvas, at| paint::dot(canvas, middle(at)));
    }
    if !axis.cuts().is_empty() {
        row.entry(canvas, "a wait, cut out", |canvas, at| {
            for dx in [8.0, 16.0] {
                let tooth = |i: i32| Point {
                    x: at.x + dx + if i % 2 == 0 { -2.0 } else { 2.0 },
                    y: at.y - 11.0 + f64::from(i) * 4.5,
                };
                let teeth: Vec<Point> = (0..4).map(tooth).collect();
                canvas.polyline(&teeth, r##"stroke="#64748b" stroke-width="1.1""##);
            }
        });
    }
    if !shown.conflicts().is_empty() {
        row.entry(canvas, "two claims at once", |canvas, at| {
            swatch(canvas, at, r##"fill="url(#tl-conflict)" stroke="#dc2626""##, 0.0, 25.0);
        });
    }
}

fn swatch(canvas: &mut Canvas, at: Point, style: &str, dx: f64, width: f64) {
    canvas.rect(Rect { x: at.x + dx, y: at.y - 10.0, width, height: 12.0 }, style);
}

/// The next entry of the legend.
struct Flow {
    x: f64,
    y: f64,
}

impl Flow {
    fn entry(&mut self, canvas: &mut Canvas, what: &str, sign: impl FnOnce(&mut Canvas, Point)) {
        let Some(what) = text::fit(what, 420.0, 11.0, false) else { return };
        let width = 32.0 + text::width(&what, 11.0, false);
        if self.x > MARGIN && self.x + width > PLOT_RIGHT {
            *self = Self { x: MARGIN, y: self.y + 20.0 };
        }
        let at = Point { x: self.x, y: self.y };
        sign(canvas, at);
        canvas.text(Point { x: at.x + 32.0, y: at.y }, Type::new(11.0, INK), &what);
        self.x += width + 22.0;
    }
}
