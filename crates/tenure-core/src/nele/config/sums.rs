//! Bounds that are sums of other settings, each in one place, rounded against the claimant. T is
//! the setting `takeover`, S `session-timeout`.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::terms::Terms;
use crate::name::ClusterName;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The name of the setting, as operators write it.
    pub name: &'static str,
    pub times: u32,
    pub span: Duration,
}

/// A sum of settings that can print its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum(pub Vec<Part>);

const fn part(name: &'static str, times: u32, span: Duration) -> Part {
    Part { name, times, span }
}

impl Sum {
    #[must_use]
    pub fn total(&self) -> Duration {
        let parts = self.0.iter().map(|part| part.span.saturating_mul(part.times));
        parts.fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Config {
    #[must_use]
    pub fn terms(&self) -> Terms {
        let Self { mode, takeover, drift, fence_base, .. } = *self;
        Terms { mode, takeover: Terms::in_ms(takeover), drift, fence_base }
    }

    /// The longest time, after the failure of an owner, in which no process has read a record of
    /// its partition (ruling 1). In this time the session ends, and the other members answer the
    /// rebalance and learn of its outcome with their reports. Then they find the end of the
    /// partition, and read a new record.
    #[must_use]
    pub fn handover_parts(&self) -> Sum {
        let sessions = if self.failover { 2 } else { 1 };
        Sum(alloc::vec![
            part("session timeout", sessions, self.session_timeout),
            part("max poll interval", 1, self.max_poll_interval),
            part("heartbeat interval", 2, self.heartbeat_interval),
            part("publish interval", 1, self.publish_interval),
            part("delivery timeout", 1, self.delivery_timeout),
            part("fetch wait", 1, self.fetch_wait),
            part("seek", 1, self.seek),
        ])
    }

    /// The sum of [`handover_parts`](Self::handover_parts) on any clock: T must exceed it in
    /// `at_least_one`.
    #[must_use]
    pub fn handover(&self) -> Duration {
        self.by_any_clock(self.handover_parts().total())
    }

    /// The sum that T must reach in `at_most_one`. A leader then keeps its evidence if it reads
    /// back one of three records in a row.
    #[must_use]
    pub fn evidence_parts(&self) -> Sum {
        Sum(alloc::vec![
            part("publish interval", 3, self.publish_interval),
            part("delivery timeout", 1, self.delivery_timeout),
            part("fetch wait", 1, self.fetch_wait),
        ])
    }

    /// G, the wait of a claimant after it has read its claim back (`at_most_one`):
    /// `⌈T·(1 + ρ)/(1 − ρ)⌉`, with T rounded up to whole milliseconds. After G, by any two clocks,
    /// no leader is left whose last evidence was sent before the claim was appended.
    #[must_use]
    pub fn grace_period(&self) -> Duration {
        // Records show T in milliseconds only, so round it up.
        let takeover = Terms::in_ms(self.takeover);
        self.by_any_clock(takeover)
    }

    /// The longest span that another clock can show while this clock shows `span`: `⌈(1 +
    /// ρ)·⌈span/(1 − ρ)⌉⌉`, a little more than `(1 + 2ρ)·span`.
    pub(crate) fn by_any_clock(&self, span: Duration) -> Duration {
        self.drift.stretch(self.drift.real_at_most(span))
    }

    /// The shortest time that is left of T when one record was lost and the next one is read.
    #[must_use]
    pub fn usable(&self) -> Duration {
        let news = [self.publish_interval, self.publish_interval, self.delivery_timeout];
        let late = news.into_iter().fold(self.fetch_wait, Duration::saturating_add);
        self.takeover.saturating_sub(late)
    }

    /// The longest pause between two inputs of a process that was not stopped. A process that was
    /// stopped for longer may have lost partitions.
    #[must_use]
    pub(crate) fn slept(&self) -> Duration {
        (self.session_timeout / 2).max(self.publish_interval.saturating_mul(2))
    }

    /// The longest silence of a running process: two of its records in a row are lost.
    #[must_use]
    pub fn silence(&self) -> Duration {
        let beats = self.publish_interval.saturating_mul(3);
        beats.saturating_add(self.delivery_timeout).saturating_add(self.fetch_wait)
    }

    /// The longest time, on any clock, that a leader may lead after its last record was read. A
    /// leader that is not known yet may lead for this time after an observer began to read.
    #[must_use]
    pub fn heard_leads(&self) -> Duration {
        let written = self.takeover.saturating_add(self.delivery_timeout);
        self.by_any_clock(written).saturating_add(self.fetch_wait)
    }

    /// The shortest allowed `retention.ms` of the topic: the ledger must keep a claim as long as a
    /// process may have to read it (ruling 6).
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.takeover.saturating_mul(10).max(Duration::from_secs(600))
    }

    /// Whether observers see the leaders of this group. Leaders of another group are shown only in
    /// `at_least_one`, or if this process names no group (`all_groups`).
    #[must_use]
    pub fn shows(&self, group: &ClusterName) -> bool {
        self.mode == Mode::AtLeastOne || self.all_groups || *group == self.group
    }

    pub(super) fn needed(&self) -> (Sum, Duration) {
        match self.mode {
            Mode::AtLeastOne => {
                let parts = self.handover_parts();
                // T (`takeover`) must be greater than the sum, so add 1 ns.
                (parts, self.handover().saturating_add(Duration::from_nanos(1)))
            }
            Mode::AtMostOne => {
                let parts = self.evidence_parts();
                let needed = parts.total().max(self.delivery_timeout.saturating_mul(2));
                (parts, needed)
            }
        }
    }
}

impl Terms {
    /// The longest time for which a process with these terms leads after it has written a record,
    /// on a clock of `config`.
    pub(crate) fn leads_for(&self, config: &Config) -> Duration {
        self.by_any_clock(self.takeover.min(Config::TAKEOVER_MAX), config)
    }

    /// The longest time for which a process with these terms leads after its last record was read,
    /// on a clock of `config`. A record takes no longer than T to arrive.
    pub(crate) fn heard_leads(&self, config: &Config) -> Duration {
        let ours = config.heard_leads();
        if *self == config.terms() {
            return ours;
        }
        let written = self.takeover.min(Config::TAKEOVER_MAX).saturating_mul(2);
        self.by_any_clock(written, config).saturating_add(config.fetch_wait).max(ours)
    }

    fn by_any_clock(&self, span: Duration, config: &Config) -> Duration {
        let drift = self.drift.max(config.drift).min(Config::DRIFT_MAX);
        drift.stretch(drift.real_at_most(span))
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, Part { name, times, span }) in self.0.iter().enumerate() {
            f.write_str(if nth > 0 { " + " } else { "" })?;
            match times {
                1 => write!(f, "{name} {span:?}")?,
                times => write!(f, "{times}·{name} {span:?}")?,
            }
        }
        Ok(())
    }
}
