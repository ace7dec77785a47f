//! Tokens from before a change of users or rights.

use std::sync::atomic::{AtomicBool, Ordering};

use tenure::View;
use tenure_etcd::{Notice, OwnEvent};
use tenure_services::etcd::{Cluster, Version};

use crate::common::{node, run, seen, soon, until_waits};
use crate::{PASSWORD, user, with_signed_tokens};

tenure_services::on_each_version!(signed_tokens);

/// A signed token (JWT) is refused as soon as users or rights have changed since it was issued:
/// `revision of auth store is old`. Leaders, candidates and observers go on, and so do new
/// campaigns and resignations.
fn signed_tokens(version: Version) {
    let (cluster, _folder) = with_signed_tokens(version, "");
    let mut users = 0;
    let mut change = || {
        users += 1;
        cluster.etcdctl(&["user", "add", &format!("user-{users}:{PASSWORD}")]).unwrap();
    };
    run(async {
        let poor = user(&cluster, "poor", PASSWORD);
        let nodes = [(); 3].map(|()| node(&poor, 20));
        let mut notices = nodes.each_ref().map(|node| node.notices());
        let elections = nodes.each_ref().map(|node| node.election("poor/e").unwrap());
        let mut observer = elections[2].observe();
        let mut leader = soon(elections[0].campaign("next")).await.unwrap();
        let mut fences = vec![leader.fence()];
        for n in 1..=4 {
            change();
            let mut waiting = Box::pin(elections[n % 3].campaign("next"));
            until_waits(&cluster, "poor/e", &["next"; 2], &mut waiting).await;
            change();
            tokio::select! {
                renewed = soon(leader.renewed(leader.until())) => drop(renewed.unwrap()),
                won = &mut waiting => panic!("{won:?} beside the leader"),
            }
            assert!(leader.is_current());
            change();
            soon(leader.resign()).await;
            leader = soon(waiting).await.unwrap();
            fences.push(leader.fence());
        }
        assert!(fences.is_sorted_by(|before, after| before < after), "{fences:?}");
        let is_it = |view: View| view.leader().is_some_and(|it| it.fence == Some(leader.fence()));
        while !is_it(seen(&mut observer).await) {}
        for notices in &mut notices {
            while let Ok(notice) = notices.try_recv() {
                let is_trouble = matches!(
                    notice,
                    Notice::Protocol {
                        event: OwnEvent::Closed { lost: Some(_), .. } | OwnEvent::Obstacle { .. },
                        ..
                    }
                );
                assert!(!is_trouble, "{notice}");
            }
        }
    });
}

tenure_services::on_each_version!(repeated_changes_of_rights);

/// A request may find its new login outdated already, which ends no leadership.
fn repeated_changes_of_rights(version: Version) {
    let (cluster, _folder) = with_signed_tokens(version, "");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let asked = (0..).take_while(|_| !over.load(Ordering::Relaxed));
            // A busy etcd may be too slow for one of these changes.
            let change = |n: &u32| cluster.etcdctl(&["role", "add", &format!("role-{n}")]).is_ok();
            asked.filter(change).count()
        });
        let done = std::panic::catch_unwind(|| run(campaigns_beside_a_leader(&cluster)));
        over.store(true, Ordering::Relaxed);
        let changes = changes.join().unwrap();
        done.unwrap();
        assert!(changes > 1, "nothing has changed");
    });
}

async fn campaigns_beside_a_leader(cluster: &Cluster) {
    let poor = user(cluster, "poor", PASSWORD);
    let one = node(&poor, 20);
    let two = node(&poor, 20);
    let leader = soon(one.election("poor/kept").unwrap().campaign("kept")).await.unwrap();
    for _ in 0..5 {
        let won = soon(two.election("poor/e").unwrap().campaign("brief")).await.unwrap();
        soon(won.resign()).await;
    }
    soon(leader.renewed(leader.until())).await.unwrap();
    assert!(leader.is_current());
}
