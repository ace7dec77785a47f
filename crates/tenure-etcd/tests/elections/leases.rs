//! The lease of all elections of a process.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::{Change, View};
use tenure_etcd::{Config, Counters, LeaseId, Node, Notice, OwnEvent};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};
use tokio::task::JoinSet;

use crate::common::{all, node, renewed_twice, run, soon, told, until_empty, until_waits};

#[test]
fn many_elections_on_one_lease() {
    const MANY: usize = 400;
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let node = node(&all(&cluster), 30);
        let mut campaigns = JoinSet::new();
        for n in 0..MANY {
            let election = node.election(&format!("many/{n}")).unwrap();
            campaigns.spawn(async move { election.campaign("me").await.unwrap() });
        }
        let leaders = soon(campaigns.join_all()).await;
        let one = leaders[0].id();
        assert!(leaders.iter().all(|leader| leader.id() == one && leader.is_current()));
        let before = soon(node.counters()).await.unwrap();
        renewed_twice(&leaders[0]).await;
        let after = soon(node.counters()).await.unwrap();
        let sent = |counters: &Counters, kind| counters.requests.get(kind).copied().unwrap_or(0);
        let more = |kind| sent(&after, kind) - sent(&before, kind);
        assert_eq!(after.elected, 400);
        // Skip the counts if the node repeated a request, because an etcd with a slow disk did not
        // answer in time.
        if after.unknown == 0 {
            // A renewal is one keep-alive and one transaction for any number of elections. The
            // first keep-alive may have been sent before the count began, and its transaction
            // after.
            let renewals = more("keep_alive");
            let transactions = more("txn");
            assert!(renewals > 0 && transactions <= renewals + 1, "{renewals}, {transactions}");
            // A few calls of 400 campaigns may get no turn in time. The count begins after the
            // campaigns.
            let refused = after.refused - before.refused;
            assert_eq!((sent(&after, "grant"), refused, after.connections), (1, 0, 1), "{after:?}");
        }
        soon(node.close()).await;
        until_empty(&cluster).await;
    });
}

/// A server that takes fewer operations in a transaction than there are elections.
#[test]
fn fewer_operations_than_elections() {
    let config = ClusterConfig::new(Version::Newest, 1).argument("--max-txn-ops=16");
    let cluster = config.start().unwrap();
    run(async {
        let node = node(&all(&cluster), 20);
        let mut campaigns = JoinSet::new();
        for n in 0..100 {
            let election = node.election(&format!("many/{n}")).unwrap();
            campaigns.spawn(async move { election.campaign("me").await.unwrap() });
        }
        let leaders = soon(campaigns.join_all()).await;
        renewed_twice(&leaders[0]).await;
        assert!(leaders.iter().all(|leader| leader.is_current()), "all of them");
        soon(node.close()).await;
        until_empty(&cluster).await;
    });
}

#[test]
fn a_lease_that_was_handed_in() {
    let cluster = Cluster::start(Version::Oldest, 1).unwrap();
    // The length of the given lease does not matter, because the leadership has a lease of its own.
    for length in [120, 86_400, 86_400, 86_400] {
        let said = told(&cluster, &["lease", "grant", &length.to_string()]);
        let id = said.split_whitespace().nth(1).unwrap();
        let lease = LeaseId(i64::from_str_radix(id, 16).unwrap());
        run(async {
            let config = Config { lease: Duration::from_secs(60), ..Config::default() };
            let builder = Node::builder(config.check().unwrap(), all(&cluster));
            let node = builder.lease(lease).start().unwrap();
            let leader = soon(node.election("e").unwrap().campaign("")).await.unwrap();
            assert_eq!(leader.id(), lease.to_string());
            let remaining = leader.remaining().unwrap();
            let most = Duration::from_secs(60);
            assert!(
                remaining > most / 2 && remaining <= most,
                "{remaining:?}: of a lease of its own"
            );
            soon(node.close()).await;
            until_empty(&cluster).await;
        });
    }
}

#[test]
fn leaderships_outlive_debians_leader() {
    leaderships_outlive_a_leader_of_etcd(Version::Oldest);
}

#[test]
fn leaderships_outlive_newest_leader() {
    leaderships_outlive_a_leader_of_etcd(Version::Newest);
}

/// etcd's leader changes twice, and each time all keys move to another lease: names, fences and
/// places in the queue stay.
fn leaderships_outlive_a_leader_of_etcd(version: Version) {
    const MANY: usize = 150;
    let cluster = Cluster::start(version, 3).unwrap();
    run(async {
        let one = node(&all(&cluster), 20);
        let two = node(&all(&cluster), 20);
        let mut notices = one.notices();
        let mut campaigns = JoinSet::new();
        for n in 0..MANY {
            let election = one.election(&format!("many/{n}")).unwrap();
            campaigns.spawn(async move { election.campaign("one").await.unwrap() });
        }
        let leaders = soon(campaigns.join_all()).await;
        let election = two.election("many/7").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        let keys = || told(&cluster, &["get", "many/", "--prefix", "--keys-only"]);
        // The first line has the number of leases.
        let leases = || -> BTreeSet<String> {
            let said = told(&cluster, &["lease", "list"]);
            said.lines().skip(1).map(str::to_owned).collect()
        };
        until_waits(&cluster, "many/7", &["one", "two"], &mut waiting).await;
        let keys_before = keys();
        let mut leases_before = leases();
        for _ in 0..2 {
            soon(async {
                while !moves_on(&cluster) {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })
            .await;
            let is_move = |notice: &Notice| {
                matches!(notice, Notice::Protocol { event: OwnEvent::Moving { .. }, .. })
            };
            let moved = async { while !notices.recv().await.is_ok_and(|it| is_move(&it)) {} };
            soon(moved).await;
            renewed_twice(&leaders[0]).await;
            assert!(leaders.iter().all(|leader| leader.is_current()), "all of them");
            assert_eq!(keys(), keys_before);
            // Wait until both nodes have another lease.
            let mut leases_after = leases();
            while leases_after.len() != 2 || !leases_after.is_disjoint(&leases_before) {
                until_waits(&cluster, "many/7", &["one", "two"], &mut waiting).await;
                leases_after = leases();
            }
            leases_before = leases_after;
            // Wait until the lease in the names of the keys is gone.
            let is_gone = || {
                let revoked = cluster.etcdctl(&["lease", "revoke", leaders[0].id()]).unwrap_err();
                revoked.to_string().contains("requested lease not found")
            };
            assert!((0..12).any(|_| is_gone()), "it is not gone");
        }
        for leader in leaders {
            soon(leader.resign()).await;
        }
        let successor = soon(waiting).await.unwrap();
        assert!(successor.is_current(), "it kept its place");
        drop(successor);
        soon(one.close()).await;
        soon(two.close()).await;
        until_empty(&cluster).await;
    });
}

/// Moves etcd's leadership to another member; `false` where that is not certain.
fn moves_on(cluster: &Cluster) -> bool {
    let moved = || {
        let leader = cluster.leader().ok()??;
        let mut others = cluster.members().filter(|one| one.endpoint() != leader.endpoint());
        let next = format!("{:x}", others.next()?.status().ok()?.member);
        leader.etcdctl(&["move-leader", &next]).ok()
    };
    moved().is_some()
}

#[test]
fn a_node_that_nobody_holds() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let watcher = node(&all(&cluster), 60);
        let mut observer = watcher.election("e").unwrap().observe();
        let leader = {
            let node = node(&all(&cluster), 60);
            soon(node.election("e").unwrap().campaign("")).await.unwrap()
        };
        let is_vacant = |change: &Change| change.view() == Some(&View::Vacant);
        while is_vacant(&soon(observer.next()).await.unwrap()) {}
        assert!(leader.is_current(), "the leadership holds the node");
        drop(leader);
        while !is_vacant(&soon(observer.next()).await.unwrap()) {}
    });
}
