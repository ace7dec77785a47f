//! A drawing for the page. Every shape has a class, and the page's style sheet colours the classes.
//! So the colours follow the reader's choice of light or dark.

use svg::Node;
use svg::node::element::{Circle, Element, Line, Polyline, Rectangle, Text, Title};

/// An unfinished drawing. The drawing has coordinates of its own, and the page scales it.
pub(super) struct Drawing(Element);

/// The part of a text that is drawn at the given point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut drawing = Element::new("svg");
        drawing.assign("viewBox", (0, 0, width, height));
        drawing.assign("role", "img");
        Self(drawing)
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (rounded(from), rounded(to));
        let line = Line::new().set("class", class);
        self.0.append(line.set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2));
    }

    pub(super) fn bar(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let (x, y) = rounded(at);
        let (width, height) = rounded((size.0.max(0.5), size.1.max(0.0)));
        let bar = Rectangle::new().set("class", class).set("x", x).set("y", y);
        self.0.append(bar.set("width", width).set("height", height).add(Title::new(tip)));
    }

    pub(super) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        let (x, y) = rounded(at);
        let dot = Circle::new().set("class", class).set("cx", x).set("cy", y).set("r", radius);
        self.0.append(dot.add(Title::new(tip)));
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<(f64, f64)> = points.iter().copied().map(rounded).collect();
        self.0.append(Polyline::new().set("class", class).set("points", points));
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = rounded(at);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = Text::new(text).set("class", class).set("text-anchor", anchor);
        self.0.append(text.set("x", x).set("y", y));
    }

    /// The finished element; `label` describes the drawing for readers who do not see it.
    pub(super) fn finish(mut self, label: &str) -> String {
        self.0.assign("aria-label", label);
        format!("{}\n", self.0)
    }
}

/// A point with one decimal: finer differences are invisible.
fn rounded((x, y): (f64, f64)) -> (f64, f64) {
    ((x * 10.0).round() / 10.0, (y * 10.0).round() / 10.0)
}

#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Scale {
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = (value - self.from) / (self.to - self.from).max(f64::MIN_POSITIVE);
        self.start + part * (self.end - self.start)
    }

    /// About five round values.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / 5.0;
        if rough <= 0.0 {
            return vec![self.from];
        }
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale { from: 0.0, to: 5.009, start: 0.0, end: 100.0 };
        assert_eq!(scale.ticks(), [0.0, 2.0, 4.0]);
        assert_eq!(Scale { from: 0.0, to: 0.0, ..scale }.ticks(), [0.0]);
    }

    #[test]
    fn texts_never_end_their_element() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text("x", (0.0, 0.0), Anchor::Start, "</text><script>'\"&");
        let text = drawing.finish("\"");
        assert!(text.contains("&lt;/text&gt;&lt;script&gt;'\"&amp;"), "{text}");
        assert!(text.contains("aria-label=\"&quot;\""));
    }
}
