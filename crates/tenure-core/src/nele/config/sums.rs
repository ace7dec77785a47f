//! The bounds that are sums of other settings, each in one place, rounded against the claimant.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::settings::{Config, Mode};
use super::terms::Terms;
use crate::name::ClusterName;

/// A part of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The setting, by the name under which operators know it.
    pub name: &'static str,
    /// How often it counts.
    pub times: u32,
    /// The setting.
    pub span: Duration,
}

/// A sum of settings that says what it is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum(pub Vec<Part>);

const fn part(name: &'static str, times: u32, span: Duration) -> Part {
    Part { name, times, span }
}

impl Sum {
    /// The value of the sum.
    #[must_use]
    pub fn total(&self) -> Duration {
        let parts = self.0.iter().map(|part| part.span.saturating_mul(part.times));
        parts.fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Config {
    /// The terms that the others of its group must share.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let Self { mode, takeover, drift, fence_base, .. } = *self;
        Terms { mode, takeover: Terms::in_ms(takeover), drift, fence_base }
    }

    /// How long a partition can be without a process that reads it, and reads a record, after its
    /// owner has failed: the session ends, the other members answer the rebalance, hear of it and
    /// of its outcome with their reports, find the end of the partition, and read a record that was
    /// published after that (ruling 1).
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

    /// The same by any clock: what T must exceed in `at_least_one`.
    #[must_use]
    pub fn handover(&self) -> Duration {
        self.by_any_clock(self.handover_parts().total())
    }

    /// The least T in `at_most_one`: of three records in a row two may be lost, and the third is
    /// read back.
    #[must_use]
    pub fn evidence_parts(&self) -> Sum {
        Sum(alloc::vec![
            part("publish interval", 3, self.publish_interval),
            part("delivery timeout", 1, self.delivery_timeout),
            part("fetch wait", 1, self.fetch_wait),
        ])
    }

    /// G, how long a claimant waits after it has read its claim back (`at_most_one`):
    /// `⌈T·(1 + ρ)/(1 − ρ)⌉` with T in whole
    /// milliseconds, rounded up, so that by any two clocks one whose last evidence was sent before
    /// that claim was appended leads no more.
    #[must_use]
    pub fn grace_period(&self) -> Duration {
        // Two processes whose T is as long in records cannot be distinguished.
        let takeover = Terms::in_ms(self.takeover);
        self.by_any_clock(takeover)
    }

    /// The longest that `span` of one clock can be on another: `⌈(1 + ρ)·⌈span/(1 − ρ)⌉⌉`, a little
    /// more than `(1 + 2ρ)·span`.
    pub(crate) fn by_any_clock(&self, span: Duration) -> Duration {
        self.drift.stretch(self.drift.real_at_most(span))
    }

    /// The least rest of T when the news of a leadership were lost once, and come again.
    #[must_use]
    pub fn usable(&self) -> Duration {
        let news = [self.publish_interval, self.publish_interval, self.delivery_timeout];
        let late = news.into_iter().fold(self.fetch_wait, Duration::saturating_add);
        self.takeover.saturating_sub(late)
    }

    /// A process that has done nothing for longer than this, though it writes each interval, was
    /// stopped, and may have lost partitions meanwhile.
    #[must_use]
    pub(crate) fn slept(&self) -> Duration {
        (self.session_timeout / 2).max(self.publish_interval.saturating_mul(2))
    }

    /// How long one that is there can be silent at most: two of its records in a row are lost.
    #[must_use]
    pub fn silence(&self) -> Duration {
        let beats = self.publish_interval.saturating_mul(3);
        beats.saturating_add(self.delivery_timeout).saturating_add(self.fetch_wait)
    }

    /// How long one that was heard to lead may lead at most after that, by any clock, and one that
    /// was never heard after an observer began to read.
    #[must_use]
    pub fn heard_leads(&self) -> Duration {
        let told = self.takeover.saturating_add(self.delivery_timeout);
        self.by_any_clock(told).saturating_add(self.fetch_wait)
    }

    /// `retention.ms` of the topic, at least: the ledger must not delete a claim that a process
    /// could still read (ruling 6).
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.takeover.saturating_mul(10).max(Duration::from_secs(600))
    }

    /// Whether observers are shown what is led in this group: of others only where several lead
    /// anyway.
    #[must_use]
    pub fn shows(&self, group: &ClusterName) -> bool {
        self.mode == Mode::AtLeastOne || *group == self.group
    }

    /// The parts that T must hold in this mode, and its least length.
    pub(super) fn needed(&self) -> (Sum, Duration) {
        match self.mode {
            Mode::AtLeastOne => {
                let parts = self.handover_parts();
                // More than that, and not as much.
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
    /// Until when one with these terms may lead at most, counted by a clock of `config`: from when
    /// it wrote what it leads by.
    pub(crate) fn leads_for(&self, config: &Config) -> Duration {
        self.by_any_clock(self.takeover.min(Config::TAKEOVER_MAX), config)
    }

    /// How long one with these terms that was heard to lead may lead after that, by a clock of
    /// `config`. How long its records are on their way it does not say: no longer than its T.
    pub(crate) fn heard_leads(&self, config: &Config) -> Duration {
        let ours = config.heard_leads();
        if *self == config.terms() {
            return ours;
        }
        let told = self.takeover.min(Config::TAKEOVER_MAX).saturating_mul(2);
        self.by_any_clock(told, config).saturating_add(config.fetch_wait).max(ours)
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
