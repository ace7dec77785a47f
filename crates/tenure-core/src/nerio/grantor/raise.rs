//! A larger `delta_max` than before: first known, then waited for, then given.
//!
//! A grantor elsewhere that lost its memory may have asked while this one still answered the
//! smaller one, and have waited no longer than that. What it forgot is an ok to a longer lease,
//! which this grantor must not complete: not before every such ok has ended. So longer leases are
//! given only `(1 + ρ)` of the larger one after the start that brought it. From that start on
//! answers have the larger one, and it is written down when it is given: a start in between waits
//! again.

use core::time::Duration;

use super::super::body::Raising;
use super::super::config::Checked;
use super::super::timer::Timer;
use super::flush::REWRITE;
use super::*;

/// A larger `delta_max` that is not given yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Raise {
    /// What was given before.
    before: Duration,
    stage: Stage,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Waiting { until: Time },
    Writing { flush: Flush },
}

impl Raise {
    /// What a start that allows more than `ever` has to wait for. One that has forgotten its
    /// grants waits as long anyway before it grants at all; before a very first start nobody has
    /// asked.
    pub(super) fn begin(now: Time, kept: &Kept, ever: Duration, config: &Checked) -> Option<Self> {
        let larger = matches!(kept, Kept::Grants(_)) && config.delta_max > ever;
        let stage = Stage::Waiting { until: now.after(config.quarantine()) };
        larger.then_some(Self { before: ever, stage })
    }

    /// What was given before, and is given until then.
    pub(super) const fn before(&self) -> Duration {
        self.before
    }

    /// How much longer it is not given; zero while it is being written down.
    pub(super) fn describe(&self, now: Time) -> Raising {
        let remaining = match self.stage {
            Stage::Waiting { until } => until.since(now),
            Stage::Writing { .. } => Duration::ZERO,
        };
        Raising { before: self.before, remaining }
    }

    pub(super) fn due(&self) -> Option<Deadline> {
        match self.stage {
            Stage::Waiting { until: at } => Some(Timer::LongerLeases.at(at)),
            Stage::Writing { .. } => None,
        }
    }

    /// The flush that it waits for.
    pub(super) const fn flush(&self) -> Option<Flush> {
        match self.stage {
            Stage::Waiting { .. } => None,
            Stage::Writing { flush } => Some(flush),
        }
    }
}

impl Grantor {
    /// The longest lease that this grantor gives now.
    pub(super) fn longest(&self) -> Duration {
        self.raise.as_ref().map_or(self.config.delta_max, Raise::before)
    }

    /// Tells until when longer leases are not given.
    pub(super) fn tell_raise(&self, out: &mut Out) {
        let Some(raise) = &self.raise else { return };
        if let Stage::Waiting { until } = raise.stage {
            let (before, delta_max) = (raise.before, self.delta_max);
            emit(out, None, OwnEvent::RaiseWaits { before, delta_max, until });
        }
    }

    /// Writes the larger one down when it has been waited for.
    pub(super) fn on_raise_due(&mut self, now: Time, out: &mut Out) {
        let due = self.raise.as_ref().and_then(Raise::due);
        if due.is_none_or(|due| now < due.at) {
            return;
        }
        let flush = self.write_identity(now, self.delta_max, out);
        if let Some(raise) = &mut self.raise {
            raise.stage = Stage::Writing { flush };
        }
    }

    /// A flush has ended, maybe this one.
    pub(super) fn raise_flushed(
        &mut self,
        now: Time,
        flushed: Ticket,
        written: bool,
        out: &mut Out,
    ) {
        let Some(raise) = &mut self.raise else { return };
        if raise.flush().is_none_or(|flush| flush.ticket != flushed) {
            return;
        }
        if written {
            self.raise = None;
            emit(out, None, OwnEvent::Raised { delta_max: self.delta_max });
        } else {
            raise.stage = Stage::Waiting { until: now.after(REWRITE) };
        }
    }
}
