//! A question that one task asks for all callers.

use std::sync::Mutex;
use std::time::Duration;

use tenure::{Time, clock};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::watch::lock;

/// The last answer to a question, and the task that asks. Callers that leave do not end the task,
/// and many callers at once cause one question.
#[derive(Debug)]
pub struct Inquiry<T> {
    /// The last answer, with a time that the task chooses.
    last: watch::Sender<Option<(Time, T)>>,
    asks: Mutex<Option<JoinHandle<()>>>,
}

impl<T> Default for Inquiry<T> {
    fn default() -> Self {
        Self { last: watch::Sender::new(None), asks: Mutex::default() }
    }
}

impl<T: Clone> Inquiry<T> {
    /// Keeps this answer, with its time.
    pub fn keep(&self, at: Time, answer: T) {
        self.last.send_replace(Some((at, answer)));
    }

    /// The last answer, and its age.
    #[must_use]
    pub fn last(&self) -> Option<(Duration, T)> {
        let (at, answer) = self.last.borrow().clone()?;
        Some((clock::now().since(at), answer))
    }

    /// Starts the task, unless it runs.
    pub fn start(&self, spawn: impl FnOnce() -> JoinHandle<()>) {
        let mut asks = lock(&self.asks);
        if asks.as_ref().is_none_or(JoinHandle::is_finished) {
            *asks = Some(spawn());
        }
    }

    /// If the last answer is older than `age`, starts the task, and waits for its answer for at
    /// most `wait`.
    pub(crate) async fn refresh(
        &self,
        age: Duration,
        wait: Duration,
        spawn: impl FnOnce() -> JoinHandle<()>,
    ) {
        let mut answers = self.last.subscribe();
        let at = answers.borrow_and_update().as_ref().map(|(at, _)| *at);
        if at.is_none_or(|at| clock::now().since(at) > age) {
            self.start(spawn);
            let _ = tokio::time::timeout(wait, answers.changed()).await;
        }
    }
}
