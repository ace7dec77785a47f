//! The axis: maps true time to horizontal places.

use std::ops::Range;

/// The width of a nearly empty plot, and the extra width of each instant.
const LEAST_WIDTH: f64 = 1_100.0;
const WIDTH_OF_INSTANT: f64 = 8.0;
/// A wait longer than this many usual waits is drawn shortened to that length.
const MOST_OF_USUAL: u64 = 4;
/// Distance between two labelled instants.
const APART: f64 = 90.0;

/// The instants with events, and their places. All waits between them have one scale, except the
/// longest, which would leave no room to the others.
pub(super) struct Axis {
    places: Vec<(u64, f64)>,
    longest: u64,
    pub(super) right: f64,
}

impl Axis {
    /// The axis of these instants, from `left` on.
    pub(super) fn new(mut instants: Vec<u64>, left: f64) -> Self {
        instants.sort_unstable();
        instants.dedup();
        let mut waits: Vec<u64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
        waits.sort_unstable();
        let usual = waits.get(waits.len() / 2).copied().unwrap_or(0);
        let longest = usual.saturating_mul(MOST_OF_USUAL);
        let drawn: f64 = waits.iter().map(|wait| (*wait).min(longest) as f64).sum();
        let width = (instants.len() as f64 * WIDTH_OF_INSTANT).max(LEAST_WIDTH);
        let mut before = instants.first().copied().unwrap_or(0);
        let mut passed = 0.0;
        let mut places = Vec::new();
        for at in instants {
            passed += (at - before).min(longest) as f64;
            before = at;
            places.push((at, (left + passed / drawn.max(1.0) * width).round()));
        }
        Self { places, longest, right: left + width }
    }

    /// The place of `at`, or of the first later instant with a place.
    pub(super) fn x(&self, at: u64) -> f64 {
        let next = self.places.partition_point(|(instant, _)| *instant < at);
        self.places.get(next).map_or(self.right, |(_, x)| *x)
    }

    /// The labelled instants: as many as have room.
    pub(super) fn ticks(&self) -> Vec<(u64, f64)> {
        let mut ticks: Vec<(u64, f64)> = Vec::new();
        for (at, x) in self.places.iter().copied() {
            if ticks.last().is_none_or(|(_, last)| x - last >= APART) {
                ticks.push((at, x));
            }
        }
        ticks
    }

    /// The places of shortened waits, with their real lengths.
    pub(super) fn shortened(&self) -> impl Iterator<Item = (Range<f64>, u64)> {
        let waits =
            self.places.windows(2).map(|pair| (pair[0].1..pair[1].1, pair[1].0 - pair[0].0));
        waits.filter(move |(_, length)| *length > self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_are_shortened() {
        let axis = Axis::new(vec![0, 20, 10, 30, 1_000_000, 1_000_010, 1_000_020, 30], 100.0);
        let step = axis.x(10) - axis.x(0);
        assert!(step > 50.0, "{step}");
        for (one, other) in [(10, 20), (20, 30), (1_000_000, 1_000_010)] {
            assert!((axis.x(other) - axis.x(one) - step).abs() <= 1.0, "{one}");
        }
        let shortened: Vec<_> = axis.shortened().collect();
        assert_eq!(shortened, [(axis.x(30)..axis.x(1_000_000), 999_970)]);
        assert_eq!((axis.x(0), axis.x(1_000_020)), (100.0, axis.right));
    }

    #[test]
    fn labelled_instants_are_apart() {
        let ticks = Axis::new((0..1_000).collect(), 0.0).ticks();
        assert!(ticks.len() > 50 && ticks.windows(2).all(|pair| pair[1].1 - pair[0].1 >= APART));
    }
}
