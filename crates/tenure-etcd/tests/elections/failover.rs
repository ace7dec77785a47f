//! Leaders whose member dies, and clusters without a quorum.

use tenure::{Change, View};
use tenure_etcd::Notice;
use tenure_services::etcd::{Cluster, Version};

use crate::common::{all, node, renewed_twice, run, seen, soon, until_waits};

/// The connected member dies: the leader stays in office, and waiting candidates keep their places.
#[test]
fn a_leader_outlives_its_member() {
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    run(async {
        let one = node(&all(&cluster), 30);
        let two = node(&all(&cluster), 30);
        let mut notices = one.notices();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let election = two.election("e").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        until_waits(&cluster, "e", &["one", "two"], &mut waiting).await;
        let mut connected = Vec::new();
        let mut hear = || {
            while let Ok(notice) = notices.try_recv() {
                if let Notice::Connected { endpoint, .. } = notice {
                    connected.push(endpoint.to_string());
                }
            }
            connected.clone()
        };
        let before = hear();
        let its = |endpoint: &String| Some(endpoint) == before.last();
        let member = cluster.endpoints().iter().position(its).unwrap();
        cluster.member(member).kill().unwrap();
        renewed_twice(&leader).await;
        // The node moved to a member whose store answers.
        let connected = hear();
        assert!(connected.len() > before.len(), "{connected:?}");
        assert_ne!(connected.last(), before.last(), "{connected:?}");
        soon(leader.resign()).await;
        let successor = soon(waiting).await.unwrap();
        assert!(successor.is_current());
    });
}

/// Without a quorum the leader is unknown, and its leadership ends in time.
#[test]
fn without_a_quorum_nothing_is_known() {
    let cluster = Cluster::start(Version::Oldest, 3).unwrap();
    run(async {
        let one = node(&all(&cluster), 20);
        let two = node(&all(&cluster), 20);
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let mut observer = two.election("e").unwrap().observe();
        let first = seen(&mut observer).await;
        assert!(matches!(first, View::Leader(_)), "{first:?}");
        for member in [1, 2] {
            cluster.member(member).stop().unwrap();
        }
        let unknown = soon(observer.next()).await.unwrap();
        assert!(matches!(unknown, Change::View(View::Unknown { .. })), "{unknown:?}");
        assert_eq!(soon(leader.lost()).await, tenure::Loss::Expired);
        for member in [1, 2] {
            cluster.member(member).cont().unwrap();
        }
        let again = soon(one.election("e").unwrap().campaign("one again")).await.unwrap();
        assert!(again.fence() > leader.fence());
        let is_again =
            |view: View| view.leader().is_some_and(|seen| seen.value.text() == "one again");
        while !is_again(seen(&mut observer).await) {}
    });
}
