//! Hands a leadership over to a named candidate, and reports the next leader.

use std::sync::Arc;
use std::time::Duration;

use tenure::{Election, Fence, Leadership, NodeName, Time, TransferError, View, clock};
use tokio::sync::oneshot;

use super::runner::Runner;
use super::stepping_down::{End, SOON, tell};
use crate::control::Answer;
use crate::protocol::{Class, Later};

/// The named next leader, and the instant at which the client stops waiting for it.
pub(super) struct Hand {
    pub(super) to: NodeName,
    pub(super) wait: Option<Time>,
}

/// A requested hand-over, while this runner asks whether the named candidate waits. A loop must
/// keep this value over its turns: a new question would drop the answer to the old question.
#[derive(Default)]
pub(super) struct Probe<'a>(Option<PendingProbe<'a>>);

type Waits = Result<(), TransferError>;
type PendingProbe<'a> = (Hand, oneshot::Sender<Answer>, Later<'a, Waits>);

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

    /// Resolves with the answer about the named candidate, and with the client that waits. Cancel
    /// safe.
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

/// The next leader, as far as this runner saw it.
pub(super) enum Next {
    /// The named candidate leads.
    Named,
    /// A candidate that was not named leads; this runner may be that candidate.
    Other {
        id: Arc<str>,
        fence: Option<Fence>,
    },
    Nobody,
}

/// Hands `leadership` over after the end of CMD, and answers with the result. A client that waits
/// for the next leader gets its answer later. Meanwhile this runner campaigns again, because the
/// named candidate may be gone, and this runner may be the only candidate.
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
            // The lease is already released; this call only waits until other nodes know.
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
        // With `--once` the runner ends after this hand-over, so it waits here for the next leader.
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

/// A wait for the next leader.
struct Succession<K: Class> {
    election: Election<K>,
    before: Option<Fence>,
    /// The old leader.
    from: Arc<str>,
    /// The named next leader.
    to: NodeName,
}

impl<K: Class> Succession<K> {
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
                    // Some grantors do not know of the release yet.
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

/// The refusal of a hand-over to the named candidate.
pub(super) fn no_transfer(error: &TransferError) -> Answer {
    let fix = match error {
        TransferError::Unsupported { .. } => "make the leader resign instead: tenure resign",
        TransferError::NotWaiting { .. } | TransferError::Replaced | TransferError::NotLeading => {
            "ask who waits (tenure candidates), and give the --id of a waiting candidate"
        }
        _ => "ask who leads and who waits, and try again",
    };
    Answer::Refused { what: error.to_string(), fix: fix.to_owned() }
}
