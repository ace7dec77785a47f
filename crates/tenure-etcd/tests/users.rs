//! Logins, tokens that expire, permissions.

#![expect(clippy::unwrap_used, reason = "it is a test")]

mod common;

use std::time::Duration;

use tenure::{CampaignError, Loss};
use tenure_core::ElectionName;
use tenure_core::etcd::{Keys, LeaseId, Op, Refusal, Reply};
use tenure_etcd::{CheckedOptions, Config, Credentials, Notice, Options, check};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use common::{Line, PATIENCE, all, create, node, put, read, run, soon, then};

const PASSWORD: &str = "secret";

/// One member with users: `root`, and `poor` who may write below `poor/` only.
fn with_users(config: ClusterConfig) -> Cluster {
    let cluster = config.start().unwrap();
    cluster.enable_auth(PASSWORD).unwrap();
    cluster.etcdctl(&["role", "add", "poor"]).unwrap();
    let grant = ["role", "grant-permission", "poor", "readwrite", "poor/", "--prefix"];
    cluster.etcdctl(&grant).unwrap();
    cluster.etcdctl(&["user", "add", &format!("poor:{PASSWORD}")]).unwrap();
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"]).unwrap();
    cluster
}

fn user(cluster: &Cluster, user: &str, password: &str) -> CheckedOptions {
    let mut options = Options::clone(&all(cluster));
    options.credentials = Some(Credentials { user: user.into(), password: password.into() });
    options.check().unwrap()
}

fn names(names: &[&str]) -> Vec<ElectionName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

#[test]
fn users_on_debians_3_4() {
    users(Version::Debian34);
}

#[test]
fn users_on_the_newest() {
    users(Version::Newest);
}

fn users(version: Version) {
    let cluster = with_users(ClusterConfig::new(version, 1));
    let config = Config::default().check().unwrap();
    run(async {
        let poor = user(&cluster, "poor", PASSWORD);
        let report = check(&poor, &config, &names(&["poor/e"])).await.unwrap();
        let (_, status) = report.members().next().unwrap();
        assert_eq!(status.leader, Some(status.member));
        assert_eq!(report.unfixed().count(), usize::from(version == Version::Debian34));
        let told = check(&poor, &config, &names(&["poor/e", "rich"])).await.unwrap_err();
        assert_eq!(
            told.to_string(),
            "etcd does not permit this user to read and write keys that begin with rich/: \
             etcdserver: permission denied"
        );
        let wrong = user(&cluster, "poor", "guessed");
        let told = check(&wrong, &config, &[]).await.unwrap_err();
        assert_eq!(
            told.to_string(),
            format!(
                "no endpoint can be used: {} does not accept the login: etcdserver: \
                 authentication failed, invalid user ID or password",
                cluster.endpoints()[0]
            )
        );

        let leader = soon(node(&poor, 5).election("poor/e").unwrap().campaign("poor")).await;
        let leader = leader.unwrap();
        soon(leader.renewed(leader.until())).await.unwrap();
        let denied = soon(node(&poor, 10).election("rich").unwrap().campaign("poor")).await;
        let said = "etcd refuses it: etcdserver: permission denied".to_owned();
        assert_eq!(denied.map(drop), Err(CampaignError::Refused { why: said }));
        let denied = soon(node(&wrong, 10).election("poor/e").unwrap().campaign("?")).await;
        let why = "etcd refuses it: etcdserver: authentication failed, invalid user ID or password";
        assert_eq!(denied.map(drop), Err(CampaignError::Refused { why: why.to_owned() }));
        // Nobody logs in: nobody is served.
        let denied = soon(node(&all(&cluster), 10).election("poor/e").unwrap().campaign("?")).await;
        let why = denied.map(drop).unwrap_err().to_string();
        assert!(why.contains("user name is empty"), "{why}");
        // The right to the key is taken away: it stays in office as long as its lease does.
        cluster.etcdctl(&["user", "revoke-role", "poor", "poor"]).unwrap();
        let loss = soon(leader.lost()).await;
        assert!(matches!(loss, Loss::Expired | Loss::Revoked), "{loss:?}");
    });
}

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
        let watch = Op::Watch { keys: Keys::One("rich".into()), from: 0 };
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
