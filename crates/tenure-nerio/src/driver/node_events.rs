//! Events of a node, apart from its elections.

use std::time::Duration;

use tenure::clock;
use tenure_core::Time;
use tenure_core::nerio::OwnEvent;

use super::Wire;
use crate::notice::Notice;
use crate::transport::Transport;

/// A wait after the first wait has no notice if it is shorter than this.
const SHORT: Duration = Duration::from_secs(1);

/// The waits of this grantor for the end of old leases. A grantor without memory waits again for
/// each answer that came a moment late, and an operator needs no line for each such wait.
#[derive(Debug, Default)]
pub(super) struct ShortWaits {
    has_waited: bool,
    is_short: bool,
}

impl ShortWaits {
    /// Whether the event begins or ends a wait that has no notice: an empty wait, or a short wait
    /// after the first wait.
    fn hides(&mut self, now: Time, event: &OwnEvent) -> bool {
        match event {
            OwnEvent::Quarantined { until } => {
                let left = until.since(now);
                self.is_short = left.is_zero() || (self.has_waited && left < SHORT);
                self.has_waited = true;
                self.is_short
            }
            OwnEvent::Recovering => std::mem::take(&mut self.is_short),
            _ => false,
        }
    }
}

impl<T: Transport> Wire<T> {
    pub(super) fn on_node_event(&mut self, event: OwnEvent, is_confirmed: bool) {
        if self.short_waits.hides(clock::now(), &event) {
            return;
        }
        match event {
            OwnEvent::Quarantined { until } => {
                let forgot = self.records.forgot;
                self.notice(Notice::Quarantined { until, forgot });
            }
            OwnEvent::DiskFailed => {
                let error = self.counters.write_error.clone().unwrap_or_default();
                self.notice(Notice::DiskFailed { error });
            }
            OwnEvent::DiskHangs { since } => {
                let error = self.records.hangs(clock::now().since(since));
                self.counters.write_error = Some(error.clone());
                self.notice(Notice::DiskHangs { error });
            }
            OwnEvent::Ignored(reason) => self.counters.ignore_for(reason.label()),
            OwnEvent::Epochs(memberships) => self.on_epochs(memberships, is_confirmed),
            OwnEvent::OtherDocument { by, address, founding, error } => {
                self.on_other_document(by, address, founding, error.as_deref(), is_confirmed);
            }
            event => {
                match &event {
                    OwnEvent::DiskMended => self.counters.write_error = None,
                    OwnEvent::WeakLeader(leader) => _ = self.weak.send_replace(leader.clone()),
                    _ => {}
                }
                self.notice(Notice::Protocol { election: None, event });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_short_waits_are_hidden() {
        let mut waits = ShortWaits::default();
        let now = Time::from_nanos(1_000_000_000);
        let mut hides = |millis| {
            let until = now.after(Duration::from_millis(millis));
            [OwnEvent::Quarantined { until }, OwnEvent::Recovering]
                .map(|event| waits.hides(now, &event))
        };
        assert_eq!(hides(200), [false, false], "the first one may be short: so are its leases");
        assert_eq!(hides(200), [true, true]);
        assert_eq!(hides(0), [true, true]);
        assert_eq!(hides(1_000), [false, false]);
    }
}
