//! Draws a [`Timeline`] as SVG.
//!
//! True time runs to the right, one lane for each node. A lane has, from the top, the claims and
//! the grants of each election in the colour of their holder, then the ends of processes. Pauses
//! and outages cross the whole lane. Messages are arrows from lane to lane. Only the violated
//! moment is red. A text that does not fit appears as a tooltip.

mod axis;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use axis::Axis;
use svg::node::element::{
    Definitions, Group, Line, Marker, Path, Polyline, Rectangle, Style, Text, Title,
};
use svg::{Document, Node};

use super::{Arrow, Span, SpanKind, Timeline};
use crate::scenario::seconds;

const STYLE: &str = include_str!("svg/style.css");

const LEGEND: [&str; 2] = [
    "Seconds of true time, as in a trace. Bars: claims, and paler grants, in the colour of their \
     holder. Arrows: messages; dashed: lost.",
    "Grey: down. Violet: paused. Yellow: in quarantine. Dotted columns: long waits, shortened.",
];

/// Colours for holders, none of them red. After the last colour, the first is used again.
const COLOURS: [&str; 8] =
    ["#1d4ed8", "#b45309", "#0f766e", "#7e22ce", "#4d7c0f", "#0e7490", "#854d0e", "#334155"];

/// The largest number of messages drawn before the violation or the end: more would run into each
/// other.
const MOST_MESSAGES: usize = 300;
/// Upper bound on the width of a letter.
const LETTER: f64 = 6.7;
/// Words in a line of the violation, and letters of a message.
const WORDS: usize = 20;
const LABEL: usize = 30;

/// Left edge of the plot. The names are on its left; room remains on the right of the last instant.
const LEFT: f64 = 250.0;
const TAIL: f64 = 140.0;
const MARGIN: f64 = 12.0;
const LINE: f64 = 16.0;
/// Height of a row of bars, least height of a lane, and distance of lanes.
const ROW: f64 = 20.0;
const LEAST_LANE: f64 = 54.0;
const GAP: f64 = 64.0;

/// The picture: one complete SVG document. The same timeline gives the same bytes.
#[must_use]
pub fn draw(timeline: &Timeline) -> String {
    let (shown, from) = end(timeline);
    let mut lines = vec![("title", shown.title.clone())];
    lines.extend(LEGEND.map(|line| ("grey", line.to_owned())));
    let left_out = timeline.arrows.len() - shown.arrows.len();
    if left_out > 0 {
        let note = format!("{left_out} messages before these are left out, and what was over then");
        lines.push(("grey", note));
    }
    if let Some((_, what)) = &shown.violation {
        let words: Vec<&str> = what.split_whitespace().collect();
        lines.extend(words.chunks(WORDS).map(|line| ("violation", line.join(" "))));
    }
    let picture = Picture::new(&shown, from, LINE * (lines.len() as f64 + 4.0));
    let width = picture.axis.right + TAIL;
    let height = picture.bottom + GAP;
    let mut page = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .add(Title::new(clean(&shown.title)))
        .add(Style::new(STYLE))
        .add(arrow_head())
        .add(rectangle("page", 0.0..width, 0.0..height))
        .add(picture.lanes())
        .add(picture.bands())
        .add(picture.time())
        .add(picture.messages())
        .add(picture.bars())
        .add(picture.marks())
        .add(picture.violation());
    for (i, (class, line)) in lines.iter().enumerate() {
        page.append(text(class, MARGIN, LINE * (i as f64 + 1.5), line));
    }
    format!("{page}\n")
}

/// The readable end of a timeline, and its begin.
fn end(timeline: &Timeline) -> (Timeline, u64) {
    let mut end = timeline.clone();
    end.arrows.sort_by_key(|arrow| arrow.sent);
    let left_out = end.arrows.len().saturating_sub(MOST_MESSAGES);
    if left_out == 0 {
        return (end, 0);
    }
    end.arrows.drain(..left_out);
    let from = end.arrows[0].sent;
    end.spans.retain(|span| span.until > from);
    end.marks.retain(|mark| mark.at >= from);
    (end, from)
}

/// Every instant from `from` on at which a shape begins, ends or happens.
fn instants(shown: &Timeline, from: u64) -> Vec<u64> {
    let spans = shown.spans.iter().flat_map(|span| [span.from, span.until]);
    let sent = shown.arrows.iter().map(|arrow| arrow.sent);
    let arrived = shown.arrows.iter().filter_map(|arrow| arrow.arrived);
    let marks = shown.marks.iter().map(|mark| mark.at);
    let violated = shown.violation.iter().map(|(at, _)| *at);
    let all = spans.chain(sent).chain(arrived).chain(marks).chain(violated);
    all.filter(|at| (from..u64::MAX).contains(at)).collect()
}

/// A timeline with a place for every shape.
struct Picture<'a> {
    shown: &'a Timeline,
    axis: Axis,
    places: Vec<Place<'a>>,
    holders: Vec<&'a str>,
    /// Top and bottom of the lanes.
    top: f64,
    bottom: f64,
}

/// The place of a lane, and its rows from the top down.
struct Place<'a> {
    rows: Vec<Row<'a>>,
    top: f64,
    bottom: f64,
}

type Row<'a> = (SpanKind, Option<&'a str>);

impl<'a> Picture<'a> {
    fn new(shown: &'a Timeline, from: u64, top: f64) -> Self {
        let mut holders = Vec::new();
        for holder in shown.spans.iter().filter_map(|span| span.holder.as_deref()) {
            if !holders.contains(&holder) {
                holders.push(holder);
            }
        }
        let mut places = Vec::new();
        let mut bottom = top;
        for lane in 0..shown.lanes.len() {
            let top = if lane == 0 { top } else { bottom + GAP };
            let spans = shown.spans.iter().filter(|span| span.lane == lane);
            let rows: BTreeSet<Row<'a>> = spans.filter_map(row).collect();
            bottom = top + (rows.len() as f64 * ROW + LINE + 4.0).max(LEAST_LANE);
            places.push(Place { rows: rows.into_iter().collect(), top, bottom });
        }
        let axis = Axis::new(instants(shown, from), LEFT);
        Self { shown, axis, places, holders, top, bottom }
    }

    /// Draws the nodes.
    fn lanes(&self) -> Group {
        let mut all = Group::new();
        for (lane, place) in self.shown.lanes.iter().zip(&self.places) {
            let x = MARGIN / 2.0..self.axis.right + TAIL - MARGIN / 2.0;
            let frame = rectangle("lane", x, place.top..place.bottom);
            all.append(titled(lane.name.clone(), frame));
            let lines = [("name", &lane.name), ("role", &lane.role), ("grey", &lane.clock)];
            for (i, (class, line)) in lines.into_iter().enumerate() {
                let y = place.top + LINE * (i as f64 + 1.0);
                all.append(text(class, MARGIN, y, line));
            }
            for (i, (kind, election)) in place.rows.iter().enumerate() {
                let caption = format!("{} {}", word(*kind), election.unwrap_or_default());
                let y = place.top + ROW * (i as f64 + 1.0) - 4.0;
                all.append(text("caption", LEFT - 8.0, y, &caption));
            }
        }
        all
    }

    /// Draws pauses, outages and quarantines.
    fn bands(&self) -> Group {
        let bands = self.shown.spans.iter().filter(|span| row(span).is_none());
        bands.fold(Group::new(), |all, span| all.add(self.shape(span)))
    }

    /// Draws claims and grants.
    fn bars(&self) -> Group {
        let mut all = Group::new();
        for span in self.shown.spans.iter().filter(|span| row(span).is_some()) {
            all.append(self.shape(span));
            let (x, y) = self.extent(span);
            let said = said(span);
            if width(&said) < x.end - x.start {
                all.append(text(word(span.kind), x.start + 4.0, y.end - 4.0, &said));
            }
        }
        all
    }

    fn shape(&self, span: &Span) -> Group {
        let (x, y) = self.extent(span);
        let shape = rectangle(word(span.kind), x, y).set("fill", self.colour(span));
        titled(about(span), shape)
    }

    /// The extent of a span, never too short to be seen.
    fn extent(&self, span: &Span) -> (Range<f64>, Range<f64>) {
        let place = &self.places[span.lane];
        let left = self.axis.x(span.from);
        let x = left..self.axis.x(span.until).max(left + 2.0);
        let Some(row) = place.rows.iter().position(|one| Some(*one) == row(span)) else {
            return (x, place.top..place.bottom);
        };
        let top = place.top + ROW * row as f64 + 4.0;
        (x, top..top + ROW - 4.0)
    }

    fn colour(&self, span: &Span) -> &'static str {
        match span.kind {
            SpanKind::Claim | SpanKind::Grant => {
                let holder = span.holder.as_deref();
                let holder = self.holders.iter().position(|known| Some(*known) == holder);
                COLOURS[holder.unwrap_or(0) % COLOURS.len()]
            }
            SpanKind::Quarantine => "#fde68a",
            SpanKind::Down => "#cbd5e1",
            SpanKind::Paused => "#ddd6fe",
        }
    }

    /// Draws the axis.
    fn time(&self) -> Group {
        let mut all = Group::new();
        for (x, length) in self.axis.shortened() {
            let column = rectangle("wait", x, self.top..self.bottom);
            all.append(titled(format!("{}, shortened", seconds(length)), column));
        }
        for (at, x) in self.axis.ticks() {
            all.append(upright("tick", x, self.top - 4.0..self.bottom));
            all.append(text("tick", x, self.top - 8.0, &seconds(at)));
        }
        all
    }

    /// Draws messages, and their texts where these have room next to the sender.
    fn messages(&self) -> Group {
        let mut lines = Group::new();
        let mut labels = Group::new();
        let mut free: BTreeMap<(usize, bool), f64> = BTreeMap::new();
        for arrow in &self.shown.arrows {
            let course = self.course(arrow);
            let class = if arrow.arrived.is_some() { "message" } else { "lost" };
            let [reach, line] = ["reach", class]
                .map(|class| Polyline::new().set("class", class).set("points", course.clone()));
            lines.append(titled(self.story(arrow), reach).add(line));

            let (x, y) = course[0];
            let up = arrow.to < arrow.from;
            let free = free.entry((arrow.from, up)).or_default();
            if x >= *free {
                let label: String = arrow.label.chars().take(LABEL).collect();
                *free = x + width(&label);
                let y = if up { y - 4.0 } else { y + 12.0 };
                labels.append(text("label", x + 4.0, y, &label));
            }
        }
        lines.add(labels)
    }

    /// The line from the edge of one lane to the edge of the other; a lost message ends on its way.
    fn course(&self, arrow: &Arrow) -> Vec<(f64, f64)> {
        let from = &self.places[arrow.from];
        let to = &self.places[arrow.to];
        let start = self.axis.x(arrow.sent);
        let end = arrow.arrived.map_or(start + 16.0, |at| self.axis.x(at));
        if arrow.from == arrow.to {
            let low = (f64::midpoint(start, end), from.bottom + LINE);
            return vec![(start, from.bottom), low, (end, from.bottom)];
        }
        let down = arrow.from < arrow.to;
        let (y, edge) = if down { (from.bottom, to.top) } else { (from.top, to.bottom) };
        let edge = if arrow.arrived.is_some() { edge } else { f64::midpoint(y, edge) };
        vec![(start, y), (end, edge)]
    }

    /// The full text of a message.
    fn story(&self, arrow: &Arrow) -> String {
        let [from, to] = [arrow.from, arrow.to].map(|lane| &self.shown.lanes[lane].name);
        let arrived = arrow.arrived.map_or("lost".to_owned(), seconds);
        format!("{from} to {to}: {}\n{} to {arrived}", arrow.label, seconds(arrow.sent))
    }

    /// Draws events at one instant.
    fn marks(&self) -> Group {
        self.shown.marks.iter().fold(Group::new(), |all, mark| {
            let x = self.axis.x(mark.at);
            let y = self.places[mark.lane].bottom - 4.0;
            let sign = text("mark", x - LETTER / 2.0, y, &format!("▲ {}", mark.label));
            all.add(titled(format!("{}\n{}", mark.label, seconds(mark.at)), sign))
        })
    }

    /// Draws the violated moment.
    fn violation(&self) -> Group {
        let Some((at, what)) = &self.shown.violation else { return Group::new() };
        let x = self.axis.x(*at);
        let said = format!("violated at {}", seconds(*at));
        let line = upright("violated", x, self.top - LINE - 4.0..self.bottom + 4.0);
        titled(what.clone(), line).add(text("violated", x, self.top - LINE - 8.0, &said))
    }
}

/// The row of a claim or grant; other spans cross all rows.
fn row(span: &Span) -> Option<Row<'_>> {
    let is_bar = matches!(span.kind, SpanKind::Claim | SpanKind::Grant);
    is_bar.then_some((span.kind, span.election.as_deref()))
}

/// Kind of a span, for people and for the style sheet.
fn word(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Claim => "leads",
        SpanKind::Grant => "grant",
        SpanKind::Quarantine => "quarantine",
        SpanKind::Down => "down",
        SpanKind::Paused => "paused",
    }
}

/// The text on a bar.
fn said(span: &Span) -> String {
    match &span.holder {
        Some(holder) if span.kind == SpanKind::Claim && *holder != span.label => {
            format!("{holder} {}", span.label)
        }
        _ => span.label.clone(),
    }
}

/// The full text of a span.
fn about(span: &Span) -> String {
    let [election, holder] = [&span.election, &span.holder].map(|one| one.as_deref().unwrap_or(""));
    let until = if span.until == u64::MAX { "the end".to_owned() } else { seconds(span.until) };
    let what = [word(span.kind), election, holder, span.label.as_str()].join(" ");
    format!("{what}\n{} to {until}", seconds(span.from))
}

/// The width of a text, with some room around it.
fn width(text: &str) -> f64 {
    (text.chars().count() as f64 + 2.0) * LETTER
}

/// `text` without characters that XML forbids; the library escapes the rest.
fn clean(text: &str) -> String {
    let forbidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(forbidden, "\u{fffd}")
}

/// A shape with a tooltip.
fn titled(title: String, shape: impl Node) -> Group {
    Group::new().add(Title::new(clean(&title))).add(shape)
}

fn text(class: &str, x: f64, y: f64, said: &str) -> Text {
    Text::new(clean(said)).set("class", class).set("x", x).set("y", y)
}

fn upright(class: &str, x: f64, y: Range<f64>) -> Line {
    let line = Line::new().set("class", class);
    line.set("x1", x).set("x2", x).set("y1", y.start).set("y2", y.end)
}

fn rectangle(class: &str, x: Range<f64>, y: Range<f64>) -> Rectangle {
    let shape = Rectangle::new().set("class", class).set("x", x.start).set("y", y.start);
    shape.set("width", x.end - x.start).set("height", y.end - y.start)
}

fn arrow_head() -> Definitions {
    let head = Marker::new().set("id", "head").set("viewBox", (0, 0, 8, 8)).set("orient", "auto");
    let head = head.set("refX", 8).set("refY", 4).set("markerWidth", 6).set("markerHeight", 6);
    Definitions::new().add(head.add(Path::new().set("d", "M0 0 8 4 0 8z")))
}
