//! Hands a leadership over to a named candidate, and reports the next leader.

use std::sync::Arc;
use std::time::Duration;

use tenure::{Election, Fence, Leadership, NodeName, Time, TransferError, View, clock};
use tokio::sync::oneshot;

use super::runner::Runner;
use super::stepping_down::{End, SOON, tell};
use crate::control::Answer;
use crate::protocol::{Class, Later};

/// The candidate to hand over to, and the end of the client's wait for a new leader.
pub(super) struct Hand {
    pub(super) to: NodeName,
    pub(super) wait: Option<Time>,
}

/// A hand-over that was asked for, while it is not known yet whether the one that was named waits.
/// Kept over the turns of a loop: asking again and again would never be answered.
#[derive(Default)]
pub(super) struct Probe<'a>(Option<Probing<'a>>);

type Waits = Result<(), TransferError>;
type Probing<'a> = (Hand, oneshot::Sender<Answer>, Later<'a, Waits>);

impl<'a> Probe<'a> {
    pub(super) fn runs(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn begin<K: Class>(
        &mut self,
        leadership: &'a Leadership<K>,
        hand: Hand,
        reply: oneshot::Sender<Answer>,
    ) {
        let waits: Later<'a, Waits> = Box::pin(leadership.can_transfer_to(hand.to.clone()));
        self.0 = Some((hand, reply, waits));
    }

    /// Resolves when the answer is known, with its client. Cancel safe.
    pub(super) async fn over(&mut self) -> (Waits, Hand, oneshot::Sender<Answer>) {
        if let Some((_, _, waits)) = &mut self.0 {
            let waits = waits.await;
            if let Some((hand, reply, _)) = self.0.take() {
                return (waits, hand, reply);
            }
        }
        std::future::pending().await
    }
}

/// The leader after a hand-over, as far as it was seen.
pub(super) enum Next {
    /// The named candidate leads.
    Named,
    /// Another candidate, which may be this runner itself.
    Other {
        /// Name of the leader.
        id: Arc<str>,
        /// The fence of its leadership.
        fence: Option<Fence>,
    },
    /// No leader was seen.
    Nobody,
}

/// Hands `leadership` over, now that CMD is gone, and answers with the result. A client that waits
/// for the next leader gets the answer later, while this runner campaigns again: the named
/// candidate may be gone, and this runner the only candidate that is left.
pub(super) async fn hand_over<K: Class>(
    runner: &mut Runner<K>,
    end: &mut End,
    leadership: &Leadership<K>,
    Hand { to, wait }: Hand,
    reply: oneshot::Sender<Answer>,
) {
    let gone = leadership.transfer_to(to.clone());
    match end.within(runner, leadership, gone).await {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            let resigned = end.within(runner, leadership, leadership.resign()).await;
            return tell(reply, resigned.map(|()| no_transfer(&error)));
        }
        None => return tell(reply, None),
    }
    let succession = Succession {
        election: runner.election.clone(),
        before: K::fence_of(leadership),
        from: leadership.id().into(),
        to,
    };
    let seen = async {
        if wait.is_some() {
            // Given up already: this waits until others know.
            leadership.resign().await;
        }
        match leadership.held_until().filter(|_| wait.is_none()) {
            Some(held) => (Some(held), Next::Nobody),
            None => {
                let patience = wait.map_or(SOON, |until| SOON.min(until.since(clock::now())));
                (None, succession.next(patience).await)
            }
        }
    };
    let Some((held, next)) = end.within(runner, leadership, seen).await else {
        return tell(reply, None);
    };
    match wait.filter(|_| matches!(next, Next::Nobody) && end.signal.is_none()) {
        // This runner ends after it.
        Some(until) if runner.settings.once => {
            let next = succession.next(until.since(clock::now()));
            let next = end.within(runner, leadership, next).await;
            tell(reply, next.map(|next| runner.reporter.handed_over(None, &next)));
        }
        Some(until) => {
            let reporter = runner.reporter.clone();
            runner.handing.spawn(async move {
                let next = succession.next(until.since(clock::now())).await;
                tell(reply, Some(reporter.handed_over(None, &next)));
            });
        }
        None => tell(reply, Some(runner.reporter.handed_over(held, &next))),
    }
}

/// The wait for the next leader.
struct Succession<K: Class> {
    election: Election<K>,
    /// The fence of the leadership that was handed over, if there are fences.
    before: Option<Fence>,
    /// The candidate that led.
    from: Arc<str>,
    /// The candidate that was named.
    to: NodeName,
}

impl<K: Class> Succession<K> {
    /// The next leader that is seen before `patience` is over.
    async fn next(&self, patience: Duration) -> Next {
        let next = async {
            let mut observer = self.election.observe();
            while let Some(change) = observer.next().await {
                let Some(leader) = change.view().and_then(View::leader) else { continue };
                let before = match (leader.fence, self.before) {
                    (Some(fence), Some(before)) => fence <= before,
                    (None, None) => leader.id == self.from,
                    _ => false,
                };
                if before {
                    // Not all grantors know yet that it has stepped down.
                    continue;
                }
                return if *leader.id == *self.to.as_str() {
                    Next::Named
                } else {
                    Next::Other { id: leader.id.clone(), fence: leader.fence }
                };
            }
            Next::Nobody
        };
        tokio::time::timeout(patience, next).await.unwrap_or(Next::Nobody)
    }
}

/// Why it cannot be handed over to the one that was named.
pub(super) fn no_transfer(error: &TransferError) -> Answer {
    let fix = match error {
        TransferError::Unsupported { .. } => "tell it to resign: tenure resign",
        TransferError::NotWaiting { .. } | TransferError::Replaced | TransferError::NotLeading => {
            "look at who campaigns, and give the --id of a waiting candidate"
        }
        _ => "look at who leads and who campaigns, and try again",
    };
    Answer::Refused { what: error.to_string(), fix: fix.to_owned() }
}
