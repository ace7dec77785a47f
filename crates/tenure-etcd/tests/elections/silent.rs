//! A member stands still, and the node tries the member's endpoints before an endpoint that serves.

use std::time::Duration;

use tenure::clock;
use tenure_core::etcd::Reply;
use tenure_etcd::{Endpoint, Notice, Options};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::common::{Line, PATIENCE, node, options, read, run, soon, then};

tenure_services::on_each_version!(a_silent_member);

/// The most trials that may miss the critical moment on a busy machine.
const TRIALS: usize = 12;

/// etcd's leader stands still just before a renewal, and the member that is asked has not noticed:
/// the renewal hangs for a quarter of the lease. The next two endpoints are addresses of that
/// leader. The other members elect a new leader before the lease ends, and the leadership stays. If
/// the node asked the endpoints one by one, these two would cost another quarter of the lease each.
fn a_silent_member(version: Version) {
    let cluster = ClusterConfig::new(version, 3)
        .argument("--heartbeat-interval=50")
        .argument("--election-timeout=500");
    let cluster = cluster.start().unwrap();
    let met = (0..TRIALS).any(|_| run(the_leader_stands_still(&cluster)));
    assert!(met, "no renewal was under way, or etcd had no leader in time");
}

/// Whether a renewal was under way, and etcd had a leader again long enough before the end of the
/// lease.
async fn the_leader_stands_still(cluster: &Cluster) -> bool {
    const LEASE: u64 = 12;
    let leads = |n: &usize| cluster.member(*n).status().is_ok_and(|status| status.leads());
    let Some(leader) = (0..3).find(leads) else { return false };
    let order = [(leader + 1) % 3, leader, leader, (leader + 2) % 3];
    let mut endpoints = order.map(|n| cluster.endpoints()[n].clone());
    endpoints[2] = endpoints[2].replace("127.0.0.1", "localhost");
    // The node shortens `connect_within` to a quarter of the lease.
    let patient = Options { connect_within: PATIENCE, ..Options::clone(&options(&endpoints)) };
    let node = node(&patient.check().unwrap(), LEASE);
    let mut notices = node.notices();
    let held = soon(node.election("e").unwrap().campaign("one")).await.unwrap();
    // A renewal comes 4 s (a third of the lease) after the last, or up to 0.5 s earlier.
    let renewals = async || {
        let counters = node.counters().await.unwrap();
        counters.requests.get("keep_alive").copied().unwrap_or_default()
    };
    let before = renewals().await;
    while renewals().await == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(3_400)).await;
    let end = held.until().unwrap();
    cluster.member(leader).stop().unwrap();
    let mut others = Line::new(options(&endpoints[3..]));
    while !matches!(others.reply(then(vec![read("e/")])).await, Reply::Txn { .. }) {}
    // The renewal hangs until about 5 s before the end.
    let in_time = clock::now().after(Duration::from_secs(5)) < end;
    tokio::time::sleep(end.since(clock::now()) + Duration::from_millis(300)).await;
    let stays = held.is_current();
    let mut has_failed = false;
    while let Ok(notice) = notices.try_recv() {
        let first = |endpoint: &Endpoint| endpoint.to_string() == endpoints[0];
        has_failed |= matches!(&notice, Notice::Disconnected { endpoint, .. } if first(endpoint));
    }
    cluster.member(leader).cont().unwrap();
    cluster.wait_ready().unwrap();
    soon(node.close()).await;
    assert!(stays || !has_failed || !in_time, "two members had a leader in time");
    has_failed && in_time
}
