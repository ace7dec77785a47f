//! Unary calls take turns: a bounded number of a kind is under way, and the others wait in order. A
//! waiting call is no task, so that thousands of them cost the calls under way nothing.

use std::collections::{BTreeMap, BTreeSet};

use tenure::clock;
use tenure_core::Time;
use tenure_core::etcd::{Answer, Refusal, Reply, Request};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

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
    let mut waiting = Queue::default();
    let mut calls = JoinSet::new();
    loop {
        while calls.len() < kind.most()
            && let Some(handed) = waiting.first()
        {
            let links = links.clone();
            let incoming = incoming.clone();
            calls.spawn(async move {
                let answer = call::carry_out(&links, handed).await;
                // The send fails when the driver is gone; ignore it.
                let _ = incoming.send(Incoming::Answer(answer)).await;
            });
        }
        let due = waiting.due();
        let rest = due.map_or_else(Default::default, |due| due.since(clock::now()));
        tokio::select! {
            Some(_) = calls.join_next() => {}
            () = tokio::time::sleep(rest), if due.is_some() => {
                while let Some((handed, request)) = waiting.take_due(clock::now()) {
                    let refused = refused(handed, &request, calls.len());
                    let _ = incoming.send(Incoming::Answer(refused)).await;
                }
            }
            handed = requests.recv() => match handed {
                Some(handed) => waiting.put(handed),
                // Calls under way go on.
                None => return calls.detach_all(),
            },
        }
    }
}

/// Refuses a call without a turn before the core stops waiting for it: the call certainly did
/// nothing, so the core need not look for its effects.
fn refused(handed: Time, request: &Request, busy: usize) -> Answer {
    let waited = clock::now().since(handed).as_secs_f32();
    let reason =
        format!("the request waited {waited:.1} s for its turn: {busy} requests are under way");
    let reply = Reply::Refused(Refusal::Other { said: reason.into() });
    Answer { call: request.call, header: None, reply }
}

#[derive(Debug, Default)]
struct Queue {
    requests: BTreeMap<u64, TimedRequest>,
    /// Each waiting call with its give-up time, after half of the call's time: a call that gets a
    /// turn has the other half.
    dues: BTreeSet<(Time, u64)>,
    last: u64,
}

impl Queue {
    fn put(&mut self, (handed, request): TimedRequest) {
        self.last += 1;
        self.dues.insert((given_up(handed, &request), self.last));
        self.requests.insert(self.last, (handed, request));
    }

    fn first(&mut self) -> Option<TimedRequest> {
        let (number, (handed, request)) = self.requests.pop_first()?;
        self.dues.remove(&(given_up(handed, &request), number));
        Some((handed, request))
    }

    fn due(&self) -> Option<Time> {
        self.dues.first().map(|(due, _)| *due)
    }

    /// Takes a call whose give-up time has come.
    fn take_due(&mut self, now: Time) -> Option<TimedRequest> {
        let (_, number) = self.dues.first().copied().filter(|(due, _)| *due <= now)?;
        self.dues.pop_first();
        self.requests.remove(&number)
    }
}

fn given_up(handed: Time, request: &Request) -> Time {
    handed.after(request.within / 2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::etcd::{CallId, LeaseId, Op};

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn handed(call: u64, seconds: u64, within: u64) -> TimedRequest {
        let op = Op::Revoke { lease: LeaseId(1) };
        (at(seconds), Request { call: CallId(call), within: Duration::from_secs(within), op })
    }

    #[test]
    fn turns_keep_request_order() {
        let mut waiting = Queue::default();
        let requests = [(1, 0, 20), (2, 1, 4), (3, 2, 20), (4, 2, 4)];
        requests.into_iter().for_each(|(call, at, within)| waiting.put(handed(call, at, within)));
        let call = |one: Option<TimedRequest>| one.map(|(_, request)| request.call.0);
        assert_eq!(waiting.due(), Some(at(3)));
        assert_eq!(call(waiting.take_due(at(2))), None);
        assert_eq!(call(waiting.first()), Some(1));
        assert_eq!(call(waiting.take_due(at(3))), Some(2));
        assert_eq!(call(waiting.take_due(at(3))), None);
        assert_eq!(call(waiting.first()), Some(3));
        assert_eq!(waiting.due(), Some(at(4)));
        assert_eq!(call(waiting.first()), Some(4));
        assert_eq!((call(waiting.first()), waiting.due()), (None, None));
        assert!(waiting.dues.is_empty(), "nothing is left");
    }
}
