//! Samples and their summaries.

use std::fmt;
use std::time::Duration;

/// Measured spans, in nanoseconds.
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, nanos: f64) {
        self.0.push(nanos);
    }

    pub(crate) fn push_span(&mut self, span: Duration) {
        self.push(span.as_nanos() as f64);
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The smallest sample that is not below this share of the samples.
    fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn print(&self, what: &str) {
        let median = Nanos(self.median());
        let high = Nanos(self.quantile(0.99));
        println!("  {what:46} p50 {median:>9}  p99 {high:>9}");
    }
}

/// Nanoseconds in a form for people.
pub(crate) struct Nanos(pub(crate) f64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            nanos if nanos < 1e3 => format!("{nanos:.1} ns"),
            nanos if nanos < 1e6 => format!("{:.1} µs", nanos / 1e3),
            nanos => format!("{:.1} ms", nanos / 1e6),
        };
        f.pad(&text)
    }
}
