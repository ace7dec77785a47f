//! Randomness without a hidden generator.

use core::hash::Hasher;
use core::time::Duration;

use siphasher::sip::SipHasher13;

use crate::time::nanos;

/// A source of random numbers that are pure functions of a seed and a purpose.
///
/// The same seed, subject, purpose and attempt give the same number in every run and on every
/// machine, so that a simulated run can be replayed from its seed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Draw {
    seed: u64,
}

impl Draw {
    /// Draws from `seed`, which should be random for each process start.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// A uniform 64-bit number for this subject (usually an election), purpose and attempt.
    #[must_use]
    pub fn number(&self, subject: &str, purpose: &'static str, attempt: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, attempt);
        hasher.write(subject.as_bytes());
        hasher.write_u8(0xff);
        hasher.write(purpose.as_bytes());
        hasher.finish()
    }

    /// A uniform span in `[0, bound)`, or zero when `bound` is zero.
    #[must_use]
    pub fn span(
        &self,
        bound: Duration,
        subject: &str,
        purpose: &'static str,
        attempt: u64,
    ) -> Duration {
        let number = u128::from(self.number(subject, purpose, attempt));
        let scaled = (number * u128::from(nanos(bound))) >> 64;
        Duration::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_all_inputs() {
        let draw = Draw::new(7);
        let base = draw.number("a", "backoff", 1);
        assert_eq!(base, Draw::new(7).number("a", "backoff", 1));
        assert_ne!(base, Draw::new(8).number("a", "backoff", 1));
        assert_ne!(base, draw.number("b", "backoff", 1));
        assert_ne!(base, draw.number("a", "refresh", 1));
        assert_ne!(base, draw.number("a", "backoff", 2));
    }

    #[test]
    fn a_span_stays_below_its_bound() {
        let bound = Duration::from_millis(250);
        let spans = (0..1_000).map(|n| Draw::new(1).span(bound, "a", "x", n));
        assert!(spans.clone().all(|span| span < bound));
        assert!(spans.clone().any(|span| span > bound / 2));
        assert!(spans.clone().any(|span| span < bound / 2));
        assert_eq!(Draw::new(1).span(Duration::ZERO, "a", "x", 0), Duration::ZERO);
    }
}
