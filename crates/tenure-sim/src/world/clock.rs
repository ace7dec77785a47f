//! A clock with its own rate and origin.

use tenure_core::{Drift, Time};

/// The rate of true time. Rates are fractions of 2³⁰.
pub const TRUE_RATE: u64 = 1 << 30;

/// A hardware clock: local time as a function of true time. The rate changes at given instants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Clock {
    /// Start of each piece in true time, the reading at that time, and the rate.
    pieces: Vec<Piece>,
    /// Begin of the last piece in true time, and its rate, if this piece also outlasts a reboot.
    settled: Option<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Piece {
    since: u64,
    shown: u64,
    rate: u64,
}

impl Clock {
    /// The slowest and the fastest rate within a bound.
    #[must_use]
    pub fn rates(drift: Drift) -> (u64, u64) {
        let margin = u64::from(drift.parts_per_billion()) * TRUE_RATE / 1_000_000_000;
        (TRUE_RATE - margin, TRUE_RATE + margin)
    }

    /// A clock that shows `origin` at the true time `since`.
    #[must_use]
    pub fn new(since: u64, origin: u64, rate: u64) -> Self {
        Self { pieces: vec![Piece { since, shown: origin, rate }], settled: None }
    }

    /// Changes the rate at the true time `since`. Instants must increase.
    pub fn change(&mut self, since: u64, rate: u64) {
        let shown = self.shows(since).as_nanos();
        self.pieces.push(Piece { since, shown, rate });
    }

    /// Fixes the rate from the true time `since` on, and drops all later changes of rate.
    pub fn settle(&mut self, since: u64, rate: u64) {
        let shown = self.shows(since).as_nanos();
        self.pieces.retain(|piece| piece.since < since);
        self.pieces.push(Piece { since, shown, rate });
        self.settled = Some((since, rate));
    }

    /// The clock after a reboot at the true time `since`.
    #[must_use]
    pub fn rebooted(&self, since: u64, origin: u64) -> Self {
        let mut clock = Self::new(since, origin, self.rate(since));
        if let Some((at, rate)) = self.settled.filter(|(at, _)| *at > since) {
            clock.settle(at, rate);
        }
        clock
    }

    /// Jumps ahead by `by` at the true time `since`.
    pub fn jump(&mut self, since: u64, by: u64) {
        let shown = self.shows(since).as_nanos() + by;
        self.pieces.push(Piece { since, shown, rate: self.rate(since) });
    }

    /// Reading of the clock at the true time `at`.
    #[must_use]
    pub fn shows(&self, at: u64) -> Time {
        let piece = self.pieces.iter().rev().find(|piece| piece.since <= at);
        let piece = piece.unwrap_or(&self.pieces[0]);
        let passed = u128::from(at.saturating_sub(piece.since)) * u128::from(piece.rate);
        Time::from_nanos(piece.shown + (passed >> 30) as u64)
    }

    /// The first true time at which the clock shows `local` or more.
    #[must_use]
    pub fn reaches(&self, local: Time) -> u64 {
        let local = local.as_nanos();
        let piece = self.pieces.iter().rev().find(|piece| piece.shown <= local);
        let Some(piece) = piece else { return self.pieces[0].since };
        let next = self.pieces.iter().find(|next| next.since > piece.since);
        // ⌈ahead · 2³⁰ / rate⌉ as two divisions of one word, which is far cheaper than one division
        // of two words.
        let ahead = local - piece.shown;
        let whole = ahead / piece.rate;
        let rest = ahead % piece.rate;
        let real = (u128::from(whole) << 30) + u128::from((rest << 30).div_ceil(piece.rate));
        let at = piece.since.saturating_add(u64::try_from(real).unwrap_or(u64::MAX));
        next.map_or(at, |next| at.min(next.since))
    }

    /// Whether the clock keeps to this bound, and never jumps.
    #[must_use]
    pub fn is_within(&self, drift: Drift) -> bool {
        let (slow, fast) = Self::rates(drift);
        let continues = |pair: &[Piece]| {
            let [before, after] = pair else { return true };
            let passed = u128::from(after.since - before.since) * u128::from(before.rate);
            before.shown + (passed >> 30) as u64 == after.shown
        };
        let legal = |piece: &Piece| (slow..=fast).contains(&piece.rate);
        self.pieces.iter().all(legal) && self.pieces.windows(2).all(continues)
    }

    #[must_use]
    pub fn rate(&self, at: u64) -> u64 {
        let piece = self.pieces.iter().rev().find(|piece| piece.since <= at);
        piece.unwrap_or(&self.pieces[0]).rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_reached_when_shown() {
        let mut clock = Clock::new(100, 5_000, TRUE_RATE + TRUE_RATE / 10);
        clock.change(1_000, TRUE_RATE - TRUE_RATE / 10);
        clock.jump(2_000, 500);
        for local in 5_000..9_000 {
            let at = clock.reaches(Time::from_nanos(local));
            assert!(clock.shows(at) >= Time::from_nanos(local), "{local} at {at}");
            if at > 100 {
                assert!(clock.shows(at - 1) < Time::from_nanos(local), "{local} before {at}");
            }
        }
    }
}
