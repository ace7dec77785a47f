//! Clusters that are restored from a backup under running participants (rulings 7 and 8 of
//! `tenure_core::etcd`).

use std::path::PathBuf;
use std::time::Duration;

use tenure::{Change, Loss, Observer, View};
use tenure_etcd::{Config, Node, Notice};
use tenure_services::etcd::{Cluster, Restore, Version};

use crate::common::{all, node, options, run, seen, soon, until_stored, until_waits};

/// In seconds. A restore takes less time than a lease, and the test waits for a third of a lease.
const LEASE: u64 = 120;

fn puts(cluster: &Cluster, count: usize) {
    for n in 0..count {
        cluster.etcdctl(&["put", "something", &n.to_string()]).unwrap();
    }
}

fn snapshot(cluster: &Cluster) -> PathBuf {
    let file = cluster.folder().join("snapshot");
    cluster.save(&file).unwrap();
    file
}

/// Waits until the observer sees the leader with that value. Returns whether it reported a gap or a
/// vacancy before.
async fn sees(observer: &mut Observer, value: &str) -> bool {
    let mut doubt = false;
    soon(async {
        loop {
            match observer.next().await.unwrap() {
                Change::Reset | Change::View(View::Unknown { .. }) => doubt = true,
                Change::View(View::Leader(leader)) if leader.value.text() == value => return doubt,
                Change::View(_) => {}
                other => panic!("{other:?}"),
            }
        }
    })
    .await
}

fn with_epoch(cluster: &Cluster, fence_epoch: u16) -> Node {
    let lease = Duration::from_secs(LEASE);
    let config = Config { lease, grace: lease / 10, fence_epoch, ..Config::default() };
    Node::builder(config.check().unwrap(), all(cluster)).start().unwrap()
}

tenure_services::on_each_version!(restored_store_ends_leaderships);

/// The restored store still has the leader's key and lease, and gives the fences after the snapshot
/// a second time. The leader must not go on.
fn restored_store_ends_leaderships(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    run(async {
        let [one, two, three] = [(); 3].map(|()| node(&all(&cluster), LEASE));
        let mut observer = three.election("e").unwrap().observe();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let election = two.election("e").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        until_waits(&cluster, "e", &["one", "two"], &mut waiting).await;
        sees(&mut observer, "one").await;

        let file = snapshot(&cluster);
        puts(&cluster, 20);
        // Let all processes see the latest revision of the store.
        soon(leader.renewed(leader.until())).await.unwrap();
        let late = soon(one.election("f").unwrap().campaign("one")).await.unwrap();
        cluster.restore(&file, &Restore::default()).unwrap();

        assert_eq!(soon(leader.lost()).await, Loss::Reset);
        assert_eq!(soon(late.lost()).await, Loss::Reset);
        let successor = soon(waiting).await.unwrap();
        assert!(sees(&mut observer, "two").await, "and that it may have missed something");
        // Only the key of the candidate `two` is left.
        until_stored(&cluster, "e", &["two"]).await;

        let again = soon(one.election("f").unwrap().campaign("again")).await.unwrap();
        assert!(again.fence() < late.fence(), "what a restore without care does to fences");
        soon(again.resign()).await;
        soon(successor.resign()).await;
        let raised = with_epoch(&cluster, 1);
        let careful = soon(raised.election("f").unwrap().campaign("careful")).await.unwrap();
        assert!(careful.fence() > late.fence(), "and what the epoch of fences does about it");
    });
}

/// With two flags of a newer tool, a restore raises the store's revision above all earlier ones, so
/// fences grow. Keys that survive the restore keep their revisions.
#[test]
fn careful_restore_keeps_fence_order() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let file = snapshot(&cluster);
        puts(&cluster, 20);
        let one = node(&all(&cluster), LEASE);
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        soon(one.close()).await;
        let arguments = ["--bump-revision=1000000", "--mark-compacted"].map(str::to_owned).to_vec();
        cluster.restore(&file, &Restore { arguments, ..Restore::default() }).unwrap();
        let two = node(&all(&cluster), LEASE);
        let successor = soon(two.election("e").unwrap().campaign("two")).await.unwrap();
        assert!(successor.fence() > leader.fence());
    });
}

/// A cluster with another token is another cluster: a running process ignores the cluster and leads
/// no more; a new process uses the cluster.
#[test]
fn other_cluster_is_ignored() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let one = node(&all(&cluster), LEASE);
        let mut notices = one.notices();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        let mut observer = one.election("e").unwrap().observe();
        sees(&mut observer, "one").await;
        let file = snapshot(&cluster);
        let token = Some("another".to_owned());
        cluster.restore(&file, &Restore { token, ..Restore::default() }).unwrap();

        assert_eq!(soon(leader.lost()).await, Loss::Reset);
        soon(async {
            while !matches!(notices.recv().await.unwrap(), Notice::OtherCluster { .. }) {}
        })
        .await;
        let election = one.election("e").unwrap();
        let campaign = tokio::time::timeout(Duration::from_secs(1), election.campaign("again"));
        assert!(campaign.await.is_err(), "it was let in");
        let told = soon(observer.next()).await.unwrap();
        assert!(matches!(told, Change::Reset | Change::View(View::Unknown { .. })), "{told:?}");

        let two = node(&all(&cluster), LEASE);
        let mut waiting = two.election("f").unwrap().observe();
        assert_eq!(seen(&mut waiting).await, View::Vacant);
        soon(two.election("f").unwrap().campaign("two")).await.unwrap();
    });
}

/// The node passes over an endpoint of another cluster, and finds the right cluster again.
#[test]
fn foreign_endpoint_is_passed_over() {
    let (right, wrong) = std::thread::scope(|scope| {
        let wrong = scope.spawn(|| Cluster::start(Version::Newest, 1).unwrap());
        (Cluster::start(Version::Newest, 1).unwrap(), wrong.join().unwrap())
    });
    run(async {
        let both = [right.endpoints(), wrong.endpoints()].concat();
        let one = node(&options(&both), 10);
        let mut notices = one.notices();
        // On a busy machine the other cluster's member might answer first, so stop it meanwhile.
        wrong.member(0).stop().unwrap();
        let leader = soon(one.election("e").unwrap().campaign("one")).await.unwrap();
        wrong.member(0).cont().unwrap();
        right.member(0).kill().unwrap();
        assert!(matches!(soon(leader.lost()).await, Loss::Reset | Loss::Expired));
        soon(async {
            while !matches!(notices.recv().await.unwrap(), Notice::OtherCluster { .. }) {}
        })
        .await;
        right.member(0).restart().unwrap();
        let again = soon(one.election("e").unwrap().campaign("again")).await.unwrap();
        assert!(again.fence() > leader.fence());
        assert_eq!(wrong.etcdctl(&["get", "--prefix", "--keys-only", ""]).unwrap().trim(), "");
    });
}
