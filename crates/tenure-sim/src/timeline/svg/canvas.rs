//! The few SVG elements that the picture is made of, written so that no text can break out.

use std::fmt::{self, Display, Write as _};

/// The document so far. Writing into a string cannot fail, so neither do these methods.
#[derive(Default)]
pub(super) struct Canvas {
    out: String,
}

/// An upright rectangle; `y` grows downwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// Whether any of the straight line from `a` to `b` lies inside (Liang and Barsky's clipping).
    pub(super) fn crossed_by(&self, a: Point, b: Point) -> bool {
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let sides = [
            (-dx, a.x - self.x),
            (dx, self.right() - a.x),
            (-dy, a.y - self.y),
            (dy, self.bottom() - a.y),
        ];
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        for (towards, room) in sides {
            if towards == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if towards < 0.0 {
                enters = enters.max(room / towards);
            } else {
                leaves = leaves.min(room / towards);
            }
        }
        enters <= leaves
    }
}

/// A place in the picture, in its units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// How a text is set. `at` is on the base line.
#[derive(Clone, Copy)]
pub(super) struct Type {
    pub(super) size: f64,
    pub(super) fill: &'static str,
    pub(super) bold: bool,
    pub(super) anchor: Anchor,
}

/// Which part of a text is at its point.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Type {
    pub(super) const fn new(size: f64, fill: &'static str) -> Self {
        Self { size, fill, bold: false, anchor: Anchor::Start }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(super) const fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

impl Canvas {
    /// Something that is already SVG: only constants, never text from a timeline.
    pub(super) fn raw(&mut self, svg: &'static str) {
        self.out.push_str(svg);
    }

    /// All that another canvas holds, over what is here.
    pub(super) fn append(&mut self, other: Self) {
        self.out.push_str(&other.out);
    }

    /// One element without content. The attributes hold numbers and constants only.
    pub(super) fn element(&mut self, name: &str, attributes: fmt::Arguments<'_>) {
        self.push(format_args!("<{name} {attributes}/>\n"));
    }

    pub(super) fn rect(&mut self, at: Rect, style: &str) {
        let (x, y) = (Number(at.x), Number(at.y));
        let (width, height) = (Number(at.width), Number(at.height));
        self.element(
            "rect",
            format_args!(r#"x="{x}" y="{y}" width="{width}" height="{height}" {style}"#),
        );
    }

    pub(super) fn line(&mut self, a: Point, b: Point, style: &str) {
        let (x1, y1, x2, y2) = (Number(a.x), Number(a.y), Number(b.x), Number(b.y));
        self.element("line", format_args!(r#"x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style}"#));
    }

    pub(super) fn polygon(&mut self, corners: &[Point], style: &str) {
        self.element("polygon", format_args!(r#"points="{}" {style}"#, Points(corners)));
    }

    pub(super) fn polyline(&mut self, corners: &[Point], style: &str) {
        let points = Points(corners);
        self.element("polyline", format_args!(r#"points="{points}" fill="none" {style}"#));
    }

    pub(super) fn text(&mut self, at: Point, set: Type, text: &str) {
        let (x, y, size, fill) = (Number(at.x), Number(at.y), Number(set.size), set.fill);
        let weight = if set.bold { r#" font-weight="bold""# } else { "" };
        let anchor = match set.anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let text = Escaped(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\"{weight}{anchor}>\
             {text}</text>\n"
        ));
    }

    /// What `inner` draws, with a text that appears when the pointer rests on it.
    pub(super) fn titled(&mut self, title: &str, inner: impl FnOnce(&mut Self)) {
        self.push(format_args!("<g><title>{}</title>\n", Escaped(title)));
        inner(self);
        self.raw("</g>\n");
    }

    /// The whole document.
    pub(super) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (w, h) = (Number(width), Number(height));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{w}\" \
             height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"Inter, 'Segoe UI', Roboto, \
             'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif\">\n\
             <title>{}</title>\n{}</svg>\n",
            Escaped(title),
            self.out
        )
    }

    fn push(&mut self, what: fmt::Arguments<'_>) {
        let written = self.out.write_fmt(what);
        debug_assert!(written.is_ok(), "a string takes everything");
    }
}

/// A length with one decimal at most, and never `-0`.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = (self.0 * 10.0).round() / 10.0 + 0.0;
        write!(f, "{rounded}")
    }
}

struct Points<'a>(&'a [Point]);

impl Display for Points<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, corner) in self.0.iter().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{},{}", Number(corner.x), Number(corner.y))?;
        }
        Ok(())
    }
}

/// Text as XML 1.0 allows it: marked-up characters escaped, forbidden ones replaced.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                _ if c.is_control() => f.write_char('\u{fffd}')?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
