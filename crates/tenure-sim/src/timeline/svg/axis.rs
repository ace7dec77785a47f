//! From true time to places across, with long waits cut out where they crowd the rest.

use super::units::Scale;

/// How wide a cut is drawn, whatever it leaves out.
const CUT: f64 = 30.0;
/// A wait is worth cutting when it takes more than this.
const WORTH: f64 = 100.0;
/// Two instants that are closer than this cannot be told apart easily.
const CROWDED: f64 = 11.0;
/// More cuts than this would be harder to read than the waits.
const MOST_CUTS: usize = 16;
/// Between two labelled ticks.
const TICK: f64 = 84.0;

/// True time, in stretches of one and the same scale with cuts between them.
pub(super) struct Axis {
    stretches: Vec<Stretch>,
    /// Units of the picture for a nanosecond.
    scale: f64,
    right: f64,
}

struct Stretch {
    from: u64,
    until: u64,
    x: f64,
}

/// A wait that is left out.
pub(super) struct Cut {
    /// Where the cut begins and ends in the picture.
    pub(super) left: f64,
    pub(super) right: f64,
    /// How much is left out, in nanoseconds.
    pub(super) length: u64,
}

/// A line of the grid.
pub(super) struct Tick {
    pub(super) x: f64,
    pub(super) label: String,
}

impl Axis {
    /// The axis on which all `instants` have a place, from `left` to `right`.
    pub(super) fn new(mut instants: Vec<u64>, left: f64, right: f64) -> Self {
        instants.sort_unstable();
        instants.dedup();
        if instants.is_empty() {
            instants.push(0);
        }
        if let [only] = instants[..] {
            let later = only.saturating_add(1_000);
            instants = if later > only { vec![only, later] } else { vec![only - 1_000, only] };
        }
        let cuts = choose_cuts(&instants, right - left);
        let (first, last) = (instants[0], instants[instants.len() - 1]);
        let kept =
            (last - first) - cuts.iter().map(|i| instants[i + 1] - instants[*i]).sum::<u64>();
        let scale = (right - left - CUT * cuts.len() as f64) / kept.max(1) as f64;
        let mut stretches = Vec::new();
        let (mut from, mut x) = (first, left);
        for until in cuts.iter().map(|i| instants[*i]).chain([last]) {
            stretches.push(Stretch { from, until, x });
            x += (until - from) as f64 * scale + CUT;
            let after = instants.partition_point(|instant| *instant <= until);
            from = instants.get(after).copied().unwrap_or(last);
        }
        Self { stretches, scale, right }
    }

    /// Where `at` is; outside the axis, its nearer end.
    pub(super) fn x(&self, at: u64) -> f64 {
        let next = self.stretches.partition_point(|stretch| stretch.from <= at);
        let Some(stretch) = next.checked_sub(1).and_then(|i| self.stretches.get(i)) else {
            return self.stretches[0].x;
        };
        if at <= stretch.until {
            return stretch.x + (at - stretch.from) as f64 * self.scale;
        }
        let end = self.end(stretch);
        match self.stretches.get(next) {
            Some(later) => {
                let share = (at - stretch.until) as f64 / (later.from - stretch.until) as f64;
                end + share * (later.x - end)
            }
            None => self.right,
        }
    }

    /// Between the end of one stretch and the beginning of the next.
    pub(super) fn cuts(&self) -> Vec<Cut> {
        let pairs = self.stretches.iter().zip(self.stretches.iter().skip(1));
        pairs
            .map(|(a, b)| Cut { left: self.end(a), right: b.x, length: b.from - a.until })
            .collect()
    }

    /// The lines of the grid: at multiples of one step, and where a stretch is too short to hold
    /// one, at its beginning.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let last = self.stretches[self.stretches.len() - 1].until;
        let scale = Scale::new(TICK / self.scale, last);
        let mut ticks = Vec::new();
        for stretch in &self.stretches {
            let before = ticks.len();
            let mut at = stretch.from.div_ceil(scale.step).checked_mul(scale.step);
            while let Some(tick) = at.filter(|at| *at <= stretch.until) {
                ticks.push(Tick { x: self.x(tick), label: scale.label(tick) });
                at = tick.checked_add(scale.step);
            }
            if ticks.len() == before {
                let fine = Scale::new(scale.step as f64 / 20.0, last);
                ticks.push(Tick { x: stretch.x, label: fine.label(stretch.from) });
            }
        }
        ticks
    }

    fn end(&self, stretch: &Stretch) -> f64 {
        stretch.x + (stretch.until - stretch.from) as f64 * self.scale
    }
}

/// After which instants the wait is cut out, in order: the longest first, for as long as many
/// instants are crowded and there is a wait whose room would help them.
fn choose_cuts(instants: &[u64], room: f64) -> Vec<usize> {
    let waits: Vec<u64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut longest: Vec<usize> = (0..waits.len()).collect();
    longest.sort_by_key(|i| (std::cmp::Reverse(waits[*i]), *i));
    let mut kept: u64 = waits.iter().sum();
    let mut cuts = Vec::new();
    for next in longest.into_iter().take(MOST_CUTS) {
        let scale = (room - CUT * cuts.len() as f64) / kept.max(1) as f64;
        let crowded = waits.iter().filter(|wait| (**wait as f64) * scale < CROWDED).count();
        let worth = waits[next] as f64 * scale > WORTH && kept > waits[next];
        if crowded * 4 <= waits.len() || !worth {
            break;
        }
        kept -= waits[next];
        cuts.push(next);
    }
    cuts.sort_unstable();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_long_wait_between_bursts_is_cut_out() {
        let burst = |at: u64| (0..10).map(move |i| at + i * MS);
        let instants: Vec<u64> = burst(0).chain(burst(5_000 * MS)).collect();
        let axis = Axis::new(instants.clone(), 0.0, 1_000.0);
        let cuts = axis.cuts();
        assert_eq!(cuts.len(), 1);
        assert_eq!(cuts[0].length, 4_991 * MS);
        assert!((cuts[0].right - cuts[0].left - CUT).abs() < 1e-6);
        let xs: Vec<f64> = instants.iter().map(|at| axis.x(*at)).collect();
        assert!(xs.windows(2).all(|pair| pair[1] - pair[0] > CROWDED), "{xs:?}");
        assert!((axis.x(2_500 * MS) - (cuts[0].left + cuts[0].right) / 2.0).abs() < 1.0);
        assert!((xs[19] - 1_000.0).abs() < 1e-6 && xs[0] == 0.0);
    }

    #[test]
    fn what_is_readable_is_not_cut() {
        let even: Vec<u64> = (0..8).map(|i| i * 700 * MS).collect();
        assert!(Axis::new(even, 0.0, 1_000.0).cuts().is_empty());
    }

    #[test]
    fn every_stretch_has_a_labelled_tick() {
        let instants = [0, MS, 2 * MS, 3 * MS, 777_777_000_123, 777_777_000_200];
        let axis = Axis::new(instants.to_vec(), 0.0, 1_000.0);
        let ticks = axis.ticks();
        assert!(!axis.cuts().is_empty());
        for cut in axis.cuts() {
            assert!(ticks.iter().any(|tick| tick.x <= cut.left));
            assert!(ticks.iter().any(|tick| tick.x >= cut.right));
        }
    }

    #[test]
    fn the_ends_of_time_have_a_place() {
        for instants in [vec![], vec![0], vec![u64::MAX], vec![0, u64::MAX], vec![3, 4, u64::MAX]] {
            let axis = Axis::new(instants, 10.0, 20.0);
            for at in [0, 1, 3, u64::MAX / 2, u64::MAX] {
                assert!((10.0 - 1e-6..=20.0 + 1e-6).contains(&axis.x(at)));
            }
            assert!(axis.ticks().len() < 100);
        }
    }
}
