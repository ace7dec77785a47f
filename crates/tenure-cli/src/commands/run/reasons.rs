//! The reasons for which a lease is not renewed, and for which CMD was ended.

use std::time::Duration;

use tenure::{Leadership, Overdue, Pause, clock};
use tenure_supervise::{Ended, Outcome, Why};

use super::runner::Runner;
use crate::protocol::Class;

/// A pause that ended this long before the end of CMD, beyond the grace, is no reason for it.
const LATELY: Duration = Duration::from_secs(1);

/// The time for the driver to see that this process did not run.
const MOMENT: Duration = Duration::from_millis(100);

/// The warning about a lease that is not renewed.
pub(super) fn of_delay<K: Class>(runner: &Runner<K>, overdue: &Overdue) -> String {
    let (id, election) = (&runner.settings.id, &runner.role.part.election);
    format!("{id} may lose {election}: {}", in_full(runner, overdue))
}

/// The reason and another possible cause.
fn in_full<K: Class>(runner: &Runner<K>, overdue: &Overdue) -> String {
    let may_be = runner.participant.may_be(&overdue.why).unwrap_or("");
    format!("{}{may_be}", overdue.told(clock::now()))
}

/// The reason for which a lease ran out, as the end of a line; empty while none is known.
pub(super) fn of_loss<K: Class>(runner: &Runner<K>, leadership: &Leadership<K>) -> String {
    let grace = runner.settings.backend.grace();
    let is_recent = |pause: &Pause| clock::now().since(pause.until) <= grace + LATELY;
    let why = match (leadership.overdue(), leadership.pause().filter(is_recent)) {
        (Some(overdue), _) => Some(in_full(runner, &overdue)),
        (None, Some(pause)) => Some(pause.to_string()),
        (None, None) => runner.participant.trouble(),
    };
    why.map_or_else(String::new, |why| format!("; {why}"))
}

/// The reason for which CMD was ended by its lease, as the end of a line; empty for other ends.
pub(super) async fn of_end<K: Class>(
    runner: &Runner<K>,
    leadership: &Leadership<K>,
    outcome: &Outcome,
) -> String {
    if outcome.why != Why::Deadline {
        return String::new();
    }
    let why = of_loss(runner, leadership);
    if !why.is_empty() {
        return why;
    }
    tokio::time::sleep(MOMENT).await;
    of_loss(runner, leadership)
}

/// The end of a line about a CMD that ignored SIGTERM. After the end of a lease the kill may have
/// come without SIGTERM, so only a stop shows that.
pub(super) fn of_kill(outcome: &Outcome, grace: Duration) -> String {
    match outcome {
        Outcome { ended: Some(Ended::Signal(9)), why: Why::Stopped } => format!(
            "; it did not end within its grace of {grace:?}, and was killed: give a longer \
             --grace if it needs more time"
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn killed_command_names_its_grace() {
        let told = |ended, why| of_kill(&Outcome { ended, why }, Duration::from_secs(1));
        let killed = Some(Ended::Signal(9));
        let text = told(killed, Why::Stopped);
        assert!(text.starts_with("; it did not end within its grace of 1s, and was killed"));
        for why in [Why::Itself, Why::Deadline, Why::GuardLost] {
            assert_eq!(told(killed, why), "", "{why}");
        }
        assert_eq!(told(Some(Ended::Signal(15)), Why::Stopped), "");
        assert_eq!(told(None, Why::Stopped), "");
    }
}
