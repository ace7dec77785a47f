//! The answer to a question.

use std::fmt;
use std::time::Duration;

use tenure_core::nerio::Checked;

use super::book::Cause;
use super::drill::{Drill, spread};
use super::figures::{Figures, Spread, per_second};
use super::question::Question;

/// Thirty days, the base of rates.
pub(super) const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

/// A forecast for the settings of a question.
#[derive(Clone, Debug)]
pub struct Answer {
    pub question: Question,
    /// Vacancies after crashes of the leader, from drills.
    pub crash: Spread,
    /// Vacancies after resignations, from drills.
    pub handover: Spread,
    /// Needless changes of the leader.
    pub needless: Needless,
    /// Share of the time with a leader.
    pub availability: Availability,
    /// Figures of the simulated calendar time.
    pub figures: Figures,
    pub drills: Vec<Drill>,
    pub advice: Advice,
    pub effort: Effort,
}

/// Work for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Number of inputs to cores, and of incidents.
    pub events: u64,
    /// Number of other settings.
    pub trials: usize,
}

/// How often the rest of a leader's lease falls below the grace, although the leader and a quorum
/// run. `tenure run` then stops its command, and another candidate takes over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Needless {
    /// Number of occurrences.
    pub seen: u64,
    /// Number of occurrences in which the lease lapsed.
    pub lapsed: u64,
    /// Occurrences in 30 days, as counted.
    pub in_month: f64,
    /// Largest plausible number in 30 days, with a confidence of 95 % (by the rule of three, if
    /// none occurred).
    pub in_month_at_most: f64,
    /// Expected number in 30 days, for the case that none occurred: extrapolated from the failure
    /// rate of single renewal attempts. The estimate assumes that attempts fail independently, and
    /// that a change needs failures of all attempts before the grace.
    pub by_chance: f64,
}

impl Needless {
    pub(super) fn of(question: &Question, figures: &Figures) -> Self {
        let months = figures.time.as_secs_f64() / MONTH.as_secs_f64();
        let seen = figures.close_calls;
        Self {
            seen,
            lapsed: figures.count(Cause::Needless) as u64,
            in_month: seen as f64 / months,
            in_month_at_most: poisson_at_most(seen) / months,
            by_chance: by_chance(question, figures),
        }
    }

    /// The best estimate of the number of needless changes in 30 days.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        if self.seen > 0 { self.in_month } else { self.by_chance.min(self.in_month_at_most) }
    }

    /// The probability of at least one needless change in 30 days, by the best estimate.
    #[must_use]
    pub fn probability(&self) -> f64 {
        -(-self.estimate()).exp_m1()
    }
}

/// The largest mean under which so few events have a probability of 5 % (Wilson and Hilferty).
fn poisson_at_most(seen: u64) -> f64 {
    let n = seen as f64 + 1.0;
    n * (1.0 - 1.0 / (9.0 * n) + 1.645 / (3.0 * n.sqrt())).powi(3)
}

fn by_chance(question: &Question, figures: &Figures) -> f64 {
    let config = &question.config;
    let places = figures.attempts.iter().zip(1_u64..);
    let attempts: u64 = places.map(|(count, place)| count * place).sum();
    // Add one to the counted failures: zero would claim certainty.
    let failed = (attempts - figures.renewals) as f64 + 1.0;
    let fails = failed / (attempts as f64 + 2.0);
    let window = config.usable().saturating_sub(config.grace);
    let retry = config.retry_after(question.trips.quantile(0.99));
    let fit = 1.0 + (window.as_secs_f64() / retry.as_secs_f64()).floor();
    per_second(figures.renewals as f64, figures.time) * MONTH.as_secs_f64() * fails.powf(fit)
}

/// The share of the time with a leader.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Availability {
    /// Expected share. Vacancies after crashes and restarts have the rates of the question and the
    /// mean lengths of the drills; all other vacancies are as counted.
    pub expected: f64,
    /// Share in the simulated hours.
    pub seen: f64,
}

impl Availability {
    /// The number of crashes above which the mean vacancy is taken from calendar time instead of
    /// drills.
    const ENOUGH: usize = 100;

    pub(super) fn of(question: &Question, figures: &Figures, drills: &[Drill]) -> Self {
        let share = |gone: Duration| gone.as_secs_f64() / figures.time.as_secs_f64();
        let seen = 1.0 - share(figures.vacant);
        if figures.count(Cause::Crash) >= Self::ENOUGH {
            return Self { expected: seen, seen };
        }
        let rate = |every: Option<Duration>| every.map_or(0.0, |every| 1.0 / every.as_secs_f64());
        let mean = |crash| spread(drills, crash).mean().as_secs_f64();
        let crashes = (rate(question.crash_every) + rate(question.reboot_every)) * mean(true);
        let restarts = rate(question.restart_every) * mean(false);
        let others = |cause| !matches!(cause, Cause::Crash | Cause::Resigned);
        let rest = figures.vacancies.iter().filter(|vacancy| others(vacancy.cause));
        let rest: Duration = rest.map(|vacancy| vacancy.lasted).sum();
        Self { expected: (1.0 - crashes - restarts - share(rest)).max(0.0), seen }
    }

    /// Expected time without a leader in 30 days.
    #[must_use]
    pub fn down_in_month(&self) -> Duration {
        MONTH.mul_f64((1.0 - self.expected).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_seen_means_at_most_three() {
        // The exact values are 2.996, 4.744 and 16.96.
        for (seen, most) in [(0, 2.996), (1, 4.744), (10, 16.96)] {
            let found = poisson_at_most(seen);
            assert!((found / most - 1.0).abs() < 0.01, "{seen}: {found} for {most}");
        }
    }
}

#[derive(PartialEq, Eq, Debug)]
pub(super) struct Findings {
    pub(super) figures: Figures,
    pub(super) drills: Vec<Drill>,
    pub(super) events: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Advice {
    /// Tried settings by nodes and lease, those of the question included.
    pub trials: Vec<Trial>,
    /// Index of the best trial: the shortest lease that keeps needless changes at the target. The
    /// trial has the given number of nodes, or three if that number is too small. `None` if no
    /// tried lease keeps changes so rare.
    pub best: Option<usize>,
    /// Warnings about the question's settings.
    pub notes: Vec<Note>,
}

/// Tried settings.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Whether these are the settings of the question.
    pub asked: bool,
    pub config: Checked,
    /// Simulated calendar time.
    pub time: Duration,
    /// Vacancies after crashes.
    pub crash: Spread,
    /// Needless changes of the leader.
    pub needless: Needless,
    /// Share of the time with a leader.
    pub availability: Availability,
    /// Datagrams a second between the nodes.
    pub messages_per_second: f64,
}

impl Trial {
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.config.members.len()
    }
}

impl Advice {
    /// The better settings; `None` if the settings of the question are the best.
    #[must_use]
    pub fn better(&self) -> Option<&Trial> {
        self.trials.get(self.best?).filter(|trial| !trial.asked)
    }
}

/// A note about the settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// d (`delay`) is smaller than the network's round trips.
    RoundTrip {
        /// Round trip that the settings assume.
        set: Duration,
        /// 99th percentile of the network's round trips.
        measured: Duration,
    },
    /// The lease is hardly long enough for its margins.
    Tight {
        /// Rest of the lease when its first renewal is due.
        usable: Duration,
        /// Grace, kill margin and four round trips.
        needed: Duration,
    },
    /// A single failure stops the election.
    NoSpare { nodes: usize },
    /// A cluster with one node less survives as many failures.
    Even { nodes: usize },
    /// Too few grantors ran for a while.
    QuorumLost {
        times: usize,
        /// Number of nodes that would survive one more failure.
        nodes: usize,
    },
    /// Processes never pause here.
    NoPauses,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrip { set, measured } => write!(
                f,
                "round trips take {measured:.1?} at p99 and the settings assume {set:.1?}: set \
                 --round-trip to that or more"
            ),
            Self::Tight { usable, needed } => write!(
                f,
                "the lease is tight: when a renewal is due {usable:.2?} are left, and grace, \
                 kill margin and 4 round trips take {needed:.2?}"
            ),
            Self::NoSpare { nodes } => write!(
                f,
                "with {nodes} {} the loss of one node stops the election; three nodes survive such \
                 a loss",
                if *nodes == 1 { "node" } else { "nodes" }
            ),
            Self::Even { nodes } => write!(
                f,
                "{nodes} nodes survive the loss of {}, as {} do: leave one out, or add one",
                (nodes - 1) / 2,
                nodes - 1
            ),
            Self::QuorumLost { times, nodes } => write!(
                f,
                "{times} times too few nodes were there to elect anybody; {nodes} nodes survive \
                 one more loss"
            ),
            Self::NoPauses => f.write_str(
                "processes never stand still here; if yours do (garbage collection, busy \
                 machines), say so with --pause-every",
            ),
        }
    }
}
