//! Times as people write them.

/// Nanoseconds to a unit, and its name, from the smallest up.
const UNITS: [(u64, &str); 4] = [(1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];

/// A time without loss, in the largest unit that leaves a whole part: `10.203417 s`.
pub(super) fn exact(nanos: u64) -> String {
    let (unit, name) = unit_of(nanos);
    let digits = unit.ilog10() as usize;
    let (whole, part) = (nanos / unit, nanos % unit);
    if part == 0 {
        return format!("{whole} {name}");
    }
    let part = format!("{part:0digits$}");
    format!("{whole}.{} {name}", part.trim_end_matches('0'))
}

/// About how long, in three digits: `4.98 s`.
pub(super) fn about(nanos: u64) -> String {
    let (unit, name) = unit_of(nanos);
    let value = nanos as f64 / unit as f64;
    let decimals = match nanos / unit {
        _ if nanos.is_multiple_of(unit) => 0,
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {name}")
}

fn unit_of(nanos: u64) -> (u64, &'static str) {
    UNITS.into_iter().rev().find(|(unit, _)| nanos >= *unit).unwrap_or(UNITS[0])
}

/// How the ticks of one axis are labelled, all alike.
pub(super) struct Scale {
    /// Between two ticks, in nanoseconds: 1, 2 or 5 times a power of ten.
    pub(super) step: u64,
    unit: u64,
    name: &'static str,
    decimals: usize,
}

impl Scale {
    /// For ticks at least `least` nanoseconds apart, on an axis that ends at `last`.
    pub(super) fn new(least: f64, last: u64) -> Self {
        let step = round_up(least);
        let fits = |(unit, _): &(u64, &str)| step.max(last) / unit < 1_000;
        let (unit, name) = UNITS.into_iter().find(fits).unwrap_or(UNITS[3]);
        let decimals = (unit.ilog10() as usize).saturating_sub(step.ilog10() as usize);
        Self { step, unit, name, decimals }
    }

    /// The label of the tick at `nanos`, rounded to the step's own decimals.
    pub(super) fn label(&self, nanos: u64) -> String {
        let digits = self.unit.ilog10() as usize;
        let (whole, part) = (nanos / self.unit, nanos % self.unit);
        if self.decimals == 0 {
            return format!("{whole} {}", self.name);
        }
        let part = format!("{part:0digits$}");
        format!("{whole}.{} {}", &part[..self.decimals], self.name)
    }
}

/// The least of 1, 2, 5, 10, 20, 50, … that is not below `least`.
fn round_up(least: f64) -> u64 {
    let mut power = 1_u64;
    loop {
        for digit in [1, 2, 5] {
            let Some(step) = power.checked_mul(digit) else { return u64::MAX };
            if step as f64 >= least {
                return step;
            }
        }
        let Some(next) = power.checked_mul(10) else { return u64::MAX };
        power = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_write_them() {
        assert_eq!(exact(0), "0 ns");
        assert_eq!(exact(10_203_417_000), "10.203417 s");
        assert_eq!(exact(1_500_000), "1.5 ms");
        assert_eq!(exact(u64::MAX), "18446744073.709551615 s");
        assert_eq!(about(4_981_234_567), "4.98 s");
        assert_eq!(about(12_345_678), "12.3 ms");
        assert_eq!(about(5_000_000_000), "5 s");
        assert_eq!(about(0), "0 ns");
    }

    #[test]
    fn ticks_take_a_unit_from_the_step_and_the_range() {
        let fine = Scale::new(430_000.0, 10_200_000_000);
        assert_eq!((fine.step, fine.label(10_203_500_000)), (500_000, "10.2035 s".to_owned()));
        let coarse = Scale::new(1.1e9, 9_000_000_000);
        assert_eq!((coarse.step, coarse.label(4_000_000_000)), (2_000_000_000, "4 s".to_owned()));
        let early = Scale::new(90_000.0, 2_000_000);
        assert_eq!((early.step, early.label(300_000)), (100_000, "0.3 ms".to_owned()));
        assert_eq!(Scale::new(f64::MAX, u64::MAX).step, u64::MAX);
        assert_eq!(Scale::new(0.0, 0).step, 1);
    }
}
