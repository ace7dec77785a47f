//! Far more campaigns at once than etcd answers in the time of a call.

use std::time::Duration;

use tenure_services::etcd::{Cluster, Version};
use tokio::task::JoinSet;

use crate::common::{all, node, run, soon};

/// All elections of a node stand on one lease, and the calls that keep it do not wait behind
/// those of campaigns.
#[test]
fn a_leader_stays_when_thousands_of_campaigns_begin() {
    const MANY: usize = 5000;
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    run(async {
        let node = node(&all(&cluster), 3);
        let kept = soon(node.election("kept").unwrap().campaign("me")).await.unwrap();
        let mut campaigns = JoinSet::new();
        for n in 0..MANY {
            let election = node.election(&format!("many/{n}")).unwrap();
            campaigns.spawn(async move { election.campaign("me").await });
        }
        let mut until = kept.until();
        let mut won = Vec::new();
        let enough = kept.until().map(|until| until.after(Duration::from_secs(6)));
        while until < enough {
            tokio::select! {
                renewed = soon(kept.renewed(until)) => until = renewed.unwrap(),
                Some(leader) = campaigns.join_next() => won.push(leader.unwrap().unwrap()),
            }
        }
        let counters = soon(node.counters()).await.unwrap();
        assert!(kept.is_current());
        assert_eq!(counters.expired, 0, "{counters:?}");
        assert!(!won.is_empty() && won.iter().all(|leader| leader.is_current()), "{}", won.len());
        drop(campaigns);
        drop(won);
        soon(node.close()).await;
    });
}
