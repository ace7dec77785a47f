//! The reasons for which a lease is not renewed, and for which CMD was ended.

use std::time::Duration;

use tenure::{Leadership, Overdue, clock};
use tenure_supervise::{Ended, Outcome, Why};

use super::runner::Runner;
use crate::protocol::Class;

/// The warning about a lease that is not renewed.
pub(super) fn of_delay<K: Class>(runner: &Runner<K>, overdue: &Overdue) -> String {
    let (id, election) = (&runner.settings.id, &runner.role.part.election);
    let why = overdue.told(clock::now());
    let may_be = runner.participant.may_be(&overdue.why).unwrap_or("");
    format!("{id} may lose {election}: {why}{may_be}")
}

/// The reason for which a lease ran out, as the end of a line; empty while none is known.
pub(super) fn of_loss<K: Class>(runner: &Runner<K>, leadership: &Leadership<K>) -> String {
    // Count from the time of SIGTERM: CMD may have used up its grace since.
    let end = clock::now().before(runner.settings.backend.grace());
    let why = leadership.why_lapsed(end).or_else(|| runner.participant.trouble());
    let overdue = leadership.overdue();
    let may_be = overdue.and_then(|overdue| runner.participant.may_be(&overdue.why)).unwrap_or("");
    why.map_or_else(String::new, |why| format!("; {why}{may_be}"))
}

/// The end of a line about a CMD that ignored SIGTERM; empty unless the runner stopped CMD. At the
/// end of a lease SIGKILL may come without SIGTERM.
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
