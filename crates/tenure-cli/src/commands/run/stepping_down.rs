//! The end of a leadership: the wait until other nodes know of it.

use std::future::Future;
use std::time::Duration;

use tenure::{Leadership, clock};
use tokio::sync::oneshot;

use super::runner::Runner;
use crate::control::Answer;
use crate::protocol::Class;

/// Gives the leadership up, and waits until its driver has reported the end: the driver then knows
/// the reason. Returns the signal that ends the runner, if a signal came meanwhile.
pub(super) async fn give_up<K: Class>(
    runner: &mut Runner<K>,
    leadership: &Leadership<K>,
) -> Option<u8> {
    let reported = async {
        tokio::select! {
            biased;
            () = leadership.resign() => {}
            // The driver reports the end of the leadership as a loss.
            _ = leadership.lost() => {}
        }
    };
    let mut end = End { signal: None };
    end.within(runner, leadership, reported).await;
    end.signal
}

/// Sends the answer, unless the client has left. Without an answer, the client sees that the runner
/// ends.
pub(super) fn tell(reply: oneshot::Sender<Answer>, answer: Option<Answer>) {
    if let Some(answer) = answer {
        let _ = reply.send(answer);
    }
}

/// The longest wait for other nodes to confirm a release when the runner must end. While the
/// service is silent, a release counts as confirmed only after the whole lease.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(2);

/// The interval of checks for the reason of a slow release.
const LOOK: Duration = Duration::from_millis(100);

/// A release takes about a round trip. The runner reports a wait that is longer than this.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// The signal that ends the runner, if any.
pub(super) struct End {
    pub(super) signal: Option<u8>,
}

impl End {
    /// Awaits `done`, with a short limit if the runner must end. Reports the reason of a slow
    /// release, and answers requests meanwhile.
    pub(super) async fn within<K: Class, T>(
        &mut self,
        runner: &mut Runner<K>,
        leadership: &Leadership<K>,
        done: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::pin!(done);
        let began = clock::now();
        let mut look = tokio::time::interval(LOOK);
        let mut told = None;
        while self.signal.is_none() {
            tokio::select! {
                biased;
                done = &mut done => return Some(done),
                signal = runner.orders.signal() => self.signal = Some(signal),
                asked = runner.control.next() => {
                    runner.answer(asked, leadership.waiting().as_ref());
                }
                _ = look.tick() => {
                    let waiting = leadership.waiting();
                    match &waiting {
                        Some(waits) if told != Some(waiting.clone()) => {
                            runner.reporter.waits(waits, "");
                        }
                        None if told.is_none() && clock::now().since(began) >= SOON => {
                            runner.reporter.gives_up();
                        }
                        _ => continue,
                    }
                    told = Some(waiting);
                }
            }
        }
        tokio::time::timeout(AFTER_A_SIGNAL, done).await.ok()
    }
}
