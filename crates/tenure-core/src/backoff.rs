//! Pauses after failures.

use core::time::Duration;

/// Pauses that double, from the first to the longest. The second half of each pause is random, so
/// that nodes that failed together do not retry together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    /// Half of the pause after the first failure.
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// The pause after the `failures`-th failure in a row. `draw` gives a span below its argument.
    pub fn pause(&self, failures: u32, draw: impl FnOnce(Duration) -> Duration) -> Duration {
        let pause = self.first.saturating_mul(1 << failures.min(20)).min(self.longest);
        pause / 2 + draw(pause / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_longest() {
        let ms = Duration::from_millis;
        let backoff = Backoff { first: ms(50), longest: ms(2_000) };
        let shortest = [1, 2, 3, 6, u32::MAX].map(|n| backoff.pause(n, |_| Duration::ZERO));
        assert_eq!(shortest, [50, 100, 200, 1_000, 1_000].map(ms));
        assert_eq!(backoff.pause(6, |bound| bound), ms(2_000));
    }
}
