//! Handing a leadership over to a candidate that was named, and telling who took it up.

use std::sync::Arc;
use std::time::Duration;

use tenure::{AtMostOne, Election, Fence, Leadership, NodeName, TransferError, View, clock};
use tokio::sync::oneshot;

use super::Runner;
use super::leading::{End, Hand, SOON, tell};
use crate::control::Answer;

/// Who leads after a hand-over, as far as that was seen.
pub(super) enum Next {
    /// The one that was named.
    Named,
    /// Another candidate, which may be this runner itself.
    Other {
        /// What names it.
        id: Arc<str>,
        /// The fence of its leadership.
        fence: Option<Fence>,
    },
    /// Nobody was seen to lead.
    Nobody,
}

/// Hands `leadership` over, now that CMD is gone, and answers with what came of it. Who waits for
/// the next leader gets the answer later, while this runner campaigns again: the one that was named
/// may be gone, and this runner the only candidate that is left.
pub(super) async fn hand_over(
    runner: &mut Runner,
    end: &mut End,
    leadership: &Leadership<AtMostOne>,
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
        election: runner.participant.election(&runner.settings.election),
        before: leadership.fence(),
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
            tell(reply, next.map(|next| runner.voice.handed_over(None, &next)));
        }
        Some(until) => {
            let voice = runner.voice.clone();
            runner.handing.spawn(async move {
                let next = succession.next(until.since(clock::now())).await;
                tell(reply, Some(voice.handed_over(None, &next)));
            });
        }
        None => tell(reply, Some(runner.voice.handed_over(held, &next))),
    }
}

/// What follows a leadership.
struct Succession {
    election: Election<AtMostOne>,
    /// The fence of the leadership that was given up.
    before: Fence,
    /// The candidate that was named.
    to: NodeName,
}

impl Succession {
    /// Who is seen to lead before `patience` is over.
    async fn next(&self, patience: Duration) -> Next {
        let next = async {
            let mut observer = self.election.observe();
            while let Some(change) = observer.next().await {
                let Some(View::Leader(leader)) = change.view() else { continue };
                if leader.fence.is_some_and(|fence| fence <= self.before) {
                    // Not everybody knows yet that it was given up.
                    continue;
                }
                return match *leader.id == *self.to.as_str() {
                    true => Next::Named,
                    false => Next::Other { id: leader.id.clone(), fence: leader.fence },
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
