//! Random numbers. Each draw has its own number, so that no draw repeats an earlier one.

use core::time::Duration;

use crate::draw::Draw;
use crate::name::ElectionName;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Draws {
    source: Draw,
    made: u64,
}

impl Draws {
    pub(super) const fn new() -> Self {
        Self { source: Draw::new(0), made: 0 }
    }

    pub(super) fn seed(&mut self, seed: u64) {
        self.source = Draw::new(seed);
    }

    pub(super) fn wait(&mut self, bound: Duration, election: &ElectionName) -> Duration {
        self.made += 1;
        self.source.span(bound, election.as_str(), "wait", self.made)
    }

    pub(super) fn vote(&mut self, subject: &str) -> i64 {
        self.made += 1;
        let number = self.source.number(subject, "vote", self.made);
        i64::from_ne_bytes(number.to_ne_bytes())
    }
}
