//! The tests of the text's author, as far as they carry over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure::View;
use tenure_nats::{Config, Node};
use tenure_services::nats::{Cluster, Version};

use crate::common::{
    ELECTION, config, elected, leads, ranked, renewed, run, seen, soon, start, until_alone,
};

tenure_services::on_each_version!(
    two_equal_ranks_never_alternate,
    own_broadcasts_are_heard_and_one_leads_once,
    a_malformed_reply_harms_nobody
);

/// Fifty start, one leads, the best of them, and all stop.
#[test]
fn fifty_start_and_stop() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let node = |rank| ranked(&format!("node-{rank}"), rank, &cluster);
        let nodes: Vec<_> = (0..50).map(node).collect();
        let elections: Vec<_> = nodes.iter().map(|node| node.election(ELECTION).unwrap()).collect();
        let mut campaigns: Vec<_> = elections
            .iter()
            .zip(&nodes)
            .map(|(election, node)| election.campaign(node.who().id.as_str()))
            .collect();
        let leadership = elected(&mut campaigns[0]).await.unwrap();
        until_alone(&nodes[49], "node-0").await;
        assert!(leadership.is_current());
        for node in &nodes {
            node.close().await;
            assert!(node.counters().await.is_none(), "it has ended");
        }
    });
}

/// Ten servers, each alone with one participant; then their routes come together.
#[test]
fn healed_nodes_follow_best_one() {
    let cluster = Cluster::start(Version::Newest, 10).unwrap();
    (0..10).for_each(|server| cluster.isolate(server));
    for server in cluster.servers() {
        server.wait_routes(0).unwrap();
    }
    run(async {
        let mut nodes = Vec::new();
        for rank in 0..10 {
            let own = Config { rank: Some(rank), ..config(&format!("node-{rank}")) };
            let urls = [cluster.server(usize::try_from(rank).unwrap()).url().to_owned()];
            nodes.push(start(own, &urls));
        }
        let all: Vec<_> = nodes.iter().map(leads_whenever_it_can).collect();
        let led = |rank: usize| all[rank].load(Ordering::Relaxed);
        elected(until(|| (0..10).all(led))).await;
        cluster.heal();
        cluster.wait_ready().unwrap();
        // The one whose lease lasts longest leads at first, then the best.
        elected(until(|| led(0) && !(1..10).any(led))).await;
        for node in &nodes {
            until_alone(node, "node-0").await;
        }
    });
}

/// Campaigns again after each loss. Whether it leads at the moment.
fn leads_whenever_it_can(node: &Node) -> Arc<AtomicBool> {
    let election = node.election(ELECTION).unwrap();
    let own = node.who().id.to_string();
    let leads: Arc<AtomicBool> = Arc::default();
    let told = leads.clone();
    tokio::spawn(async move {
        while let Ok(leadership) = election.campaign(&own).await {
            told.store(true, Ordering::Relaxed);
            until(|| !leadership.is_current()).await;
            told.store(false, Ordering::Relaxed);
        }
    });
    leads
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn two_equal_ranks_never_alternate(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let one = ranked("one", 7, &cluster);
        let two = ranked("two", 7, &cluster);
        let first = one.election(ELECTION).unwrap();
        let second = two.election(ELECTION).unwrap();
        let mut first = first.campaign("one");
        let mut second = second.campaign("two");
        let won = async {
            tokio::select! {
                won = &mut first => (won, &mut second),
                won = &mut second => (won, &mut first),
            }
        };
        let (won, other) = elected(won).await;
        let leadership = won.unwrap();
        tokio::select! {
            () = renewed(&leadership, 2) => {}
            _ = other => panic!("the other one leads as well"),
        }
        assert_eq!(
            one.counters().await.unwrap().elected + two.counters().await.unwrap().elected,
            1
        );
    });
}

fn own_broadcasts_are_heard_and_one_leads_once(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let node = ranked("alone", 0, &cluster);
        let mut observer = node.election(ELECTION).unwrap().observe();
        let leadership = leads(&node).await;
        let mut led = Vec::new();
        let terms = async {
            loop {
                match observer.next().await.unwrap().view() {
                    // A node does not know while the machine stands still.
                    Some(View::Unknown { .. }) => led.clear(),
                    view => led.extend(view.and_then(seen)),
                }
            }
        };
        tokio::select! {
            () = renewed(&leadership, 2) => {}
            () = terms => {}
        }
        assert_eq!(led, [("alone".to_owned(), 0)], "one record, not one for each term");
        assert!(leadership.is_current());
        let counters = node.counters().await.unwrap();
        assert!(counters.heard["call"] >= 5, "{counters:?}");
        assert_eq!((counters.elected, counters.expired), (1, 0));
    });
}

fn a_malformed_reply_harms_nobody(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let node = ranked("one", 0, &cluster);
        let leadership = leads(&node).await;
        let stranger = async_nats::connect(cluster.server(0).url()).await.unwrap();
        stranger.publish("tenure.test.reply", "not json".into()).await.unwrap();
        let counted = async {
            while node.counters().await.unwrap().ignored.get("unreadable") != Some(&1) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(counted).await;
        assert!(leadership.is_current());
    });
}
