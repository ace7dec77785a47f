//! A drawing for the page. What colours things have is the business of the page's style sheet, so
//! that they follow the reader's choice of light and dark: everything here has a class.

use tenure_sim::timeline::svg::canvas::{Canvas, Point, Rect};

pub(super) use tenure_sim::timeline::svg::canvas::{Anchor, Escaped};

/// A drawing that is being made. Its size is that of its coordinates; the page scales it.
pub(super) struct Drawing {
    width: f64,
    height: f64,
    canvas: Canvas,
}

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, canvas: Canvas::default() }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.canvas.line(point(from), point(to), &style(class));
    }

    pub(super) fn bar(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let ((x, y), (width, height)) = (at, (size.0.max(0.5), size.1.max(0.0)));
        let bar = Rect { x, y, width, height };
        self.canvas.titled(tip, |canvas| canvas.rect(bar, &style(class)));
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, tip: &str) {
        self.canvas.titled(tip, |canvas| {
            let attributes =
                format_args!(r#"class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}""#);
            canvas.element("circle", attributes);
        });
    }

    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<Point> = points.iter().copied().map(point).collect();
        self.canvas.polyline(&points, &style(class));
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.canvas.text_of_class(point(at), class, anchor, text);
    }

    /// The element; `label` says what it shows to those who do not see it.
    pub(super) fn finish(self, label: &str) -> String {
        self.canvas.embedded(self.width, self.height, label)
    }
}

fn point((x, y): (f64, f64)) -> Point {
    Point { x, y }
}

fn style(class: &str) -> String {
    format!(r#"class="{class}""#)
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
