//! A create that is carried out long after its candidate has left (ruling 5, E4 of
//! `tenure_core::etcd`).

use std::time::Duration;

use tenure_etcd::{Notice, OwnEvent};
use tenure_services::etcd::{Cluster, Version};

use crate::common::proxy::{CallPart, Proxy};
use crate::common::{all, node, run, soon};
use crate::connected;
use crate::store::Store;

/// In seconds: renewals are far enough apart to catch a call between two of them.
const LEASE: u64 = 30;
const LOOK: Duration = Duration::from_millis(10);

tenure_services::on_each_version!(a_late_key, lost_deletion_heals, a_late_key_without_a_lease);

/// Another election keeps the lease alive, so a late key that stays behind would block this
/// election for ever.
fn a_late_key(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let proxy = Proxy::start(&cluster).await;
        let mut store = Store::open(&cluster).await;
        let ours = node(&proxy.options(), LEASE);
        let rival = node(&all(&cluster), LEASE);
        let mut notices = ours.notices();
        let beside = soon(ours.election("beside").unwrap().campaign("ours")).await.unwrap();
        let late = ours.election("late").unwrap();
        // Begin just after a renewal, so that the trap does not catch a call of a renewal.
        soon(beside.renewed(beside.until())).await.unwrap();
        let held = proxy.trap(CallPart::Request, 1);
        let campaign = tokio::spawn(async move { late.campaign("late").await });
        let held = held.await;
        campaign.abort();
        // The held request is the create of this campaign, which was aborted before it won.
        assert!(soon(campaign).await.unwrap_err().is_cancelled());
        wait_for(&mut notices, |notice| matches!(notice, Notice::Disconnected { .. })).await;
        soon(beside.renewed(beside.until())).await.unwrap();
        assert_eq!(store.values("late").await, [""; 0]);

        held.deliver();
        wait_for(&mut notices, |notice| match notice {
            Notice::Protocol { election: Some(election), event: OwnEvent::LateKey { .. } } => {
                election.as_str() == "late"
            }
            _ => false,
        })
        .await;
        soon(async {
            while !store.keys("late").await.is_empty() {
                tokio::time::sleep(LOOK).await;
            }
        })
        .await;
        // The fence shows that the key existed for a while, because every new key takes a revision.
        let leader = soon(rival.election("late").unwrap().campaign("rival")).await.unwrap();
        assert!(leader.fence().number() > beside.fence().number() + 2, "created, deleted, ours");
        assert!(beside.is_current());
        drop(leader);
        drop(beside);
        tokio::join!(ours.close(), rival.close());
        gone(&mut store).await;
    });
}

/// The leader's deletion of its key never arrives, and another election keeps the lease alive. A
/// waiting candidate must not have to wait for the end of that lease.
fn lost_deletion_heals(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let proxy = Proxy::start(&cluster).await;
        let mut store = Store::open(&cluster).await;
        let ours = node(&proxy.options(), LEASE);
        let rival = node(&all(&cluster), LEASE);
        let beside = soon(ours.election("beside").unwrap().campaign("ours")).await.unwrap();
        let leader = soon(ours.election("late").unwrap().campaign("ours")).await.unwrap();
        let theirs = rival.election("late").unwrap();
        let waiting = tokio::spawn(async move { theirs.campaign("rival").await });
        while store.values("late").await != ["ours", "rival"] {
            tokio::time::sleep(LOOK).await;
        }
        soon(beside.renewed(beside.until())).await.unwrap();
        let caught = proxy.trap(CallPart::Request, 1);
        let fence = leader.fence();
        drop(leader);
        let caught = caught.await;
        assert_eq!(store.values("late").await, ["ours", "rival"]);
        caught.cut();
        let successor = soon(waiting).await.unwrap().unwrap();
        assert!(successor.fence() > fence && beside.is_current());
        drop((successor, beside));
        tokio::join!(ours.close(), rival.close());
        gone(&mut store).await;
    });
}

/// The session gives the lease back before the create arrives: no key can be made on this lease any
/// more.
fn a_late_key_without_a_lease(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let proxy = Proxy::start(&cluster).await;
        let mut store = Store::open(&cluster).await;
        let ours = node(&proxy.options(), LEASE);
        let rival = node(&all(&cluster), LEASE);
        let mut notices = ours.notices();
        let _observer = connected(&ours, &rival).await;
        gone(&mut store).await;
        let unknown = async || soon(ours.counters()).await.unwrap().unknown;
        let before = unknown().await;
        // Two calls come first: the read that shows the term, and the grant. The third is the
        // create.
        let held = proxy.trap(CallPart::Request, 3);
        let late = ours.election("late").unwrap();
        let campaign = tokio::spawn(async move { late.campaign("late").await });
        let held = held.await;
        // The node repeated a call whose answer was late, so the trap caught another call. Give
        // this trial up.
        if unknown().await > before {
            return;
        }
        assert_eq!(store.leases().await, 1, "the lease is there, the key is not");
        campaign.abort();
        wait_for(&mut notices, |notice| {
            matches!(notice, Notice::Protocol { event: OwnEvent::Closed { .. }, .. })
        })
        .await;
        gone(&mut store).await;
        let before = store.revision().await;
        held.deliver();
        // The create was delivered before this win, and had no effect: the rival can win at once,
        // and its key takes the next revision.
        let leader = soon(rival.election("late").unwrap().campaign("rival")).await.unwrap();
        assert_eq!(leader.fence().number(), before + 1, "nothing was made before it");
        drop(leader);
        tokio::join!(ours.close(), rival.close());
        gone(&mut store).await;
    });
}

async fn wait_for(
    notices: &mut tokio::sync::broadcast::Receiver<Notice>,
    mut is_it: impl FnMut(&Notice) -> bool,
) {
    soon(async { while !is_it(&notices.recv().await.unwrap()) {} }).await;
}

async fn gone(store: &mut Store) {
    soon(async {
        while (store.values("late").await, store.leases().await) != (vec![], 0) {
            tokio::time::sleep(LOOK).await;
        }
    })
    .await;
}
