//! `few:K`: of many participants only the best K call.

use std::collections::BTreeMap;

use tenure::{Election, MayOverlap};
use tenure_nats::{Callers, Config, Node};
use tenure_services::nats::{Cluster, Version};
use tenure_services::relay::Relay;
use tokio::task::JoinSet;

use crate::common::{ELECTION, config, elected, hears, leads, run, soon, start, until_alone};

fn node(id: &str, rank: u64, url: &str) -> Node {
    let callers: Callers = "few:2".parse().unwrap();
    start(Config { rank: Some(rank), callers, ..config(id) }, &[url.to_owned()])
}

async fn calls(node: &Node) -> u64 {
    node.counters().await.unwrap().sent.get("call").copied().unwrap_or(0)
}

/// Waits for a span of three rounds in which exactly these participants call.
async fn callers_are(nodes: &BTreeMap<&str, Node>, expected: &[&str]) {
    let settled = async {
        loop {
            let mut before = BTreeMap::new();
            for (id, node) in nodes {
                before.insert(*id, calls(node).await);
            }
            hears(&nodes[expected[0]], 3 * expected.len() as u64).await;
            let mut called = Vec::new();
            for (id, node) in nodes {
                if calls(node).await > before[id] {
                    called.push(*id);
                }
            }
            if called == expected {
                return;
            }
        }
    };
    elected(settled).await;
}

/// Five participants campaign, and two of them call. Both callers fall silent at once. After the
/// end of the lease the best of the others leads, and again two call.
#[test]
fn dead_callers_are_followed() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    let relay = Relay::start(cluster.server(0).address()).unwrap();
    let (direct, through) = (cluster.server(0).url(), format!("nats://{}", relay.address()));
    run(async {
        // The best two participants have names in the order of their ranks.
        let best = ["a", "b"].into_iter().zip(1..).map(|(id, rank)| (id, node(id, rank, &through)));
        let best: BTreeMap<_, _> = best.collect();
        let first = leads(&best["a"]).await;
        let rest = ["c", "d", "e"].into_iter().zip(3..);
        let rest: BTreeMap<_, _> = rest.map(|(id, rank)| (id, node(id, rank, direct))).collect();
        let election = |node: &Node| node.election(ELECTION).unwrap();
        let mut waiting = JoinSet::new();
        waiting.spawn(campaign(election(&best["b"]), "b"));
        for (id, node) in &rest {
            waiting.spawn(campaign(election(node), id));
        }
        for node in best.values().chain(rest.values()) {
            until_alone(node, "a").await;
        }
        let mut all = best.clone();
        all.extend(rest.iter().map(|(id, node)| (*id, node.clone())));
        callers_are(&all, &["a", "b"]).await;

        relay.hold();
        let (id, second) = elected(waiting.join_next()).await.unwrap().unwrap();
        assert_eq!(id, "c");
        assert!(!first.is_current(), "it has stopped before anybody else leads");
        callers_are(&rest, &["c", "d"]).await;
        for node in rest.values() {
            until_alone(node, "c").await;
        }
        assert!(second.is_current());
        for node in rest.values() {
            let counters = soon(node.counters()).await.unwrap();
            assert!(counters.elected <= 1 && counters.expired == 0, "{counters:?}");
        }
        drop((all, best));
        relay.cut();
    });
}

async fn campaign(
    election: Election<MayOverlap>,
    id: &'static str,
) -> (&'static str, tenure::Leadership<MayOverlap>) {
    let won = election.campaign(id).await;
    (id, won.unwrap())
}
