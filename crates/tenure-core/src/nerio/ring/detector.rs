//! The failure detector of one neighbour (section 9): plain ping, or φ-accrual.

use alloc::vec::Vec;
use core::time::Duration;

use super::config::{Detector, RingConfig};
use crate::time::Time;

/// Number of measured spans that are kept.
const WINDOW: usize = 64;
/// Least number of measured spans by which a member is judged.
const ENOUGH: usize = 8;
/// z: the distance of the bound from the mean, in standard deviations.
const Z: u128 = 8;

/// Evidence of life of one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Evidence {
    /// Latest time at which the member certainly lived: the Start of the latest answered ping, or
    /// the beginning of the watch. `None` if this node does not watch the member.
    lived: Option<Time>,
    /// Start of the latest answered ping of this watch.
    answered: Option<Time>,
    suspected: bool,
    /// Weak leader that the member named last.
    pub(super) named: Option<usize>,
    spans: Spans,
}

/// The latest spans from an answered ping to the answer that followed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Spans {
    /// Nanoseconds; the oldest is overwritten.
    all: Vec<u64>,
    next: usize,
}

impl Evidence {
    pub(super) const fn is_suspected(&self) -> bool {
        self.suspected
    }

    /// Begins a watch at this time, or goes on with the present watch. `None` ends the watch, and
    /// the member counts as correct.
    pub(super) fn watch(&mut self, since: Option<Time>) {
        match since {
            Some(now) => _ = self.lived.get_or_insert(now),
            None if self.lived.is_none() => {}
            None => {
                let spans = core::mem::take(&mut self.spans);
                *self = Self { spans, ..Self::default() };
            }
        }
    }

    /// Suspects the member if its evidence is too old. A `pause` in which this node itself stood
    /// still does not count.
    pub(super) fn judge(&mut self, now: Time, pause: Duration, config: &RingConfig) {
        if let Some(lived) = &mut self.lived {
            *lived = lived.after(pause).min(now);
            self.suspected |= now.since(*lived) > self.spans.bound(config);
        }
    }

    /// Takes an answer to the ping with this Start. The answer shows that the member lived after
    /// Start, however late it arrives. Returns false if the answer shows nothing new.
    pub(super) fn hear(
        &mut self,
        now: Time,
        start: Time,
        named: Option<usize>,
        config: &RingConfig,
    ) -> bool {
        let (Some(lived), false) = (self.lived, self.answered >= Some(start)) else { return false };
        if let Some(before) = self.answered {
            let span = now.since(before);
            if span <= config.longest() {
                self.spans.observe(span);
            }
        }
        self.answered = Some(start);
        self.lived = Some(lived.max(start));
        self.named = named;
        // Trust only a member whose next answer would still be in time: a slower member would be
        // suspected and trusted again and again.
        let next = now.since(start).saturating_add(config.interval());
        if next <= self.spans.bound(config) {
            self.suspected = false;
        }
        true
    }
}

impl Spans {
    fn observe(&mut self, span: Duration) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        match self.all.get_mut(self.next) {
            Some(oldest) => *oldest = nanos,
            None => self.all.push(nanos),
        }
        self.next = (self.next + 1) % WINDOW;
    }

    /// Age of evidence from which a member is suspected. The standard deviation counts as at least
    /// a quarter of an interval: otherwise a single late answer on a quiet network would count as a
    /// failure.
    fn bound(&self, config: &RingConfig) -> Duration {
        let count = self.all.len();
        if config.detector == Detector::Ping || count < ENOUGH {
            return config.silence;
        }
        let count = count as u128;
        let all = self.all.iter().map(|nanos| u128::from(*nanos));
        let sum: u128 = all.clone().sum();
        let squares: u128 = all.map(|nanos| nanos * nanos).sum();
        let deviation = (count * squares - sum * sum).isqrt() / count;
        let least = config.interval().as_nanos() / 4;
        let bound = sum / count + Z * deviation.max(least);
        let bound = u64::try_from(bound).map_or(Duration::MAX, Duration::from_nanos);
        bound.min(config.longest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn accrual() -> RingConfig {
        RingConfig::new(Detector::Accrual)
    }

    fn of(spans: &[u64]) -> Spans {
        let mut all = Spans::default();
        spans.iter().for_each(|millis| all.observe(ms(*millis)));
        all
    }

    /// Spans with mean 300 ms and σ 100 ms; z = 8.
    #[test]
    fn bound_is_mean_and_deviations() {
        let spans = of(&[200, 400, 200, 400, 200, 400, 200, 400]);
        assert_eq!(spans.bound(&accrual()), ms(300 + 8 * 100));
    }

    #[test]
    fn few_spans_say_nothing() {
        assert_eq!(of(&[20; ENOUGH - 1]).bound(&accrual()), ms(1_000));
        assert_eq!(of(&[20; ENOUGH]).bound(&accrual()), ms(20) + ms(250) / 4 * 8);
        assert_eq!(of(&[20; ENOUGH]).bound(&RingConfig::new(Detector::Ping)), ms(1_000));
    }

    #[test]
    fn bound_has_a_maximum() {
        assert_eq!(of(&[10, 4_000, 10, 4_000, 10, 4_000, 10, 4_000]).bound(&accrual()), ms(4_000));
    }

    #[test]
    fn window_forgets_the_oldest() {
        let mut spans = of(&[3_000; WINDOW]);
        (0..WINDOW).for_each(|_| spans.observe(ms(250)));
        assert_eq!((spans.all.len(), spans.bound(&accrual())), (WINDOW, ms(250 + 500)));
    }

    #[test]
    fn longest_spans_do_not_overflow() {
        let config = RingConfig { silence: RingConfig::SILENCE_MAX, ..accrual() };
        let mut spans = Spans::default();
        (0..WINDOW).for_each(|_| spans.observe(config.longest()));
        assert_eq!(spans.bound(&config), config.longest());
    }
}
