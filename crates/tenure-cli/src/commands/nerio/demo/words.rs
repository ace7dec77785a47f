//! The sentences of the demo about its faults, and their reasons.

use std::time::Duration;

use super::script::{Fault, Strike};
use super::tally::Failover;
use super::workdir::CANDIDATES;

/// The candidate that is not `name`.
pub(super) fn other(name: &str) -> &'static str {
    CANDIDATES.into_iter().find(|candidate| *candidate != name).unwrap_or("nobody")
}

/// Seconds with milliseconds: `1.203 s`.
pub(super) fn seconds(span: Duration) -> String {
    format!("{:.3} s", span.as_secs_f64())
}

/// Announces a fault of `victim`, and its lesson.
pub(super) fn plan(fault: Fault, victim: &str) -> String {
    let heir = other(victim);
    match fault {
        Fault::Resign => format!(
            "tenure resign: {victim} stops its work and then gives the lease back, so {heir} \
             need not wait for its end"
        ),
        Fault::Kill => format!(
            "kill -9 of {victim}'s tenure run: its guard ends the work at once, but a dead leader \
             looks like a slow one, so {heir} waits until the lease is over"
        ),
        Fault::Stop => format!(
            "SIGSTOP of {victim}'s tenure run for longer than its lease: its guard ends the work \
             in time, and when it goes on it knows that it does not lead"
        ),
    }
}

/// Describes the time since a fault.
pub(super) fn struck(strike: &Strike) -> String {
    let victim = &strike.victim;
    let heir = other(victim);
    match strike.fault {
        Fault::Resign => format!("{victim} resigns: it stops its work and gives the lease back"),
        Fault::Kill => {
            format!("{victim}'s tenure run was killed with -9: {heir} waits for the lease to end")
        }
        Fault::Stop => {
            format!("{victim}'s tenure run was stopped: {heir} waits for the lease to end")
        }
    }
}

/// Describes the time before the victim is mended.
pub(super) fn taken_over(strike: &Strike) -> String {
    let victim = &strike.victim;
    let heir = other(victim);
    match strike.fault {
        Fault::Resign => format!("{heir} has taken over"),
        Fault::Kill => format!("{heir} has taken over; {victim} is started again soon"),
        Fault::Stop => format!("{heir} has taken over; {victim} goes on soon, and must not work"),
    }
}

/// Describes the mended victim.
pub(super) fn mended(strike: &Strike) -> String {
    let victim = &strike.victim;
    match strike.fault {
        Fault::Resign | Fault::Kill => format!("{victim} is started again"),
        Fault::Stop => format!("{victim} goes on (SIGCONT)"),
    }
}

/// The expected span of the failover.
pub(super) fn expected(failover: &Failover) -> Option<String> {
    Some(match failover.fault? {
        Fault::Resign => "expected: a round trip and the start of a process".to_owned(),
        Fault::Kill | Fault::Stop => {
            format!("expected: {}, what was left of the lease", seconds(failover.left?))
        }
    })
}
