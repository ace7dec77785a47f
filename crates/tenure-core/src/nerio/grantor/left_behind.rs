//! A member that does not know that the others are in a later epoch.
//!
//! - 2.12.7: *In an epoch whose document names memories, a member asks the others for their epochs,
//!   at its start and now and then.* Without this rule: the epoch has the members a and b. An
//!   operator recovers a without b, although the directory of b is intact. Then b starts, and
//!   serves in the old epoch. No message shows b the later epoch, because neither a nor the
//!   candidates know b any more.

use super::super::epoch::Where;
use super::super::timer::Timer;
use super::super::words::{Out, send};
use super::Grantor;
use super::proposals::PAUSE_MAX;
use crate::time::{Deadline, Time};

impl Grantor {
    pub(super) fn ask_epoch_due(&self) -> Option<Deadline> {
        let is_led_on = !self.is_upgraded() && self.removed.is_none();
        let asks = is_led_on && self.is_awake() && self.joining.is_none();
        asks.then(|| Timer::AskEpoch.at(self.ask_epoch_at))
    }

    pub(super) fn on_ask_epoch_due(&mut self, now: Time, out: &mut Out) {
        if self.ask_epoch_due().is_none_or(|due| now < due.at) {
            return;
        }
        self.ask_epoch_at = now.after(PAUSE_MAX);
        for member in self.others().iter() {
            send(out, self.to(self.membership.name(member)), Where { start: now });
        }
    }
}
