//! A CMD that ended by itself runs again while its runner leads.

use std::time::Duration;

use tenure::{Leadership, Loss};
use tenure_supervise::Outcome;

use super::hand_over::Probe;
use super::leading::{Course, StopCause, on_request};
use super::runner::{Runner, rest};
use crate::protocol::Class;

/// A run of at least this length is not short.
const LONG: Duration = Duration::from_secs(60);

/// The number of short runs in a row, including the last run.
pub(super) fn short(before: u32, ran: Duration) -> u32 {
    if ran < LONG { before.saturating_add(1) } else { 1 }
}

/// Waits before CMD runs again, longer each time. A loss, a request or a signal ends the wait.
pub(super) async fn pause<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    outcome: &Outcome,
    short: u32,
) -> Course {
    let pause = rest(short.saturating_add(1)).unwrap_or_default();
    runner.reporter.ended(&format!("CMD ended: {outcome}; it runs again in {pause:?}"));
    let led = lead_for(runner, leadership, pause).await;
    led.unwrap_or_else(|loss| {
        let mut course = Course::default();
        course.lose(runner, leadership, loss);
        course
    })
}

/// Leads for this span without a CMD. A loss, a request or a signal ends the span early.
pub(super) async fn lead_for<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
    span: Duration,
) -> Result<Course, Loss> {
    let mut course = Course::default();
    let mut probe = Probe::default();
    let over = tokio::time::sleep(span);
    tokio::pin!(over);
    while !course.ends() {
        tokio::select! {
            biased;
            loss = leadership.lost() => return Err(loss),
            order = runner.orders.stop() => course.obey(order),
            (waits, hand, reply) = probe.over() => {
                course.hands_over(waits, hand, reply);
            }
            asked = runner.control.next() => {
                match on_request(runner, leadership, asked, None, probe.runs()) {
                    Some(StopCause::Transfer(hand, reply)) => probe.begin(leadership, hand, reply),
                    other => course.stopping = other,
                }
            }
            () = &mut over => break,
        }
    }
    Ok(course)
}
