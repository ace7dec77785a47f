//! Helpers of tests of elections on real servers.

#![allow(dead_code, unused_imports, reason = "not every test file needs all of it")]

use std::time::Duration;

use tenure::{Leadership, MayOverlap, View};
use tenure_nats::{CheckedOptions, Config, Node, Options};
use tenure_services::nats::Cluster;

pub(crate) use tenure_testkit::handles::{PATIENCE, run, soon};

/// Rounds of 2 s and a lease of 24 s. A message may take a second. A renewal begins while at least
/// 10 s of the lease are left, the handle ends 2.1 s before the lease, and a standstill costs two
/// more rounds. So the machine may stand still for 3.9 s at any moment of a term.
pub(crate) fn config(id: &str) -> Config {
    Config {
        heartbeat: Duration::from_secs(2),
        lease: Duration::from_secs(24),
        max_clock_skew: Duration::from_millis(100),
        grace: Duration::from_millis(300),
        ..Config::new("test".parse().unwrap(), id.parse().unwrap())
    }
}

pub(crate) fn options(urls: &[String]) -> CheckedOptions {
    let options = Options::new(urls.iter().map(|url| url.parse().unwrap()).collect());
    Options { connect_within: PATIENCE, ..options }.check().unwrap()
}

pub(crate) fn start(config: Config, urls: &[String]) -> Node {
    Node::builder(config.check().unwrap(), options(urls)).start().unwrap()
}

pub(crate) fn ranked(id: &str, rank: u64, cluster: &Cluster) -> Node {
    start(Config { rank: Some(rank), ..config(id) }, &cluster.urls())
}

/// Waits for a leader. Each round that a busy machine makes void costs another lease.
pub(crate) async fn elected<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(4 * PATIENCE, what).await.expect("nobody leads")
}

/// Campaigns until the node leads.
pub(crate) async fn leads(node: &Node) -> Leadership<MayOverlap> {
    elected(node.election(ELECTION).unwrap().campaign(node.who().id.as_str())).await.unwrap()
}

/// Waits for this number of renewals.
pub(crate) async fn renewed(leadership: &Leadership<MayOverlap>, times: u32) {
    let mut until = leadership.until();
    for _ in 0..times {
        until = soon(leadership.renewed(until)).await.unwrap();
    }
}

/// Waits until this node has heard this number of further calls, its own included.
pub(crate) async fn hears(node: &Node, calls: u64) {
    let heard = async || node.counters().await.unwrap().heard.get("call").copied().unwrap_or(0);
    let enough = heard().await + calls;
    soon(async {
        while heard().await < enough {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// The election of all these tests.
pub(crate) const ELECTION: &str = "billing";

/// The leader that a node follows, and the number of other leaders that the node knows.
pub(crate) fn seen(view: &View) -> Option<(String, usize)> {
    let leader = view.leader()?;
    Some((leader.value.text().into_owned(), view.others().len()))
}

/// Waits until this node sees a single leader.
pub(crate) async fn until_alone(node: &Node, leader: &str) {
    let mut observer = node.election(ELECTION).unwrap().observe();
    let alone = async {
        loop {
            let change = observer.next().await.unwrap();
            if change.view().and_then(seen) == Some((leader.to_owned(), 0)) {
                return;
            }
        }
    };
    soon(alone).await;
}
