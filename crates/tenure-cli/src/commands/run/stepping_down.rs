//! The end of a leadership: what is waited for until others know, and how long.

use std::future::Future;
use std::time::Duration;

use tenure::{Leadership, clock};
use tokio::sync::oneshot;

use super::runner::Runner;
use crate::control::Answer;
use crate::protocol::Class;

/// The client may have left. Without an answer it hears that this is ending.
pub(super) fn tell(reply: oneshot::Sender<Answer>, answer: Option<Answer>) {
    if let Some(answer) = answer {
        let _ = reply.send(answer);
    }
}

/// How long others may still take to know that it has stepped down when the runner is to end. On a
/// service that is silent they take as long as the lease.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(2);

/// How often to look what keeps others from knowing that it has stepped down.
const LOOK: Duration = Duration::from_millis(100);

/// Giving up takes about a round trip. A longer wait than this is worth a word.
pub(super) const SOON: Duration = Duration::from_secs(1);

/// Whether the runner is to end.
pub(super) struct End {
    pub(super) signal: Option<u8>,
}

impl End {
    /// Waits until it is done, but not for long when the runner is to end. Says what that takes if
    /// it is not done soon, and answers requests meanwhile.
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
                            runner.reporter.waits(waits, None);
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
