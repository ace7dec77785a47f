//! A runner keeps its leadership for a while after CMD has succeeded, so that no other candidate
//! runs CMD.

use tenure::Leadership;
use tenure_supervise::{Outcome, Why};

use super::leading::Course;
use super::restarting::lead_for;
use super::runner::Runner;
use crate::protocol::Class;

/// Keeps the leadership if `--hold` is given and CMD succeeded by itself. A loss, a request or a
/// signal ends the hold early; the runner still ends with the code of CMD.
pub(super) async fn hold_after_cmd<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    course: Course,
    outcome: &Outcome,
) -> Course {
    let well = outcome.why == Why::Itself && outcome.exit_code() == 0 && !course.ends();
    let Some(hold) = runner.settings.hold.filter(|_| well) else { return course };
    runner.reporter.holds(hold);
    match lead_for(runner, leadership, hold).await {
        Ok(mut course) => {
            if let Some(signal) = course.signal.take() {
                runner.reporter.held_too_short(format_args!("signal {signal} ends it"));
            }
            course
        }
        Err(loss) => {
            runner.reporter.held_too_short(loss);
            course
        }
    }
}
