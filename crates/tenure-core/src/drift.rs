//! The bound on clocks: the one place where `1 ± ρ` is applied and rounded.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::{Time, nanos};

const BILLION: u32 = 1_000_000_000;

/// The largest rate error ρ that any participating clock is assumed to have (Nerio, section 3,
/// equation 15). Over a real span `s`, such a clock advances by at least `(1 − ρ)s` and at most
/// `(1 + ρ)s`.
///
/// `Drift` keeps parts per billion so that all arithmetic is exact. Each method rounds against the
/// claimant: a claim becomes shorter, a wait for a claim longer.
///
/// ```
/// use core::time::Duration;
/// use tenure_core::Drift;
///
/// let rho: Drift = "0.001".parse().unwrap();
/// assert_eq!(rho.shrink(Duration::from_secs(5)), Duration::from_millis(4_995));
/// assert_eq!(rho.stretch(Duration::from_secs(5)), Duration::from_millis(5_005));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Drift(u32);

impl Drift {
    /// ρ = 10⁻³. Linux slews a clock by up to 5·10⁻⁴ under NTP, so the paper's 10⁻⁵ is too small.
    pub const DEFAULT: Self = Self(1_000_000);
    /// Perfect clocks, for examples on paper.
    pub const ZERO: Self = Self(0);

    /// Takes ρ in parts per billion. Returns [`DriftError`] unless ρ is below one.
    pub const fn from_parts_per_billion(parts: u32) -> Result<Self, DriftError> {
        if parts < BILLION { Ok(Self(parts)) } else { Err(DriftError::NotBelowOne) }
    }

    /// ρ in parts per billion.
    #[must_use]
    pub const fn parts_per_billion(self) -> u32 {
        self.0
    }

    /// `⌊(1 − ρ)·span⌋`: the part of a real `span` that a claimant may use, on its own clock.
    #[must_use]
    pub fn shrink(self, span: Duration) -> Duration {
        scale(span, BILLION - self.0, BILLION, Rounding::Down)
    }

    /// `⌈(1 + ρ)·span⌉`: the span for which a grantor must hold a grant, on its own clock.
    #[must_use]
    pub fn stretch(self, span: Duration) -> Duration {
        scale(span, BILLION + self.0, BILLION, Rounding::Up)
    }

    /// `⌊span / (1 + ρ)⌋`: the shortest real time that `span` on a clock can stand for.
    #[must_use]
    pub fn real_at_least(self, span: Duration) -> Duration {
        scale(span, BILLION, BILLION + self.0, Rounding::Down)
    }

    /// `⌈span / (1 − ρ)⌉`: the longest real time that `span` on a clock can stand for.
    #[must_use]
    pub fn real_at_most(self, span: Duration) -> Duration {
        scale(span, BILLION, BILLION - self.0, Rounding::Up)
    }

    /// Tells whether the first of two clocks is too fast beside the second. `fast` and `slow` are
    /// two instants of each clock, read at the same two events. For the two advances the result is
    /// `(1 − ρ)·fast − (1 + ρ)·slow`, exact, in 10⁻⁹ ns. Above zero, no real span allows both
    /// advances on clocks within ρ.
    pub(crate) fn surplus(self, fast: [Time; 2], slow: [Time; 2]) -> i128 {
        let advance =
            |[from, to]: [Time; 2]| i128::from(to.as_nanos()) - i128::from(from.as_nanos());
        advance(fast) * i128::from(BILLION - self.0) - advance(slow) * i128::from(BILLION + self.0)
    }

    /// The most by which a clock within ρ can advance more than another clock within ρ, in parts
    /// per billion: `⌊(1 + ρ)/(1 − ρ) − 1⌋`.
    #[must_use]
    pub fn apart_max(self) -> u64 {
        let (twice, slow) = (2 * u64::from(self.0), u64::from(BILLION - self.0));
        twice * u64::from(BILLION) / slow
    }
}

impl Default for Drift {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

fn scale(span: Duration, times: u32, over: u32, rounding: Rounding) -> Duration {
    let span = nanos(span);
    let times = u64::from(times);
    let over = u64::from(over);
    // Split off whole multiples of `over`: the remainder, multiplied by `times`, is below 2⁶⁴, so
    // 64 bits suffice.
    let whole = span / over;
    let rest = span % over * times;
    let part = match rounding {
        Rounding::Down => rest / over,
        Rounding::Up => rest.div_ceil(over),
    };
    let scaled = u128::from(whole) * u128::from(times) + u128::from(part);
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// The reason why a ρ was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DriftError {
    #[error(
        "the drift bound must be below 1: with 1 or more a clock may stand still, and such a clock \
         cannot time a lease"
    )]
    NotBelowOne,
    #[error(
        "the drift bound must be a decimal fraction such as 0.001, with at most nine digits after \
         the point"
    )]
    NotAFraction,
}

impl FromStr for Drift {
    type Err = DriftError;

    fn from_str(text: &str) -> Result<Self, DriftError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return Err(DriftError::NotAFraction);
        }
        if whole.bytes().any(|b| b != b'0') {
            return Err(DriftError::NotBelowOne);
        }
        let parts: u32 = fraction.parse().map_err(|_| DriftError::NotAFraction)?;
        let missing = 9 - u32::try_from(fraction.len()).unwrap_or(9);
        Self::from_parts_per_billion(parts * 10_u32.pow(missing))
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0");
        }
        let mut parts = self.0;
        let mut width = 9;
        while parts.is_multiple_of(10) {
            parts /= 10;
            width -= 1;
        }
        write!(f, "0.{parts:0width$}")
    }
}

impl fmt::Debug for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Drift({self})")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounding_goes_against_the_claimant(span in 0_u64..1 << 50, parts in 0_u32..BILLION) {
            let rho = Drift::from_parts_per_billion(parts).unwrap();
            let d = Duration::from_nanos(span);
            let down = rho.shrink(d);
            let up = rho.stretch(d);
            let exact = u128::from(span) * u128::from(parts);
            let billion = u128::from(BILLION);
            prop_assert!((u128::from(span) * billion - exact) >= down.as_nanos() * billion);
            prop_assert!((u128::from(span) * billion + exact) <= up.as_nanos() * billion);
            prop_assert!(rho.stretch(rho.real_at_least(d)) <= d);
            let most = rho.real_at_most(d);
            prop_assert!(rho.shrink(most) >= d || nanos(most) == u64::MAX, "or it saturates");
        }

        #[test]
        fn a_scaled_span_is_exact(span: u64, times in 1..2 * BILLION, over in 1..2 * BILLION) {
            let product = u128::from(span) * u128::from(times);
            let of = |exact: u128| Duration::from_nanos(u64::try_from(exact).unwrap_or(u64::MAX));
            let scaled = |rounding| scale(Duration::from_nanos(span), times, over, rounding);
            prop_assert_eq!(scaled(Rounding::Down), of(product / u128::from(over)));
            prop_assert_eq!(scaled(Rounding::Up), of(product.div_ceil(u128::from(over))));
        }

        #[test]
        fn parsed_text_prints_back(parts in 0_u32..BILLION) {
            let rho = Drift::from_parts_per_billion(parts).unwrap();
            prop_assert_eq!(rho.to_string().parse::<Drift>(), Ok(rho));
        }
    }

    #[test]
    fn drift_is_a_fraction_below_one() {
        for text in ["1", "1.0", "2.5", "10"] {
            assert_eq!(text.parse::<Drift>(), Err(DriftError::NotBelowOne), "{text}");
        }
        for text in ["", ".", "0.", ".5", "-0.1", "0.0000000001", "1e-3", "0.1x", " 0.1"] {
            assert_eq!(text.parse::<Drift>(), Err(DriftError::NotAFraction), "{text}");
        }
        assert_eq!(Drift::from_parts_per_billion(BILLION), Err(DriftError::NotBelowOne));
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        assert_eq!(Drift::DEFAULT.stretch(Duration::MAX), Duration::from_nanos(u64::MAX));
    }
}
