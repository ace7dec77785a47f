//! Unary calls take turns: a bounded number of calls of each kind is under way, and the others wait
//! in order.

use std::sync::Arc;

use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{Answer, Refusal, Reply, Request};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::limits::Kind;
use super::links::Links;
use super::{Incoming, call};

/// A request, and the time at which it was handed over, on `CLOCK_BOOTTIME`.
pub(super) type TimedRequest = (Time, Request);

/// Carries out all calls of one kind.
pub(super) async fn run(
    links: Links,
    kind: Kind,
    mut requests: mpsc::UnboundedReceiver<TimedRequest>,
    incoming: mpsc::Sender<Incoming>,
) {
    let turns = Arc::new(Semaphore::new(kind.most()));
    while let Some((handed, request)) = requests.recv().await {
        let links = links.clone();
        let turns = turns.clone();
        let incoming = incoming.clone();
        tokio::spawn(async move {
            // A call waits for half of its time at most, so the other half is left for the call
            // itself.
            let wait = (request.within / 2).saturating_sub(clock::now().since(handed));
            let turn = match timeout(wait, turns.acquire()).await {
                Ok(Ok(turn)) => Some(turn),
                Ok(Err(_)) => return,
                Err(_) => None,
            };
            let answer = match &turn {
                // The box keeps the tasks of waiting calls small.
                Some(_) => Box::pin(call::carry_out(&links, (handed, request))).await,
                None => refused(handed, &request, kind.most()),
            };
            // The send fails when the driver is gone; ignore it.
            let _ = incoming.send(Incoming::Answer(answer)).await;
        });
    }
    // Calls under way go on. Calls that wait for a turn end without an answer, which no driver
    // awaits any more.
    turns.close();
}

/// Refuses a call that has waited too long for its turn. The refusal comes before the core gives
/// the call up: the call certainly did nothing, and the core need not look for effects.
fn refused(handed: Time, request: &Request, busy: usize) -> Answer {
    let waited = clock::now().since(handed).as_secs_f32();
    let reason =
        format!("the request waited {waited:.1} s for its turn: {busy} requests are under way");
    let reply = Reply::Refused(Refusal::Other { said: reason.into() });
    Answer { call: request.call, header: None, reply }
}
