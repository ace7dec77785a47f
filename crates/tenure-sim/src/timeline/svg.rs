//! Draws a [`Timeline`] as SVG.
//!
//! True time runs to the right, one lane for each node. In a lane, from the top: what the process
//! itself suffers, the claims, the grants, what happened. A claim and the grants that back it
//! have the colour of their holder. Messages are arrows from lane to lane, as slanted as they
//! are slow. Red is only what must not be: the violated moment, and two claims at once.
//!
//! Waits in which nothing happens are cut out, visibly, where they would crowd everything else;
//! all that is left is to one scale. A label that has no room is shortened or left out; resting
//! the pointer on a shape shows its whole text. Each text is as wide as reckoned here or
//! narrower, whatever the font.

mod arrows;
mod axis;
mod bars;
pub mod canvas;
mod frame;
mod lanes;
mod marks;
mod paint;
mod shown;
mod text;
mod units;

#[cfg(test)]
mod tests;

use axis::Axis;
use canvas::{Canvas, Rect};
use shown::Shown;

use super::Timeline;

/// All sizes are in the picture's own units, which are pixels unless it is scaled.
const WIDTH: f64 = 1400.0;
/// Names are left of this, the plot is right of it.
const PLOT_LEFT: f64 = 216.0;
const PLOT_RIGHT: f64 = 1384.0;
/// Between the frame of the plot and the first and the last instant; at the end there is more,
/// for what the last marks say.
const LEAD: f64 = 26.0;
const TAIL: f64 = 104.0;
const MARGIN: f64 = 16.0;

/// The picture: one self-contained SVG 1.1 document, 1400 units wide and as high as it needs to
/// be, on a background of its own. The same timeline gives the same bytes.
///
/// Nothing in the timeline makes it fail: what names a lane that is not there is left out, what
/// is too much is thinned, and both are said in the picture.
#[must_use]
pub fn draw(timeline: &Timeline) -> String {
    let shown = Shown::new(timeline);
    let axis = Axis::new(shown.instants(), PLOT_LEFT + LEAD, PLOT_RIGHT - TAIL);
    let head = frame::Head::new(&timeline.title, &shown, &axis);
    let lanes = lanes::place(&shown, &axis, head.bottom, PLOT_RIGHT);
    let red = shown.violation.map(|(at, _)| axis.x(at));
    let courses = arrows::place(&shown, &axis, &lanes, red, PLOT_RIGHT);
    let bottom = lanes.last().map_or(head.bottom + 40.0, |lane| {
        let below = courses.iter().flat_map(|course| &course.corners).map(|corner| corner.y);
        below.fold(lane.bottom, f64::max)
    });
    let plot = Rect {
        x: PLOT_LEFT,
        y: head.bottom,
        width: PLOT_RIGHT - PLOT_LEFT,
        height: bottom - head.bottom,
    };

    let mut body = Canvas::default();
    paint::lanes(&mut body, &lanes, shown.several_elections());
    frame::grid(&mut body, &axis, plot, red);
    paint::bands(&mut body, &lanes, &axis);
    paint::conflicts(&mut body, &shown, &lanes, &axis);
    paint::courses(&mut body, &courses);
    bars::bars(&mut body, &shown, &lanes, &axis);
    paint::pauses(&mut body, &lanes, &axis);
    frame::cuts(&mut body, &axis, plot, red);
    frame::red_line(&mut body, &shown, red, &head, plot);
    bars::labels(&mut body, &shown, &lanes, &axis, red);
    paint::flags(&mut body, &lanes);
    paint::course_labels(&mut body, &courses);
    head.paint(&mut body);
    let end = frame::legend(&mut body, &shown, &axis, plot.bottom() + 34.0);

    let mut canvas = Canvas::default();
    canvas.raw(paint::PATTERNS);
    let page = Rect { x: 0.0, y: 0.0, width: WIDTH, height: end };
    canvas.rect(page, r##"fill="#ffffff" rx="6""##);
    canvas.append(body);
    canvas.finish(WIDTH, end, &text::one_line(&timeline.title))
}
