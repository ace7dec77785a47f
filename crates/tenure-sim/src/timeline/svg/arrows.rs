//! Messages: a line each, and labels where there is room for them.

use std::collections::BTreeSet;

use super::axis::Axis;
use super::canvas::{Point, Rect};
use super::lanes::LaneBox;
use super::shown::Shown;
use super::{PLOT_LEFT, text};
use crate::timeline::Arrow;

pub(super) const LABEL_SIZE: f64 = 10.0;
const LABEL_HEIGHT: f64 = 12.0;
/// How far a message of a node to itself hangs below its lane.
const HANG: f64 = 15.0;
/// So many other lines may pass behind a label.
const MOST_CROSSED: usize = 1;

/// A message, laid out: from its first corner to its last.
pub(super) struct Course<'a> {
    pub(super) arrow: &'a Arrow,
    pub(super) corners: Vec<Point>,
    pub(super) label: Option<(Rect, String)>,
}

/// All courses, those nearest to the violation labelled first. Labels stay clear of each other
/// and of the upright line at `line`.
pub(super) fn place<'a>(
    shown: &Shown<'a>,
    axis: &Axis,
    lanes: &[LaneBox<'_>],
    line: Option<f64>,
    right: f64,
) -> Vec<Course<'a>> {
    let usual = usual_delay(&shown.arrows);
    let mut courses: Vec<Course<'a>> = shown
        .arrows
        .iter()
        .map(|arrow| Course { arrow, corners: corners(arrow, usual, axis, lanes), label: None })
        .collect();
    let mut order: Vec<usize> = (0..courses.len()).collect();
    let focus = shown.violation.map_or(u64::MAX, |(at, _)| at);
    order.sort_by_key(|i| (courses[*i].arrow.sent.abs_diff(focus), *i));
    let mut taken: Vec<Rect> = Vec::new();
    if let Some(x) = line {
        taken.push(Rect { x: x - 3.0, y: 0.0, width: 6.0, height: f64::MAX });
    }
    let mut said: BTreeSet<(usize, u64, &str)> = BTreeSet::new();
    for i in order {
        // What is sent to several at once is said once.
        let arrow = courses[i].arrow;
        let saying = (arrow.from, arrow.sent, arrow.label.as_str());
        if said.contains(&saying) {
            continue;
        }
        let label = label(i, &courses, lanes, &taken, right);
        if let Some((at, _)) = &label {
            taken.push(*at);
            said.insert(saying);
        }
        courses[i].label = label;
    }
    courses
}

/// The median, which is how a lost message is drawn.
fn usual_delay(arrows: &[&Arrow]) -> u64 {
    let took = |arrow: &&Arrow| Some(arrow.arrived?.saturating_sub(arrow.sent));
    let mut delays: Vec<u64> = arrows.iter().filter_map(took).collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).copied().unwrap_or(0)
}

fn corners(arrow: &Arrow, usual: u64, axis: &Axis, lanes: &[LaneBox<'_>]) -> Vec<Point> {
    let (from, to) = (&lanes[arrow.from], &lanes[arrow.to]);
    let start = axis.x(arrow.sent);
    let end = axis.x(arrow.arrived.unwrap_or(arrow.sent.saturating_add(usual)));
    if arrow.from == arrow.to {
        let end = if (end - start).abs() < 12.0 { start + 12.0 } else { end };
        let low = Point { x: f64::midpoint(start, end), y: from.bottom + HANG };
        let mut corners = vec![Point { x: start, y: from.bottom }, low];
        corners.extend(arrow.arrived.map(|_| Point { x: end, y: from.bottom }));
        return corners;
    }
    let down = arrow.from < arrow.to;
    let (y1, y2) = if down { (from.bottom, to.top) } else { (from.top, to.bottom) };
    let share = if arrow.arrived.is_some() { 1.0 } else { 0.5 };
    let until = Point { x: start + (end - start) * share, y: y1 + (y2 - y1) * share };
    vec![Point { x: start, y: y1 }, until]
}

/// The best place beside the line, in the gaps between lanes that it passes.
fn label(
    index: usize,
    courses: &[Course<'_>],
    lanes: &[LaneBox<'_>],
    taken: &[Rect],
    right: f64,
) -> Option<(Rect, String)> {
    let course = &courses[index];
    let full = text::one_line(&course.arrow.label);
    let brief = text::fit(&full, text::width(&full, LABEL_SIZE, false) * 0.55, LABEL_SIZE, false);
    for text in [Some(full.clone()), brief].into_iter().flatten() {
        if text.is_empty() {
            return None;
        }
        let width = text::width(&text, LABEL_SIZE, false) + 2.0;
        // The first place with the fewest lines behind it.
        let mut best: Option<(usize, Rect)> = None;
        for at in candidates(course, lanes, width) {
            if at.right() > right
                || at.x < PLOT_LEFT - 44.0
                || taken.iter().any(|other| other.overlaps(&at))
            {
                continue;
            }
            let fewer = best.map_or(MOST_CROSSED + 1, |(least, _)| least);
            let crossed = courses.iter().filter(|other| crosses(other, &at)).take(fewer).count();
            if crossed < fewer {
                best = Some((crossed, at));
            }
            if crossed == 0 {
                break;
            }
        }
        if let Some((_, at)) = best {
            return Some((at, text));
        }
    }
    None
}

fn crosses(course: &Course<'_>, at: &Rect) -> bool {
    course.corners.windows(2).any(|pair| at.crossed_by(pair[0], pair[1]))
}

/// Places for a label, the better ones first: near the sender, right of the line, then left.
fn candidates(course: &Course<'_>, lanes: &[LaneBox<'_>], width: f64) -> Vec<Rect> {
    let (a, b) = (course.corners[0], course.corners[1]);
    let mut found = Vec::new();
    for (top, bottom) in gaps(course, lanes) {
        let levels = ((bottom - top - 4.0) / LABEL_HEIGHT).max(0.0) as usize;
        for level in 0..levels {
            let y = if b.y > a.y {
                top + 2.0 + level as f64 * LABEL_HEIGHT
            } else {
                bottom - 2.0 - (level + 1) as f64 * LABEL_HEIGHT
            };
            let x_at = |y: f64| a.x + (b.x - a.x) * ((y - a.y) / (b.y - a.y)).clamp(0.0, 1.0);
            let (one, other) = (x_at(y), x_at(y + LABEL_HEIGHT));
            for x in [one.max(other) + 3.0, one.min(other) - 3.0 - width] {
                found.push(Rect { x, y, width, height: LABEL_HEIGHT });
            }
        }
    }
    found
}

/// The gaps between lanes that a course passes, from its sender on.
fn gaps(course: &Course<'_>, lanes: &[LaneBox<'_>]) -> Vec<(f64, f64)> {
    let (from, to) = (course.arrow.from, course.arrow.to);
    let between = |i: usize| (lanes[i].bottom, lanes[i + 1].top);
    let reached = course.corners[course.corners.len() - 1].y;
    let gaps: Vec<(f64, f64)> = match from.cmp(&to) {
        std::cmp::Ordering::Less => (from..to).map(between).collect(),
        std::cmp::Ordering::Greater => (to..from).rev().map(between).collect(),
        std::cmp::Ordering::Equal => vec![(lanes[from].bottom, lanes[from].bottom + HANG + 4.0)],
    };
    let passes = |(top, bottom): &(f64, f64)| {
        from == to || (if from < to { *top < reached } else { *bottom > reached })
    };
    gaps.into_iter().filter(passes).collect()
}
