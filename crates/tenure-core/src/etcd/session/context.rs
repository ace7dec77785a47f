//! Calls about leases, and pauses after failures.

use core::time::Duration;

use super::outcome::SessionEvent;
use crate::backoff::Backoff;
use crate::etcd::calls::Asker;
use crate::etcd::config::BACKOFF;
use crate::etcd::context::Context;
use crate::etcd::event::{Ignored, OwnEvent};
use crate::etcd::message::{CallId, Op, Refusal, Reply};
use crate::etcd::words::emit;
use crate::time::Time;

impl Context<'_> {
    pub(super) fn pause(&self, failures: u32, backoff: Backoff, purpose: &'static str) -> Duration {
        let attempt = u64::from(failures);
        backoff.pause(failures, |bound| self.draw.span(bound, "session", purpose, attempt))
    }

    /// Counts another failure in a row, and returns the time of the next attempt.
    pub(super) fn again(&self, failures: &mut u32, purpose: &'static str) -> Time {
        *failures = failures.saturating_add(1);
        self.now.after(self.pause(*failures, BACKOFF, purpose))
    }

    pub(in crate::etcd) fn patience(&self) -> Duration {
        self.config.patience(self.config.ttl())
    }

    pub(in crate::etcd) fn ask(&mut self, within: Duration, op: Op) -> CallId {
        self.calls.ask(self.now, within, Asker::Session, op, self.out)
    }

    /// Reports an answer that is neither a success nor a refusal.
    pub(super) fn unsure(&mut self, doing: &'static str, reply: Reply) {
        let event = match reply {
            Reply::Unknown { why } => OwnEvent::Unsure { doing, why },
            _ => OwnEvent::Ignored(Ignored::Misfit),
        };
        emit(None, event, self.out);
    }

    pub(super) fn refused(&mut self, doing: &'static str, refusal: Refusal) -> SessionEvent {
        let event = OwnEvent::Obstacle { doing, refusal: refusal.clone() };
        emit(None, event, self.out);
        SessionEvent::Refused(refusal)
    }
}
