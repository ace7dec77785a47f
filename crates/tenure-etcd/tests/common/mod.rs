//! Helpers of these tests.

#![allow(dead_code, reason = "not every test file needs all of it")]

mod frames;
pub(crate) mod proxy;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::time::Duration;

use tenure::{AtMostOne, Change, Leadership, Observer, View};
use tenure_core::etcd::{
    Act, Answer, Bytes, CallId, Compare, Header, KeyValue, Keys, LeaseId, Op, Pick, Read, Reply,
    Request, Txn,
};
use tenure_etcd::wire::{Incoming, Wire};
use tenure_etcd::{CheckedOptions, Config, Node, Notice, Options};
use tenure_services::Error;
use tenure_services::etcd::Cluster;
pub(crate) use tenure_testkit::handles::{PATIENCE, run, soon};

pub(crate) fn options(endpoints: &[String]) -> CheckedOptions {
    let endpoints = endpoints.iter().map(|url| url.parse().unwrap()).collect();
    Options::new(endpoints).check().unwrap()
}

pub(crate) fn all(cluster: &Cluster) -> CheckedOptions {
    options(&cluster.endpoints())
}

/// A node with a lease of this number of seconds.
pub(crate) fn node(options: &CheckedOptions, seconds: u64) -> Node {
    let lease = Duration::from_secs(seconds);
    let config = Config { lease, grace: lease / 10, ..Config::default() };
    Node::builder(config.check().unwrap(), options.clone()).start().unwrap()
}

/// The values of an election's keys (`election`, a slash, a name), the leader's value first.
pub(crate) fn stored(cluster: &Cluster, election: &str) -> Vec<String> {
    try_stored(cluster, election).unwrap()
}

fn try_stored(cluster: &Cluster, election: &str) -> Result<Vec<String>, Error> {
    let prefix = format!("{election}/");
    let order = ["get", "--prefix", &prefix, "--print-value-only", "--sort-by=CREATE"];
    let said = cluster.etcdctl(&order)?;
    Ok(said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Waits until these values are stored: other processes make and delete keys without notice. Asks a
/// busy etcd again if it does not answer.
pub(crate) async fn until_stored(cluster: &Cluster, election: &str, expected: &[&str]) {
    soon(async {
        while !try_stored(cluster, election).is_ok_and(|stored| stored == expected) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// Waits until these values are stored; the candidate of `waiting` is one of them and does not win.
pub(crate) async fn until_waits(
    cluster: &Cluster,
    election: &str,
    expected: &[&str],
    waiting: &mut (impl Future<Output: Debug> + Unpin),
) {
    tokio::select! {
        () = until_stored(cluster, election, expected) => {}
        won = waiting => panic!("{won:?} beside the leader"),
    }
}

/// Waits for two renewals: the second begins after the call.
pub(crate) async fn renewed_twice(leader: &Leadership<AtMostOne>) {
    let mut until = leader.until();
    for _ in 0..2 {
        until = soon(leader.renewed(until)).await.unwrap();
    }
}

/// Waits for the next view other than `Unknown`, which a machine that stands still may cause in
/// between.
pub(crate) async fn seen(observer: &mut Observer) -> View {
    loop {
        match soon(observer.next()).await.unwrap() {
            Change::Reset | Change::View(View::Unknown { .. }) => {}
            Change::View(view) => return view,
            other => panic!("{other:?}"),
        }
    }
}

/// Waits for the next view with another leader than `last`, or without a leader. The same view may
/// come again after an `Unknown`.
pub(crate) async fn seen_after(last: &View, observer: &mut Observer) -> View {
    let leader = |view: &View| view.leader().map(|one| (one.id.clone(), one.value.clone()));
    loop {
        let view = seen(observer).await;
        if leader(&view) != leader(last) {
            return view;
        }
    }
}

/// Whether the notice is about a delay, as on a busy machine.
pub(crate) fn is_late(notice: &Notice) -> bool {
    notice.to_string().contains(" within ")
}

/// The output of `etcdctl`; a busy etcd is asked again.
pub(crate) fn told(cluster: &Cluster, words: &[&str]) -> String {
    let tries = (0..12).find_map(|_| cluster.etcdctl(words).ok());
    tries.unwrap_or_else(|| cluster.etcdctl(words).unwrap())
}

/// Waits until no key and no lease is left. A node that closes stops waiting for its deletions
/// after a quarter of its lease, so keys may stay until the lease ends.
pub(crate) async fn until_empty(cluster: &Cluster) {
    let keys = || cluster.etcdctl(&["get", "--prefix", "", "--keys-only"]);
    let leases = || cluster.etcdctl(&["lease", "list"]);
    let is_empty = || {
        keys().is_ok_and(|keys| keys.is_empty())
            && leases().is_ok_and(|leases| leases.contains("found 0 leases"))
    };
    soon(async {
        while !is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// A wire that sends one request after the other, and sorts the answers.
pub(crate) struct Line {
    pub(crate) wire: Wire,
    calls: u64,
    /// Input that came while the test waited for other input.
    came: VecDeque<Incoming>,
}

impl Line {
    pub(crate) fn new(options: CheckedOptions) -> Self {
        Self { wire: Wire::new(options), calls: 0, came: VecDeque::new() }
    }

    pub(crate) fn send(&mut self, within: Duration, op: Op) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        self.wire.send(Request { call, within, op });
        call
    }

    pub(crate) async fn answer(&mut self, call: CallId) -> Answer {
        let is_it = |one: &Incoming| matches!(one, Incoming::Answer(answer) if answer.call == call);
        let came = self.came.iter().position(is_it).and_then(|at| self.came.remove(at));
        let mut next = came;
        loop {
            match next.take() {
                Some(Incoming::Answer(answer)) if answer.call == call => return answer,
                Some(other) => self.came.push_back(other),
                None => {}
            }
            next = Some(soon(self.wire.next()).await);
        }
    }

    /// The number of answers that were not taken.
    pub(crate) fn waiting(&self) -> usize {
        self.came.iter().filter(|incoming| matches!(incoming, Incoming::Answer(_))).count()
    }

    /// Whether no other answer has come, and none comes within `long`. Changes of the connection do
    /// not count.
    pub(crate) async fn is_silent(&mut self, long: Duration) -> bool {
        let more = async {
            while self.waiting() == 0 {
                self.came.push_back(self.wire.next().await);
            }
        };
        tokio::time::timeout(long, more).await.is_err()
    }

    /// Input that came and was not taken.
    pub(crate) fn incoming(&self) -> impl Iterator<Item = &Incoming> {
        self.came.iter()
    }

    pub(crate) fn was_disconnected(&self) -> bool {
        self.came
            .iter()
            .any(|incoming| matches!(incoming, Incoming::Link(Notice::Disconnected { .. })))
    }

    pub(crate) fn connected(&self) -> Option<String> {
        self.came.iter().rev().find_map(|incoming| match incoming {
            Incoming::Link(Notice::Connected { endpoint, .. }) => Some(endpoint.to_string()),
            _ => None,
        })
    }

    pub(crate) async fn ask_within(&mut self, within: Duration, op: Op) -> Answer {
        let call = self.send(within, op);
        self.answer(call).await
    }

    pub(crate) async fn ask(&mut self, op: Op) -> (Header, Reply) {
        let answer = self.ask_within(PATIENCE, op).await;
        let header = answer.header;
        (header.unwrap_or_else(|| panic!("no header: {answer}")), answer.reply)
    }

    /// The reply to a request, if the header of the answer does not matter.
    pub(crate) async fn reply(&mut self, op: Op) -> Reply {
        self.ask_within(PATIENCE, op).await.reply
    }

    pub(crate) async fn watch(&mut self, keys: Keys, from: u64) -> CallId {
        let call = self.send(PATIENCE, Op::Watch { keys, from, deletions: false });
        assert_eq!(self.answer(call).await.reply, Reply::Watching);
        call
    }
}

pub(crate) fn put(key: &str, value: &str, lease: LeaseId) -> Act {
    Act::Put { key: key.into(), value: value.into(), lease }
}

pub(crate) fn delete(key: &str) -> Act {
    Act::Delete { key: key.into() }
}

pub(crate) fn read(key: &str) -> Act {
    Act::read(key.into())
}

pub(crate) fn read_all(prefix: &str, pick: Pick) -> Act {
    Act::Read(Read { keys: Keys::Prefix(prefix.into()), pick, keys_only: false })
}

/// A transaction without a condition.
pub(crate) fn then(then: Vec<Act>) -> Op {
    Op::Txn(Txn { when: vec![], then, otherwise: vec![] })
}

/// A comparison: the key was created at this revision.
pub(crate) fn created(key: &str, revision: u64) -> Compare {
    Compare::Created { key: Bytes::from(key), revision }
}

/// A transaction that creates the key if it is not there.
pub(crate) fn create(key: &str, value: &str, lease: LeaseId) -> Op {
    let when = vec![created(key, 0)];
    Op::Txn(Txn { when, then: vec![put(key, value, lease)], otherwise: vec![read(key)] })
}

/// The only key that a transaction has found.
pub(crate) fn found(reply: Reply) -> Option<KeyValue> {
    match reply {
        Reply::Txn { mut found, .. } if found.len() == 1 => found.pop().flatten(),
        other => panic!("{other}"),
    }
}
