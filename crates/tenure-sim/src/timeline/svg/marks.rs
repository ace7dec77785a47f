//! Marks of a lane, in rows such that what they say does not overlap.

use super::axis::Axis;
use super::{PLOT_LEFT, text};
use crate::timeline::Mark;

pub(super) const MARK_SIZE: f64 = 10.5;
/// Half of a symbol, and the space around it.
const HALF: f64 = 5.0;
/// From the middle of a symbol to its text.
const TO_TEXT: f64 = 8.0;
/// Between one mark with its text and the next, so that each text has one symbol beside it.
const APART: f64 = 8.0;
const MOST_ROWS: usize = 4;

/// A mark with a row, and with what of its label has room.
pub(super) struct Flag<'a> {
    pub(super) mark: &'a Mark,
    pub(super) x: f64,
    pub(super) row: usize,
    /// The text, and where it begins.
    pub(super) text: Option<(f64, String)>,
}

/// The marks and the number of rows. Those nearest to the violation choose first.
pub(super) fn place<'a>(
    marks: impl Iterator<Item = &'a Mark>,
    violation: Option<(u64, &str)>,
    axis: &Axis,
    right: f64,
) -> (Vec<Flag<'a>>, usize) {
    let mut marks: Vec<&Mark> = marks.collect();
    let focus = violation.map_or(u64::MAX, |(at, _)| at);
    marks.sort_by_key(|mark| mark.at.abs_diff(focus));
    let line = violation.map(|(at, _)| axis.x(at));
    let mut rows: [Vec<(f64, f64)>; MOST_ROWS] = Default::default();
    let mut flags = Vec::new();
    for mark in marks {
        let flag = flag(mark, axis.x(mark.at), line, right, &rows);
        let (mut from, mut until) = (flag.x - HALF, flag.x + HALF);
        if let Some((x, text)) = &flag.text {
            from = from.min(*x);
            until = until.max(x + text::width(text, MARK_SIZE, false) + 2.0);
        }
        rows[flag.row].push((from - APART, until + APART));
        flags.push(flag);
    }
    flags.sort_by(|a, b| a.x.total_cmp(&b.x));
    let used = flags.iter().map(|flag| flag.row + 1).max().unwrap_or(0);
    (flags, used)
}

fn flag<'a>(
    mark: &'a Mark,
    x: f64,
    line: Option<f64>,
    right: f64,
    rows: &[Vec<(f64, f64)>],
) -> Flag<'a> {
    let label = text::one_line(&mark.label);
    let width = text::width(&label, MARK_SIZE, false);
    let free = |row: usize, from: f64, until: f64| {
        rows[row].iter().all(|(a, b)| until <= *a || *b <= from)
    };
    // A text never lies across the red line; the symbol may lie on it.
    let clear = |from: f64, until: f64| {
        until <= right && line.is_none_or(|at| until < at - 3.0 || from > at + 3.0)
    };
    for row in 0..rows.len() {
        if label.is_empty() {
            break;
        }
        for start in [x + TO_TEXT, x - TO_TEXT - width] {
            let (from, until) = ((x - HALF).min(start), (x + HALF).max(start + width + 2.0));
            if clear(start, start + width) && start > PLOT_LEFT - 66.0 && free(row, from, until) {
                return Flag { mark, x, row, text: Some((start, label)) };
            }
        }
    }
    // No room for all of it: as much as there is on the right, in the roomiest row.
    let room = |row: usize| {
        let others = rows[row].iter().filter(|(a, _)| *a >= x + HALF).map(|(a, _)| *a);
        let wall = line.filter(|at| *at > x + 3.0).map(|at| at - 3.0);
        others.chain(wall).fold(right, f64::min) - (x + TO_TEXT) - 3.0
    };
    let open = (0..rows.len()).filter(|row| free(*row, x - HALF, x + HALF));
    let row = open.max_by(|a, b| room(*a).total_cmp(&room(*b)).then(b.cmp(a)));
    let short = row.and_then(|row| text::fit(&label, room(row), MARK_SIZE, false));
    Flag { mark, x, row: row.unwrap_or(0), text: short.map(|short| (x + TO_TEXT, short)) }
}
