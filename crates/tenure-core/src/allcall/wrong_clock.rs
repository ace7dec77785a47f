//! Comparison of wall clocks, which finds the wrong one (ruling 4). K is `max_clock_skew`.
//!
//! A clock that was set back is not wrong yet, but its process renews nothing: `Election::renew`
//! (ruling 3). Setting a clock moves no running lease: `Lease::ends` is on CLOCK_BOOTTIME.

use super::config::Checked;
use crate::clocks::BothClocks;
use crate::time::{Time, WallTime};

/// The wall clock of another participant when it answered a round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Reading {
    pub(super) wall: WallTime,
    /// The time at which this process opened the round: the answer was sent later.
    pub(super) opened: Time,
    /// The time at which this process heard the answer.
    pub(super) heard: Time,
}

impl Reading {
    /// Whether the other clock is further from `own` than two right clocks can be, whenever it was
    /// read between the call and the answer.
    fn contradicts(&self, own: BothClocks, config: &Checked) -> bool {
        let most = config.max_clock_skew.saturating_mul(2).saturating_add(own.apart);
        let since = |then: Time| own.boot.since(then);
        let earliest = self.wall.after(config.drift.shrink(since(self.heard)));
        let latest = self.wall.after(config.drift.stretch(since(self.opened)));
        own.wall.since(latest) > most || earliest.since(own.wall) > most
    }

    /// The other clock at `now`; the delay of its answer is left out.
    fn at(&self, now: BothClocks) -> BothClocks {
        BothClocks { wall: self.wall.after(now.boot.since(self.heard)), ..now }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Clock {
    /// Whether this process's clock is wrong: this process then neither stands nor renews.
    pub(super) off: bool,
    /// Whether the clock is off, or differs from the clock of the only other participant.
    pub(super) differs: bool,
    /// The clocks at the last agreement with others. While no other participant is present: the
    /// clocks at the last round in which this clock had not stepped. While the clock is off: the
    /// last reading of another clock.
    agreed: Option<BothClocks>,
    /// The number of rounds, since the last answer, in which this process heard its own call but no
    /// answer. Rounds count, and not time, because a process that is stopped or cut off makes no
    /// calls.
    silent: Option<u32>,
    /// The end of the last round that could compare the clock.
    compared: Option<Time>,
}

impl Clock {
    /// Judges the clock by the answers of a round. Returns how many clocks differ from this
    /// process's clock, and how many there are.
    ///
    /// The clock is off if more than half of at least two other clocks differ from it. With only
    /// one other clock, this clock is off if it has moved since the two agreed, until both agree
    /// again. If the two have always differed, neither process knows which clock is wrong.
    ///
    /// The comparison takes the present clock, because a lease that is granted now ends by that
    /// clock. If the clock has stepped since the answers, others will drop the claim.
    pub(super) fn judge(
        &mut self,
        readings: &[Reading],
        now: BothClocks,
        config: &Checked,
    ) -> (usize, usize) {
        let differ = |own: BothClocks| {
            readings.iter().filter(|reading| reading.contradicts(own, config)).count()
        };
        let from = differ(now);
        let of = readings.len();
        self.compared = Some(now.boot);
        if of == 0 {
            self.nobody_answered(now, config);
            return (from, of);
        }
        self.silent = Some(0);
        let has_moved = self.agreed.is_some_and(|agreed| {
            let wall = agreed.wall.after(now.boot.since(agreed.boot));
            let stays = self.off && has_stepped(agreed, now, config);
            differ(BothClocks { wall, ..now }) == 0 || stays
        });
        self.off = from * 2 > of && (of >= 2 || has_moved);
        self.differs = self.off || (of == 1 && from == 1);
        if from == 0 {
            self.agreed = Some(now);
        } else if self.off {
            // Compare with the other clock from now on: CLOCK_BOOTTIME drifts away from both wall
            // clocks.
            let other = readings.iter().find(|reading| reading.contradicts(now, config));
            self.agreed = other.map(|reading| reading.at(now));
        }
        (from, of)
    }

    /// Whether a process that need not call has to compare its clock now. The process does so at
    /// least once per lease, to notice a later step of its clock (ruling 4).
    pub(super) fn is_due(&self, now: Time, config: &Checked) -> bool {
        let lately = |last: Time| now.since(last) < config.lease;
        !self.compared.is_some_and(lately)
    }

    /// Judges the clock after a round without answers. A clock that has stepped counts as wrong,
    /// because answers may have been lost. A process without an answer for a whole lease is alone,
    /// and may lead by its clock.
    fn nobody_answered(&mut self, now: BothClocks, config: &Checked) {
        self.silent = self.silent.map(|rounds| rounds.saturating_add(1));
        let asked = |rounds: u32| config.heartbeat.saturating_mul(rounds);
        let alone = self.silent.is_none_or(|rounds| asked(rounds) > config.lease);
        let stepped = self.agreed.is_some_and(|agreed| has_stepped(agreed, now, config));
        self.off = (self.off || stepped) && !alone;
        self.differs = self.off;
        if !stepped {
            self.agreed = Some(now);
        }
    }
}

/// Whether the wall clock has moved against CLOCK_BOOTTIME by more than K. A right clock may move
/// by up to 2K; the next answers then show that it is right.
fn has_stepped(then: BothClocks, now: BothClocks, config: &Checked) -> bool {
    let span = now.boot.since(then.boot);
    let skew = config.max_clock_skew;
    let latest = then.wall.after(config.drift.stretch(span)).after(now.apart);
    let earliest = then.wall.after(config.drift.shrink(span)).before(then.apart);
    now.wall.since(latest) > skew || earliest.since(now.wall) > skew
}
