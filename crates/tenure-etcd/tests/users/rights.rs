//! A process leads in several elections, and loses its right to the keys of one of them.
//!
//! All elections share one lease. Either etcd or the process itself demands the right to all keys
//! of a lease: `docs/howto/etcd.md` has the consequence under *Login, TLS and rights*.

use std::collections::BTreeSet;

use tenure::{CampaignError, Loss};
use tenure_etcd::{Node, Notice, OwnEvent};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};
use tokio::sync::broadcast::Receiver;

use crate::common::{node, renewed_twice, run, soon, until_empty, until_stored, until_waits};
use crate::{PASSWORD, permit, user, with_users};

const DENIED: &str = "etcdserver: permission denied";

/// `poor` may read and write the keys of the elections `one` and `two`.
fn with_two_elections(version: Version) -> Cluster {
    let cluster = with_users(ClusterConfig::new(version, 1));
    permit(&cluster, "one/");
    permit(&cluster, "two/");
    cluster
}

/// The text of each refusal by etcd, each text once.
fn obstacles(notices: &mut Receiver<Notice>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    while let Ok(notice) = notices.try_recv() {
        if matches!(notice, Notice::Protocol { event: OwnEvent::Obstacle { .. }, .. }) {
            found.insert(notice.to_string());
        }
    }
    found
}

tenure_services::on_each_version!(lost_right_ends_one_election);

/// All leaderships of the process end with their lease. Then the process leads again where it has
/// rights.
fn lost_right_ends_one_election(version: Version) {
    let cluster = with_two_elections(version);
    run(async {
        let us = node(&user(&cluster, "poor", PASSWORD), 20);
        let rival = node(&user(&cluster, "root", PASSWORD), 20);
        let mut notices = us.notices();
        let election = |node: &Node, name: &str| node.election(name).unwrap();
        let one = soon(election(&us, "one").campaign("us")).await.unwrap();
        let two = soon(election(&us, "two").campaign("us")).await.unwrap();
        let rivals = election(&rival, "two");
        let mut waiting = Box::pin(rivals.campaign("rival"));
        until_waits(&cluster, "two", &["us", "rival"], &mut waiting).await;

        cluster.etcdctl(&["role", "revoke-permission", "poor", "two/", "two0"]).unwrap();
        let won = tokio::select! {
            loss = soon(two.lost()) => {
                assert_eq!(loss, Loss::Expired);
                soon(waiting).await
            }
            won = &mut waiting => won,
        };
        let successor = won.unwrap();
        assert!(!two.is_current(), "two leaders");
        assert!(successor.fence() > two.fence());
        assert_eq!(soon(one.lost()).await, Loss::Expired, "it stands on the same lease");
        let told = obstacles(&mut notices);
        let doing = match version {
            Version::Oldest => "confirming a renewal",
            Version::Newest => "renewing the lease",
        };
        assert!(told.contains(&format!("etcd refuses {doing}: {DENIED}")), "{told:?}");

        // The process contends with a new lease: its new key waits behind its key on the old lease,
        // if that key still exists.
        let again = soon(election(&us, "one").campaign("us again")).await.unwrap();
        assert!(again.fence() > one.fence());
        assert_ne!(again.id(), one.id());
        let denied = soon(election(&us, "two").campaign("us again")).await;
        let why = format!("etcd refuses the request: {DENIED}");
        assert_eq!(denied.map(drop), Err(CampaignError::Refused { why }));
        obstacles(&mut notices);
        renewed_twice(&again).await;
        assert!(successor.is_current());
        until_stored(&cluster, "one", &["us again"]).await;
        until_stored(&cluster, "two", &["rival"]).await;
        let told = obstacles(&mut notices);
        // As long as the old lease exists, the process has no right to revoke it.
        let revoking = format!("etcd refuses revoking a lease: {DENIED}");
        assert!(told.iter().all(|told| *told == revoking), "{told:?}");
        soon(us.close()).await;
        soon(rival.close()).await;
        until_empty(&cluster).await;
    });
}

#[test]
fn reader_on_debians_etcd() {
    let cluster = with_two_elections(Version::Oldest);
    run(async {
        let us = node(&user(&cluster, "poor", PASSWORD), 20);
        let rival = node(&user(&cluster, "root", PASSWORD), 20);
        let mut notices = us.notices();
        let one = soon(us.election("one").unwrap().campaign("us")).await.unwrap();
        let two = soon(us.election("two").unwrap().campaign("us")).await.unwrap();
        only_read(&cluster);
        // etcd demands no right for a renewal, and the transaction that confirms the renewal only
        // reads.
        renewed_twice(&one).await;
        assert!(two.is_current());
        assert_eq!(obstacles(&mut notices), BTreeSet::new());

        // The leader can resign, but its key stays: no other candidate leads.
        soon(two.resign()).await;
        assert!(!two.is_current() && one.is_current());
        let rivals = rival.election("two").unwrap();
        let mut waiting = Box::pin(rivals.campaign("rival"));
        until_waits(&cluster, "two", &["us", "rival"], &mut waiting).await;
        // The process goes on renewing the lease of the key, so no other candidate wins.
        tokio::select! {
            () = renewed_twice(&one) => {}
            won = &mut waiting => panic!("{won:?} beside the key"),
        }
        let told = obstacles(&mut notices);
        assert_eq!(told, [format!("two: etcd refuses deleting the key: {DENIED}")].into());
        permit(&cluster, "two/");
        let successor = soon(waiting).await.unwrap();
        assert!(successor.fence() > two.fence());
        assert!(one.is_current());
    });
}

#[test]
fn reader_on_newest_etcd() {
    let cluster = with_two_elections(Version::Newest);
    run(async {
        let us = node(&user(&cluster, "poor", PASSWORD), 20);
        let mut notices = us.notices();
        let one = soon(us.election("one").unwrap().campaign("us")).await.unwrap();
        let two = soon(us.election("two").unwrap().campaign("us")).await.unwrap();
        only_read(&cluster);
        for lost in [one.lost(), two.lost()] {
            assert_eq!(soon(lost).await, Loss::Expired);
        }
        let told = obstacles(&mut notices);
        assert!(told.contains(&format!("etcd refuses renewing the lease: {DENIED}")), "{told:?}");
    });
}

/// `poor` may only read below `two/` from now on.
fn only_read(cluster: &Cluster) {
    cluster.etcdctl(&["role", "grant-permission", "poor", "read", "two/", "--prefix"]).unwrap();
}
