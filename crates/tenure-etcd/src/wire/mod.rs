//! Carries the core's requests to etcd, and the answers back.
//!
//! [`Wire::send`] takes each [`Request`] and never waits; [`Wire::next`] gives the answers. Every
//! request but a watch has exactly one answer, at the latest when its time is over. A watch has
//! answers until it has ended, and an `Unwatch` has none.
//!
//! - *One endpoint at a time* (`links`). When a connection fails, or an answer does not come in
//!   time, the wire asks all endpoints side by side (`race`). The wire asks the next endpoint a
//!   little ahead of the others, and uses the first whose store answers. Some requests can be
//!   repeated without harm: reads, renewals, revocations, watches that are not open yet. These
//!   requests go to the next endpoint while there is time left. For all other requests a lost
//!   connection means [`Reply::Unknown`](tenure_core::etcd::Reply::Unknown).
//! - *Refused* means that etcd itself has refused (`fault`), or that the request was not sent: then
//!   nothing was carried out.
//! - *A login that is no longer valid* is replaced on the same connection, and the request that
//!   failed is sent once more. While users or rights change again, the request is sent again as
//!   often as its time allows. A login with a known end is replaced before that end (`connector`).
//!   Open watches go on, and new watches are opened on another stream (`streams`).
//! - *Bounds*: a bounded number of unary calls of each kind is under way at once (`limits`). The
//!   others wait in order (`turns`), for half of their time at most, and are then refused unsent.
//!   The calls of the lease (grants, renewals, confirmations, revocations) and their answers never
//!   wait behind calls of elections. Messages are received only as fast as [`Wire::next`] is
//!   called.
//!
//! The core keeps deadlines; times here only end the wait for a request.

mod attempts;
mod beat;
mod call;
pub(crate) mod connect;
mod connector;
mod convert;
mod dial;
pub(crate) mod fault;
mod grpc_proxy;
mod limits;
mod links;
mod login;
mod race;
mod streams;
mod turns;
mod watch;

use std::fmt;
use std::sync::Arc;

use tenure::clock;
use tenure_core::etcd::{Answer, Op, Request};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::limits::Kind;
use self::links::Links;
use self::turns::TimedRequest;
use crate::notice::Notice;
use crate::options::CheckedOptions;

/// The maximum number of answers that wait to be taken; while so many wait, the wire receives
/// nothing.
const ANSWERS: usize = 64;

/// Answers of etcd, and changes of the connection to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    Answer(Answer),
    /// For an operator: the endpoint in use has changed.
    Link(Notice),
}

/// The connection of the core to etcd.
pub struct Wire {
    links: Links,
    /// Unary calls, a channel for each kind.
    calls: [mpsc::UnboundedSender<TimedRequest>; 3],
    beats: mpsc::UnboundedSender<Request>,
    watches: mpsc::UnboundedSender<Request>,
    /// Answers that go first: to calls of the lease, and to rare calls.
    first: Lane,
    then: Lane,
    tasks: [AbortHandle; 3],
}

struct Lane {
    incoming: mpsc::Sender<Incoming>,
    came: mpsc::Receiver<Incoming>,
}

impl Lane {
    fn new() -> Self {
        let (incoming, came) = mpsc::channel(ANSWERS);
        Self { incoming, came }
    }
}

impl Wire {
    /// Makes a wire without connecting: the first request connects. Must be called in a tokio
    /// runtime with I/O and time, in which the tasks of the wire run until the wire is dropped.
    #[must_use]
    pub fn new(options: CheckedOptions) -> Self {
        let first = Lane::new();
        let then = Lane::new();
        let (links, connector) = connector::new(options, first.incoming.clone());
        // The channels need no bound: only the core sends, and it bounds its open requests.
        let (beats, beat_requests) = mpsc::unbounded_channel();
        let (watches, watch_requests) = mpsc::unbounded_channel();
        let beating = beat::run(links.clone(), beat_requests, first.incoming.clone());
        let watching = watch::run(links.clone(), watch_requests, then.incoming.clone());
        let tasks = [
            tokio::spawn(connector.run()).abort_handle(),
            tokio::spawn(beating).abort_handle(),
            tokio::spawn(watching).abort_handle(),
        ];
        let calls = Kind::ALL.map(|kind| {
            let (calls, requests) = mpsc::unbounded_channel();
            let lane = if kind == Kind::Lease { &first } else { &then };
            tokio::spawn(turns::run(links.clone(), kind, requests, lane.incoming.clone()));
            calls
        });
        Self { links, calls, beats, watches, first, then, tasks }
    }

    /// Sends a request without waiting.
    pub fn send(&self, request: Request) {
        match &request.op {
            // The tasks live as long as this value, so the send succeeds.
            Op::KeepAlive { .. } => drop(self.beats.send(request)),
            Op::Watch { .. } | Op::Unwatch { .. } => drop(self.watches.send(request)),
            Op::Grant { .. } | Op::Revoke { .. } | Op::Txn(_) => {
                let [lease, candidates, observers] = &self.calls;
                let turns = match limits::kind(&request.op) {
                    Kind::Lease => lease,
                    Kind::Candidate => candidates,
                    Kind::Observer => observers,
                };
                drop(turns.send((clock::now(), request)));
            }
        }
    }

    /// Uses the next endpoint instead of the one in use.
    pub fn leave(&self, why: &Arc<str>) {
        self.links.leave(why);
    }

    /// Takes input that has come already.
    pub fn take(&mut self) -> Option<Incoming> {
        let first = self.first.came.try_recv();
        first.or_else(|_| self.then.came.try_recv()).ok()
    }

    /// Waits for the next input. Cancel safe.
    pub async fn next(&mut self) -> Incoming {
        tokio::select! {
            biased;
            Some(incoming) = self.first.came.recv() => incoming,
            Some(incoming) = self.then.came.recv() => incoming,
            // This branch never runs, because this value holds the senders.
            else => std::future::pending().await,
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}
