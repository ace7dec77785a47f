//! Counts of a run, and their sums.

use std::time::Duration;

use super::book::{Book, Cause, Traffic, Vacancy};
use crate::scenario::plan::nanos;

/// Counts in calendar time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Simulated calendar time.
    pub time: Duration,
    /// Vacancies in order, one stretch after the other.
    pub vacancies: Vec<Vacancy>,
    /// Total vacancy.
    pub vacant: Duration,
    /// How often the rest of a leader's lease fell below the grace, although the leader and a
    /// quorum ran: `tenure run` would have stopped its command.
    pub close_calls: u64,
    pub renewals: u64,
    /// Renewals by number of attempts: one, two, …; the last place is for more.
    pub attempts: [u64; 8],
    /// Datagrams, while they were counted.
    pub traffic: Traffic,
    /// Number of inputs to cores, and of incidents.
    pub events: u64,
}

impl Figures {
    /// The figures of a stretch from its book, between `from` and `to`.
    pub(super) fn of(book: &mut Book, from: u64, to: u64, events: u64) -> Self {
        let mut vacancies = std::mem::take(&mut book.vacancies);
        vacancies.iter_mut().for_each(|vacancy| vacancy.since -= from);
        Self {
            time: Duration::from_nanos(to - from),
            vacancies,
            vacant: Duration::from_nanos(book.vacant_for),
            close_calls: book.close_calls,
            renewals: book.renewals,
            attempts: book.attempts,
            traffic: book.traffic,
            events,
        }
    }

    /// Adds another stretch, as if it came after this one.
    pub(super) fn append(&mut self, other: Self) {
        let before = nanos(self.time);
        let moved = |vacancy: Vacancy| Vacancy { since: vacancy.since + before, ..vacancy };
        self.vacancies.extend(other.vacancies.into_iter().map(moved));
        self.time += other.time;
        self.vacant += other.vacant;
        self.close_calls += other.close_calls;
        self.renewals += other.renewals;
        for (all, more) in self.attempts.iter_mut().zip(other.attempts) {
            *all += more;
        }
        self.traffic.counted += other.traffic.counted;
        self.traffic.by_leader += other.traffic.by_leader;
        self.traffic.by_others += other.traffic.by_others;
        self.traffic.bytes += other.traffic.bytes;
        self.events += other.events;
    }

    /// The number of vacancies with this cause.
    #[must_use]
    pub fn count(&self, cause: Cause) -> usize {
        self.vacancies.iter().filter(|vacancy| vacancy.cause == cause).count()
    }

    /// The lengths of vacancies with this cause.
    #[must_use]
    pub fn spread(&self, cause: Cause) -> Spread {
        let of = self.vacancies.iter().filter(|vacancy| vacancy.cause == cause);
        Spread::new(of.map(|vacancy| vacancy.lasted).collect())
    }

    #[must_use]
    pub fn messages_per_second(&self) -> f64 {
        let Traffic { counted, by_leader, by_others, .. } = self.traffic;
        per_second((by_leader + by_others) as f64, counted)
    }

    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        per_second(self.traffic.bytes as f64, self.traffic.counted)
    }
}

pub(super) fn per_second(count: f64, over: Duration) -> f64 {
    if over.is_zero() { 0.0 } else { count / over.as_secs_f64() }
}

/// A sorted sample of spans.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    sorted: Vec<Duration>,
}

impl Spread {
    #[must_use]
    pub fn new(mut sample: Vec<Duration>) -> Self {
        sample.sort_unstable();
        Self { sorted: sample }
    }

    /// All spans, the shortest first.
    #[must_use]
    pub fn sorted(&self) -> &[Duration] {
        &self.sorted
    }

    /// The number of spans.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The shortest span that a share `part` (0 to 1) of the sample does not exceed; zero for an
    /// empty sample.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        let rank = (part * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
    }

    #[must_use]
    pub fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }

    /// The mean; zero for an empty sample.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let all: Duration = self.sorted.iter().sum();
        all.checked_div(u32::try_from(self.sorted.len()).unwrap_or(u32::MAX)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_in_the_sample() {
        let spread = Spread::new((1..=100).rev().map(Duration::from_secs).collect());
        let at = |part| spread.quantile(part).as_secs();
        assert_eq!([at(0.0), at(0.5), at(0.99), at(1.0)], [1, 50, 99, 100]);
        assert_eq!((spread.mean(), spread.max().as_secs()), (Duration::from_millis(50_500), 100));
        assert_eq!(Spread::default().quantile(0.5), Duration::ZERO);
        assert_eq!(Spread::default().mean(), Duration::ZERO);
    }
}
