//! More campaigns at once than etcd answers in the time of a call.

use std::cell::Cell;
use std::time::Duration;

use etcd_client::{Client, LeaseKeepAliveStream, LeaseKeeper};
use tenure::clock::now;
use tenure_services::etcd::{Cluster, Version};
use tokio::task::JoinSet;

use crate::common::{all, node, run, soon};

/// All elections of a node share one lease, and the lease's calls do not wait behind the calls of
/// campaigns. If etcd has no time even for a client that only keeps a lease, the trial is void, and
/// repeated with a longer lease.
#[test]
fn leader_survives_campaign_storm() {
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    for lease in [3, 6, 12, 24] {
        let told = run(storm(&cluster, lease));
        let Err(ExpiredLease { bare }) = told else { return };
        let lasts = Duration::from_secs(lease);
        // Both clients renew after a third of the lease. The node gives a call up after another
        // quarter of the lease.
        assert!(bare > lasts / 2, "lost, and a bare client was answered within {bare:?}");
    }
    panic!("etcd has no time to renew a single lease");
}

/// The leader's lease ended.
struct ExpiredLease {
    /// The longest time that a bare client went without an answer.
    bare: Duration,
}

/// Campaigns in thousands of elections for two leases' time, while the node leads one.
async fn storm(cluster: &Cluster, seconds: u64) -> Result<(), ExpiredLease> {
    const MANY: usize = 5000;
    let node = node(&all(cluster), seconds);
    let kept = soon(node.election("kept").unwrap().campaign("me")).await.unwrap();
    let mut client = soon(Client::connect(cluster.endpoints(), None)).await.unwrap();
    let granted = soon(client.lease_grant(3600, None)).await.unwrap();
    let stream = soon(client.lease_keep_alive(granted.id())).await.unwrap();
    let mut campaigns = JoinSet::new();
    for n in 0..MANY {
        let election = node.election(&format!("many/{n}")).unwrap();
        campaigns.spawn(async move { election.campaign("me").await });
    }
    let mut until = kept.until();
    let mut won = Vec::new();
    let enough = kept.until().map(|until| until.after(2 * Duration::from_secs(seconds)));
    let unanswered = Cell::new(Duration::ZERO);
    let bare = keep(client, stream, seconds, &unanswered);
    tokio::pin!(bare);
    while until < enough {
        tokio::select! {
            renewed = soon(kept.renewed(until)) => match renewed {
                Ok(renewed) => until = renewed,
                Err(_) => return Err(ExpiredLease { bare: unanswered.get() }),
            },
            // A lost leadership means that the shared lease is lost.
            Some(leader) = campaigns.join_next() => won.extend(leader.unwrap()),
            () = &mut bare => {}
        }
    }
    let counters = soon(node.counters()).await.unwrap();
    assert!(kept.is_current());
    assert_eq!(counters.expired, 0, "{counters:?}");
    assert!(!won.is_empty() && won.iter().all(|leader| leader.is_current()), "{}", won.len());
    drop(campaigns);
    drop(won);
    soon(node.close()).await;
    Ok(())
}

/// Keeps a lease as a node does, which confirms each renewal by a transaction. Reports the longest
/// time so far without a renewal: from the send of an answered renewal until the answer to the next
/// renewal, or until now. An error is no answer.
async fn keep(
    mut client: Client,
    (mut keeper, mut answers): (LeaseKeeper, LeaseKeepAliveStream),
    seconds: u64,
    longest: &Cell<Duration>,
) {
    let mut last = now();
    loop {
        let sent = now();
        let answer = async {
            keeper.keep_alive().await?;
            answers.message().await?;
            client.put("bare", "", None).await
        };
        tokio::pin!(answer);
        loop {
            let looks = tokio::time::sleep(Duration::from_millis(50));
            let answered = tokio::select! {
                answer = &mut answer => Some(answer),
                () = looks => None,
            };
            longest.set(longest.get().max(now().since(last)));
            if let Some(answer) = answered {
                last = if answer.is_ok() { sent } else { last };
                break;
            }
        }
        tokio::time::sleep(Duration::from_secs(seconds) / 3).await;
    }
}
