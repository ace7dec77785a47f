//! Drawing by hand: what colours things have is the page's style sheet's business, so that they
//! follow the reader's choice of light and dark. A plotting library fixes its colours.

use std::fmt::{Display, Write};

/// A drawing that is being made. Its size is that of its coordinates; the page scales it.
pub(super) struct Drawing {
    width: f64,
    height: f64,
    body: String,
}

/// Where a text stands to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(super) fn bar(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let ((x, y), (width, height)) = (at, (size.0.max(0.5), size.1.max(0.0)));
        let tip = escaped(tip);
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"><title>{tip}</title></rect>"
        ));
    }

    pub(super) fn dot(&mut self, class: &str, at: (f64, f64), radius: f64, tip: &str) {
        let ((x, y), tip) = (at, escaped(tip));
        self.add(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\">\
             <title>{tip}</title></circle>"
        ));
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.add(format_args!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ((x, y), text) = (at, escaped(text));
        self.add(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// The element; `label` says what it shows to those who do not see it.
    pub(super) fn finish(self, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n{body}</svg>\n",
            escaped(label)
        )
    }

    fn add(&mut self, element: impl Display) {
        let _ = writeln!(self.body, "{element}");
    }
}

/// A linear scale from values to coordinates.
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

/// `text` as it may stand in HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
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
    fn nothing_that_is_written_ends_its_element() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text("x", (0.0, 0.0), Anchor::Start, "</text><script>'\"&");
        let text = drawing.finish("\"");
        assert!(text.contains("&lt;/text&gt;&lt;script&gt;&#39;&quot;&amp;"), "{text}");
        assert!(text.contains("aria-label=\"&quot;\""));
    }
}
