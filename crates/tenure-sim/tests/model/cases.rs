//! The configurations that are explored, each with the trouble that it is about.

use std::time::Duration;

use crate::clock::Rate;
use crate::node::GRANTORS;
use crate::setting::{Budget, Setting};

/// Two and a half ticks are a lease.
const TICK: Duration = Duration::from_millis(400);
/// Two ticks are a lease: on clocks at the ends of ρ, and without a delay, a claim and its
/// grants end at the very same instant.
const EXACT: Duration = Duration::from_millis(500);

/// The leader's clock is slow and those of the grantors are fast.
fn adverse(name: &'static str, horizon: u8, budget: Budget) -> Setting {
    let rates = (Rate::Fast, Rate::Slow);
    let (tick, struck, must_show) = (TICK, GRANTORS, &["elected"]);
    Setting { name, tick, horizon, rates, alike: true, struck, budget, must_show }
}

/// Each campaigns once.
const CONTENDED: Budget = Budget { campaigns: [1, 1], ..Budget::NONE };
/// p may campaign twice.
const AGAIN: Budget = Budget { campaigns: [2, 1], ..Budget::NONE };

/// A leader resigns, at any moment, and its releases cross whatever else is on its way.
pub fn hand_over(long: bool) -> Setting {
    let withdrawals = u8::from(long);
    let budget = Budget { resigns: 1, hasty: 1, withdrawals, ..CONTENDED };
    let must_show = &["elected", "another after a resignation"];
    Setting { must_show, ..adverse("hand-over", 1, budget) }
}

/// A message or a timer comes a tick late, or later, or never.
pub fn delay(long: bool) -> Setting {
    let resigns = u8::from(long);
    let budget = Budget { late: 1, resigns, ..CONTENDED };
    Setting { alike: false, ..adverse("delay", 1, budget) }
}

/// One candidate without a rival, who may lead twice, while much comes late.
pub fn alone(long: bool) -> Setting {
    let (late, resigns) = (3, u8::from(long));
    let budget = Budget { campaigns: [2, 0], late, resigns, ..Budget::NONE };
    Setting { alike: !long, ..adverse("alone", 3, budget) }
}

/// A candidate or leader stops: its lease ends on its slow clock, the grants end on the fast
/// ones, and another takes over. It may go on at any later moment.
pub fn drift(long: bool) -> Setting {
    let budget = Budget { pauses: 1, ..CONTENDED };
    let must_show = &["elected", "another after a pause"];
    let (tick, horizon) = if long { (EXACT, 3) } else { (TICK, 4) };
    Setting { tick, must_show, ..adverse("drift", horizon, budget) }
}

/// The process of a grantor begins again at any moment, and remembers its grants.
pub fn crash(long: bool) -> Setting {
    let budget = Budget { crashes: 1, hasty: 1, ..CONTENDED };
    let must_show = &["elected", "a leader after a crash"];
    Setting { must_show, ..adverse("crash", if long { 3 } else { 2 }, budget) }
}

/// The machine of a grantor begins again: it waits out what it may have granted, until the end.
pub fn reboot(long: bool) -> Setting {
    let budget = Budget { reboots: 1, ..CONTENDED };
    let must_show = &["elected", "a leader during a quarantine", "a leader after a quarantine"];
    let struck = if long { GRANTORS } else { 0..1 };
    Setting { alike: false, struck, must_show, ..adverse("reboot", 3, budget) }
}

/// The state directory of a grantor is lost: it waits, and reads the fences of the others.
pub fn loss(long: bool) -> Setting {
    let budget = Budget { losses: 1, ..CONTENDED };
    let during: &[_] = &["elected", "a leader during a quarantine"];
    let after = &["elected", "a leader during a quarantine", "a leader after a quarantine"];
    let (horizon, must_show) = if long { (3, after as &[_]) } else { (2, during) };
    Setting { alike: !long, must_show, ..adverse("loss", horizon, budget) }
}

/// A candidate ends without a word and campaigns in another life, and a leader resigns.
pub fn rebirth(long: bool) -> Setting {
    let budget = Budget { rebirths: 1, resigns: 1, ..AGAIN };
    let must_show = &["elected", "another after a resignation", "another after a rebirth"];
    Setting { must_show, ..adverse("rebirth", if long { 2 } else { 1 }, budget) }
}

/// Erratum 4: a candidate resigns and leads again, and one of its releases arrives twice.
pub fn late_release(long: bool) -> Setting {
    let repeated_releases = if long { 2 } else { 1 };
    let budget = Budget { resigns: 1, repeated_releases, ..AGAIN };
    let must_show = &["elected", "another after a resignation", "the same again"];
    Setting { must_show, ..adverse("late release", 1, budget) }
}

/// A request arrives twice.
pub fn late_request(long: bool) -> Setting {
    let budget = Budget { repeated_requests: 1, ..CONTENDED };
    adverse("late request", if long { 3 } else { 2 }, budget)
}
