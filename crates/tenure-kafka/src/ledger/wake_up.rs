//! Heartbeats that are due more often than the library wakes up. In the classic protocol the
//! library sends heartbeats when its main thread wakes up. Without other work the thread wakes up
//! twice a second. Any question to that thread wakes the thread up.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tenure::Time;
use tenure::clock::now;
use tenure_core::nele::Config;

use super::callbacks::Context;
use crate::options::GroupProtocol;

/// The longest interval at which the library wakes up by itself.
const BY_ITSELF: Duration = Duration::from_millis(500);

/// The shortest interval of questions.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

pub(super) struct WakeUp {
    /// The interval of questions; `None` if the library wakes up often enough.
    interval: Option<Duration>,
    due: Time,
}

impl WakeUp {
    pub(super) fn new(protocol: GroupProtocol, config: &Config) -> Self {
        let heartbeat = config.heartbeat_interval;
        let short = protocol == GroupProtocol::Classic && heartbeat < BY_ITSELF;
        // With these questions a heartbeat is late by one interval at most.
        let interval = short.then_some((heartbeat / 4).max(INTERVAL_MIN));
        Self { interval, due: Time::ZERO }
    }

    /// The longest wait of a poll, at most `usual`.
    pub(super) fn poll_max(&self, usual: Duration) -> Duration {
        self.interval.map_or(usual, |interval| interval.min(usual))
    }

    pub(super) fn run_due(&mut self, consumer: &BaseConsumer<Context>) {
        let Some(interval) = self.interval else { return };
        let now = now();
        if self.due <= now {
            self.due = now.after(interval);
            // Ignore the answer: only the question counts.
            let _ = consumer.assignment();
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::nele::Mode;

    use super::*;

    #[test]
    fn only_short_heartbeats_wake_library() {
        let [election, group, id] = ["x", "g", "a"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        let usual = Config::new(election, group, id.parse().unwrap(), 1, Mode::AtLeastOne);
        let short = Config { heartbeat_interval: Duration::from_millis(20), ..usual.clone() };
        let poll = Duration::from_millis(20);
        let of = |protocol, config| WakeUp::new(protocol, config).poll_max(poll);
        assert_eq!(of(GroupProtocol::Classic, &usual), poll);
        assert_eq!(of(GroupProtocol::Classic, &short), Duration::from_millis(5));
        assert_eq!(of(GroupProtocol::Consumer, &short), poll);
    }
}
