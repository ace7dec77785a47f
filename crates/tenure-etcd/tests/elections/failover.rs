//! Leaders whose member dies, and clusters without a quorum.

use std::time::Duration;

use tenure::{Change, View};
use tenure_etcd::Notice;
use tenure_services::etcd::{Cluster, Version};

use crate::common::{all, node, run, soon};

/// The connected member dies: the leader stays in office, and so do those who wait.
#[test]
fn a_leader_outlives_its_member() {
    let cluster = Cluster::start(Version::Newest, 3).unwrap();
    run(async {
        let (one, two) = (node(&all(&cluster), 10), node(&all(&cluster), 10));
        let mut notices = one.notices();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let election = two.election("e").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        assert!(tokio::time::timeout(Duration::from_millis(700), &mut waiting).await.is_err());
        cluster.member(0).kill().unwrap();
        // Renewed for longer than the lease that it had then.
        let over = leader.until();
        let mut until = over;
        while until <= over.after(Duration::from_secs(4)) {
            until = soon(leader.renewed(until)).await.unwrap();
        }
        let mut connected = Vec::new();
        while let Ok(notice) = notices.try_recv() {
            if let Notice::Connected { endpoint, .. } = notice {
                connected.push(endpoint.to_string());
            }
        }
        // It may turn to the third as well, if etcd has no new leader of its own in time.
        assert!(connected.starts_with(&cluster.endpoints()[..2]), "{connected:?}");
        soon(leader.resign()).await;
        let successor = soon(waiting).await.unwrap();
        assert!(successor.is_current());
    });
}

/// Without a quorum nobody knows who leads, and the leader's office ends in time.
#[test]
fn without_a_quorum_nothing_is_known() {
    let cluster = Cluster::start(Version::Debian34, 3).unwrap();
    run(async {
        let (one, two) = (node(&all(&cluster), 5), node(&all(&cluster), 5));
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let mut observer = two.election("e").unwrap().observe();
        let seen = soon(observer.next()).await.unwrap();
        assert!(matches!(seen, Change::View(View::Leader(_))), "{seen:?}");
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
        let seen = soon(async {
            loop {
                let change = observer.next().await.unwrap();
                let value = change.view().and_then(View::leader).map(|view| view.value.clone());
                if value.is_some_and(|value| value.text() == "one again") {
                    break;
                }
            }
        });
        seen.await;
    });
}
