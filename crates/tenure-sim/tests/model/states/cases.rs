//! The explored configurations, each with its kind of fault.

use std::ops::Range;
use std::time::Duration;

use tenure_core::nerio::Config;
use tenure_sim::world::clock::TRUE_RATE;

use super::grantors::{GRANTORS, config};
use super::setting::{Budget, Setting};

/// Two and a half ticks are a lease.
const TICK: Duration = Duration::from_millis(400);
/// Two ticks are a lease. With clocks at the ends of ρ, and without a delay, a claim and its grants
/// end at the same instant.
const EXACT: Duration = Duration::from_millis(500);

/// With ρ = ¼ the slowest and the fastest clock are exact: the end of a claim and the end of its
/// grants fall on the same instant.
const SLOW: u64 = TRUE_RATE / 4 * 3;
const FAST: u64 = TRUE_RATE / 4 * 5;
/// The candidates' clocks are slow, and the grantors' clocks are fast.
const ADVERSE: &[u64] = &[FAST, FAST, FAST, SLOW, SLOW];
/// Each candidate campaigns once.
const CONTENDED: Budget = Budget { campaigns: [1, 1], ..Budget::NONE };
/// The first candidate, `p`, may campaign twice.
const AGAIN: Budget = Budget { campaigns: [2, 1], ..Budget::NONE };

fn adverse(name: &'static str, horizon: u8, budget: Budget) -> Setting {
    striking(GRANTORS, name, horizon, budget)
}

/// A setting in which only the grantors `struck` start again.
fn striking(struck: Range<usize>, name: &'static str, horizon: u8, budget: Budget) -> Setting {
    Setting {
        name,
        tick: TICK,
        horizon,
        rates: ADVERSE,
        alike: GRANTORS,
        struck,
        budget,
        must_show: &["elected"],
        config: config(Config::DRIFT_MAX),
    }
}

/// Grantors that may change places: none if `long`, otherwise all.
fn unlike(long: bool) -> Range<usize> {
    if long { 0..0 } else { GRANTORS }
}

/// A leader resigns at any moment, and its releases cross other messages.
pub(crate) fn hand_over(long: bool) -> Setting {
    let withdrawals = u8::from(long);
    let budget = Budget { resigns: 1, hasty: 1, withdrawals, ..CONTENDED };
    let must_show = &["elected", "another after a resignation"];
    Setting { must_show, ..adverse("hand-over", 1, budget) }
}

/// A message or a timer comes a tick late, or later, or never.
pub(crate) fn delay(long: bool) -> Setting {
    let resigns = u8::from(long);
    let budget = Budget { late: 1, resigns, ..CONTENDED };
    Setting { alike: unlike(true), ..adverse("delay", 1, budget) }
}

/// A candidate without a rival leads up to twice, while many messages come late.
pub(crate) fn alone(long: bool) -> Setting {
    let late = 3;
    let resigns = u8::from(long);
    let budget = Budget { campaigns: [2, 0], late, resigns, ..Budget::NONE };
    Setting { alike: unlike(long), ..adverse("alone", 3, budget) }
}

/// A candidate or leader stops: its lease ends on its slow clock, the grants end on the fast
/// clocks, and another candidate takes over. The process may go on at any later moment.
pub(crate) fn drift(long: bool) -> Setting {
    let budget = Budget { pauses: 1, ..CONTENDED };
    let must_show = &["elected", "another after a pause"];
    let (tick, horizon) = if long { (EXACT, 3) } else { (TICK, 4) };
    Setting { tick, must_show, ..adverse("drift", horizon, budget) }
}

/// The process of a grantor begins again at any moment, and remembers its grants.
pub(crate) fn crash(long: bool) -> Setting {
    let budget = Budget { hasty: 1, crashes: 1, ..CONTENDED };
    let must_show = &["elected", "a leader after a crash"];
    Setting { must_show, ..adverse("crash", if long { 3 } else { 2 }, budget) }
}

/// The machine of a grantor begins again, and waits for the end of its possible grants.
pub(crate) fn reboot(long: bool) -> Setting {
    let budget = Budget { reboots: 1, ..CONTENDED };
    let must_show = &["elected", "a leader during a quarantine", "a leader after a quarantine"];
    let struck = if long { GRANTORS } else { 0..1 };
    Setting { alike: unlike(true), must_show, ..striking(struck, "reboot", 3, budget) }
}

/// The state directory of a grantor is lost: the grantor waits, and reads the fences of the others.
pub(crate) fn loss(long: bool) -> Setting {
    let budget = Budget { losses: 1, ..CONTENDED };
    let during: &[_] = &["elected", "a leader during a quarantine"];
    let after = &["elected", "a leader during a quarantine", "a leader after a quarantine"];
    let (horizon, must_show) = if long { (3, after as &[_]) } else { (2, during) };
    Setting { alike: unlike(long), must_show, ..adverse("loss", horizon, budget) }
}

/// A candidate ends without a message and campaigns in another life, and a leader resigns.
pub(crate) fn rebirth(long: bool) -> Setting {
    let budget = Budget { resigns: 1, rebirths: 1, ..AGAIN };
    let must_show = &["elected", "another after a resignation", "another after a rebirth"];
    Setting { must_show, ..adverse("rebirth", if long { 2 } else { 1 }, budget) }
}

/// Erratum 4: a candidate resigns and leads again, and one of its releases arrives twice.
pub(crate) fn late_release(long: bool) -> Setting {
    let repeated_releases = if long { 2 } else { 1 };
    let budget = Budget { resigns: 1, repeated_releases, ..AGAIN };
    let must_show = &["elected", "another after a resignation", "the same again"];
    Setting { must_show, ..adverse("late release", 1, budget) }
}

/// A request arrives twice.
pub(crate) fn late_request(long: bool) -> Setting {
    let budget = Budget { repeated_requests: 1, ..CONTENDED };
    adverse("late request", if long { 3 } else { 2 }, budget)
}
