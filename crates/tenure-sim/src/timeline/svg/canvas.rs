//! The few SVG elements that all pictures are made of, written so that no text can break out.

use std::fmt::{self, Display, Write as _};

/// The document so far. Writing into a string cannot fail, so neither do these methods.
#[derive(Default)]
pub struct Canvas {
    out: String,
}

/// An upright rectangle; `y` grows downwards.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rect {
    /// The left side.
    pub x: f64,
    /// The upper side.
    pub y: f64,
    /// From the left to the right side.
    pub width: f64,
    /// From the upper to the lower side.
    pub height: f64,
}

impl Rect {
    /// The right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Whether some of both is in one place.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.x < other.right()
            && other.x < self.right()
            && self.y < other.bottom()
            && other.y < self.bottom()
    }

    /// Whether any of the straight line from `a` to `b` lies inside (Liang and Barsky's clipping).
    pub fn crossed_by(&self, a: Point, b: Point) -> bool {
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
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From above.
    pub y: f64,
}

/// How a text is set. `at` is on the base line.
#[derive(Clone, Copy)]
pub struct Type {
    /// The height of its letters.
    pub size: f64,
    /// The colour.
    pub fill: &'static str,
    /// Whether it is bold.
    pub bold: bool,
    /// Which part of it is at its point.
    pub anchor: Anchor,
}

/// Which part of a text is at its point.
#[derive(Clone, Copy, PartialEq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Type {
    /// Of this size and colour, beginning at its point.
    pub const fn new(size: f64, fill: &'static str) -> Self {
        Self { size, fill, bold: false, anchor: Anchor::Start }
    }

    /// The same in bold.
    #[must_use]
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same with this part at its point.
    #[must_use]
    pub const fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }
}

impl Canvas {
    /// Something that is already SVG: only constants, never text from a timeline.
    pub fn raw(&mut self, svg: &'static str) {
        self.out.push_str(svg);
    }

    /// All that another canvas holds, over what is here.
    pub fn append(&mut self, other: Self) {
        self.out.push_str(&other.out);
    }

    /// One element without content. The attributes hold numbers and constants only.
    pub fn element(&mut self, name: &str, attributes: fmt::Arguments<'_>) {
        self.push(format_args!("<{name} {attributes}/>\n"));
    }

    /// A rectangle.
    pub fn rect(&mut self, at: Rect, style: &str) {
        let (x, y) = (Number(at.x), Number(at.y));
        let (width, height) = (Number(at.width), Number(at.height));
        self.element(
            "rect",
            format_args!(r#"x="{x}" y="{y}" width="{width}" height="{height}" {style}"#),
        );
    }

    /// A straight line.
    pub fn line(&mut self, a: Point, b: Point, style: &str) {
        let (x1, y1, x2, y2) = (Number(a.x), Number(a.y), Number(b.x), Number(b.y));
        self.element("line", format_args!(r#"x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style}"#));
    }

    /// A closed line through these corners.
    pub fn polygon(&mut self, corners: &[Point], style: &str) {
        self.element("polygon", format_args!(r#"points="{}" {style}"#, Points(corners)));
    }

    /// A line through these corners.
    pub fn polyline(&mut self, corners: &[Point], style: &str) {
        let points = Points(corners);
        self.element("polyline", format_args!(r#"points="{points}" fill="none" {style}"#));
    }

    /// A text in a style of its own.
    pub fn text(&mut self, at: Point, set: Type, text: &str) {
        let (size, fill) = (Number(set.size), set.fill);
        let weight = if set.bold { r#" font-weight="bold""# } else { "" };
        let style = format_args!(r#"font-size="{size}" fill="{fill}"{weight}"#);
        self.styled_text(at, style, set.anchor, text);
    }

    /// A text in a style of the page that it is on.
    pub fn text_of_class(&mut self, at: Point, class: &str, anchor: Anchor, text: &str) {
        self.styled_text(at, format_args!(r#"class="{class}""#), anchor, text);
    }

    fn styled_text(&mut self, at: Point, style: fmt::Arguments<'_>, anchor: Anchor, text: &str) {
        let (x, y, text) = (Number(at.x), Number(at.y), Escaped(text));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        self.push(format_args!("<text x=\"{x}\" y=\"{y}\" {style}{anchor}>{text}</text>\n"));
    }

    /// What `inner` draws, with a text that appears when the pointer rests on it.
    pub fn titled(&mut self, title: &str, inner: impl FnOnce(&mut Self)) {
        self.push(format_args!("<g><title>{}</title>\n", Escaped(title)));
        inner(self);
        self.raw("</g>\n");
    }

    /// The whole document.
    #[must_use]
    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
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

    /// An element for a page, which scales and styles it; `label` is for those who do not see it.
    #[must_use]
    pub fn embedded(self, width: f64, height: f64, label: &str) -> String {
        let (w, h, label) = (Number(width), Number(height), Escaped(label));
        let body = self.out;
        format!("<svg viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{label}\">\n{body}</svg>\n")
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

/// Text as XML 1.0 and HTML allow it: marked-up characters escaped, forbidden ones replaced.
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                _ if c.is_control() => f.write_char('\u{fffd}')?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
