//! Packets that arrive long after they were sent.

use std::time::Duration;

use tenure_nats::Config;
use tenure_services::nats::{Cluster, Version};
use tenure_services::relay::Relay;
use tokio_stream::StreamExt as _;

use crate::common::{ELECTION, config, leads, ranked, renewed, run, soon, start, until_alone};

tenure_services::on_each_version!(late_claims_are_not_believed);

/// A thousand claims of the leader wait in its connection, which stands still, and another
/// participant leads. Then all claims arrive, long after the leader has left that connection, and
/// no participant believes them.
fn late_claims_are_not_believed(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let relay = Relay::start(cluster.server(0).address()).unwrap();
    let through = [format!("nats://{}", relay.address())];
    run(async {
        let best = Config { rank: Some(1), ..config("one") };
        let one = start(best, &through);
        let two = ranked("two", 2, &cluster);
        let leadership = leads(&one).await;
        let listener = async_nats::connect(cluster.server(0).url()).await.unwrap();
        let mut calls = listener.subscribe("tenure.test.call").await.unwrap();
        let claims = async {
            let mut claims = Vec::new();
            while claims.len() < 3 {
                let call = soon(calls.next()).await.unwrap();
                if String::from_utf8_lossy(&call.payload).contains("\"claim\":{\"leader\":\"one~") {
                    claims.push(call.payload);
                }
            }
            claims
        };
        let claims = soon(claims).await;
        let beside = async_nats::connect(&*through[0]).await.unwrap();
        beside.flush().await.unwrap();
        relay.hold();
        for number in 0..1_000 {
            let claim = claims[number % claims.len()].clone();
            beside.publish("tenure.test.call", claim).await.unwrap();
        }
        let successor = leads(&two).await;
        assert!(!leadership.is_current(), "it has stopped before anybody else leads");
        // Drop the node: after its reconnection its packets would be new, and only its old packets
        // must arrive here.
        drop((leadership, one));
        let before = two.counters().await.unwrap();
        relay.open();
        let arrived = async {
            let heard = |counters: &tenure_nats::Counters| counters.heard["call"];
            while heard(&two.counters().await.unwrap()) < heard(&before) + 1_000 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        soon(arrived).await;
        // The test waits for as long as a believed claim would last.
        renewed(&successor, 2).await;
        assert!(successor.is_current(), "it gave way to a claim that was over");
        until_alone(&two, "two").await;
        assert_eq!(two.counters().await.unwrap().elected, 1);
        assert!(two.election(ELECTION).is_ok());
    });
}
