//! Tokens that expire, or are older than the users.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tenure::View;
use tenure_core::etcd::{Keys, LeaseId, Op, Refusal, Reply};
use tenure_etcd::Notice;
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::common::{Line, PATIENCE, create, node, put, read, run, soon, then, until_stored};
use crate::{PASSWORD, user, with_users};

#[test]
fn expired_tokens_on_debians_3_4() {
    expired_tokens(Version::Debian34);
}

#[test]
fn expired_tokens_on_the_newest() {
    expired_tokens(Version::Newest);
}

/// A token that is not used lasts a second; etcd looks at it once a second.
fn expired_tokens(version: Version) {
    let config = ClusterConfig::new(version, 1).argument("--auth-token-ttl=1");
    let cluster = with_users(config);
    let lease = LeaseId(1);
    run(async {
        let mut line = Line::new(user(&cluster, "poor", PASSWORD));
        line.ask(Op::Grant { lease, ttl: 60 }).await;
        line.ask(create("poor/a", "", lease)).await;
        line.ask(Op::KeepAlive { lease }).await;
        let watch = line.watch(Keys::One("poor/a".into()), 0).await;
        let expired = Duration::from_secs(4);
        assert!(line.is_silent(expired).await);
        // Each kind of request finds out, logs in again and is carried out.
        let (_, done) = line.ask(then(vec![put("poor/b", "", lease)])).await;
        assert_eq!(done, Reply::Txn { succeeded: true, found: vec![] });
        let ended = line.answer(watch).await.reply;
        assert!(matches!(ended, Reply::Unknown { .. }), "its stream is another one: {ended}");
        line.watch(Keys::One("poor/a".into()), 0).await;
        assert!(line.is_silent(expired).await);
        line.watch(Keys::One("poor/b".into()), 0).await;
        tokio::time::sleep(expired).await;
        let (_, alive) = line.ask(Op::KeepAlive { lease }).await;
        assert_eq!(alive, Reply::Alive { ttl: Some(60) });
        // That does not help where the right is missing.
        let denied = line.reply(then(vec![read("rich")])).await;
        assert!(matches!(denied, Reply::Refused(Refusal::Denied { .. })), "{denied}");
        let watch = Op::Watch { keys: Keys::One("rich".into()), from: 0, deletions: false };
        let call = line.send(PATIENCE, watch);
        let denied = line.answer(call).await.reply;
        assert!(matches!(denied, Reply::Refused(Refusal::Denied { .. })), "{denied}");
    });
}

/// Candidates wait and lead for longer than their tokens last.
#[test]
fn a_long_campaign_outlives_its_token() {
    let config = ClusterConfig::new(Version::Newest, 1).argument("--auth-token-ttl=1");
    let cluster = with_users(config);
    run(async {
        let poor = user(&cluster, "poor", PASSWORD);
        let (one, two) = (node(&poor, 9), node(&poor, 9));
        let mut notices = two.notices();
        let leader = soon(one.election("poor/e").unwrap().campaign("one")).await.unwrap();
        let election = two.election("poor/e").unwrap();
        let mut waiting = Box::pin(election.campaign("two"));
        // Between two renewals, a third of the lease, every token expires.
        let mut until = leader.until();
        for _ in 0..3 {
            let renewed = leader.renewed(until);
            tokio::select! {
                renewed = soon(renewed) => until = renewed.unwrap(),
                won = &mut waiting => panic!("{won:?} beside the leader"),
            }
        }
        soon(leader.resign()).await;
        assert!(soon(waiting).await.unwrap().is_current());
        while let Ok(notice) = notices.try_recv() {
            assert!(!matches!(notice, Notice::Obstacle { .. }), "{notice}");
        }
    });
}

/// The folder has the key that signs.
fn with_signed_tokens(version: Version) -> (Cluster, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "not much of a secret").unwrap();
    let token = format!("--auth-token=jwt,sign-method=HS256,priv-key={}", key.display());
    (with_users(ClusterConfig::new(version, 1).argument(token)), folder)
}

#[test]
fn signed_tokens_on_debians_3_4() {
    signed_tokens(Version::Debian34);
}

#[test]
fn signed_tokens_on_the_newest() {
    signed_tokens(Version::Newest);
}

/// A signed token (JWT) is refused as soon as anything about users has changed since it was
/// given out: `revision of auth store is old`. Nobody minds who leads, waits, observes, begins to
/// campaign or resigns.
fn signed_tokens(version: Version) {
    let (cluster, _folder) = with_signed_tokens(version);
    let mut users = 0;
    let mut change = || {
        users += 1;
        cluster.etcdctl(&["user", "add", &format!("user-{users}:{PASSWORD}")]).unwrap();
    };
    run(async {
        let poor = user(&cluster, "poor", PASSWORD);
        let nodes = [(); 3].map(|()| node(&poor, 9));
        let mut notices = nodes.each_ref().map(|node| node.notices());
        let elections = nodes.each_ref().map(|node| node.election("poor/e").unwrap());
        let mut observer = elections[2].observe();
        let mut leader = soon(elections[0].campaign("next")).await.unwrap();
        let mut fences = vec![leader.fence()];
        for n in 1..=4 {
            change();
            let mut waiting = Box::pin(elections[n % 3].campaign("next"));
            tokio::select! {
                () = until_stored(&cluster, "poor/e", &["next"; 2]) => {}
                won = &mut waiting => panic!("{won:?} beside the leader"),
            }
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
        let sees = async {
            loop {
                let change = observer.next().await.unwrap();
                let seen = change.view().and_then(View::leader).cloned();
                if seen.is_some_and(|seen| seen.fence == Some(leader.fence())) {
                    break;
                }
            }
        };
        soon(sees).await;
        for notices in &mut notices {
            while let Ok(notice) = notices.try_recv() {
                let is_trouble = matches!(
                    notice,
                    Notice::Closed { lost: Some(_), .. } | Notice::Obstacle { .. }
                );
                assert!(!is_trouble, "{notice}");
            }
        }
    });
}

#[test]
fn one_change_after_another_on_debians_3_4() {
    one_change_after_another(Version::Debian34);
}

#[test]
fn one_change_after_another_on_the_newest() {
    one_change_after_another(Version::Newest);
}

/// Whatever is asked may find its new login outdated already. That ends nothing.
fn one_change_after_another(version: Version) {
    let (cluster, _folder) = with_signed_tokens(version);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let asked = (0..).take_while(|_| !over.load(Ordering::Relaxed));
            // A busy etcd may be too slow for one of them.
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
    let (one, two) = (node(&poor, 12), node(&poor, 12));
    let leader = soon(one.election("poor/kept").unwrap().campaign("kept")).await.unwrap();
    for _ in 0..5 {
        let won = soon(two.election("poor/e").unwrap().campaign("brief")).await.unwrap();
        soon(won.resign()).await;
    }
    soon(leader.renewed(leader.until())).await.unwrap();
    assert!(leader.is_current());
}
