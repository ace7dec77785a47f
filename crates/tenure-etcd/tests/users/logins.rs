//! Users and their rights.

use tenure::{CampaignError, Loss};
use tenure_etcd::{Config, Options, check};
use tenure_services::etcd::{ClusterConfig, Version};

use crate::common::{all, node, run, soon};
use crate::{PASSWORD, names, user, with_users};

tenure_services::on_each_version!(users);

fn users(version: Version) {
    let cluster = with_users(ClusterConfig::new(version, 1));
    let config = Config::default().check().unwrap();
    run(async {
        let poor = user(&cluster, "poor", PASSWORD);
        let report = check(&poor, &config, &names(&["poor/e"])).await.unwrap();
        let (_, status) = report.members().next().unwrap();
        assert_eq!(status.leader, Some(status.member));
        assert_eq!(report.unfixed().count(), usize::from(version == Version::Oldest));
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

        let leader = soon(node(&poor, 20).election("poor/e").unwrap().campaign("poor")).await;
        let leader = leader.unwrap();
        soon(leader.renewed(leader.until())).await.unwrap();
        let denied = soon(node(&poor, 60).election("rich").unwrap().campaign("poor")).await;
        let said = "etcd refuses the request: etcdserver: permission denied".to_owned();
        assert_eq!(denied.map(drop), Err(CampaignError::Refused { why: said }));
        let denied = soon(node(&wrong, 60).election("poor/e").unwrap().campaign("?")).await;
        let why = "etcd refuses the request: etcdserver: authentication failed, invalid user ID or \
                   password";
        assert_eq!(denied.map(drop), Err(CampaignError::Refused { why: why.to_owned() }));
        // Without a login no request is served.
        let denied = soon(node(&all(&cluster), 60).election("poor/e").unwrap().campaign("?")).await;
        let why = denied.map(drop).unwrap_err().to_string();
        assert!(why.contains("user name is empty"), "{why}");
        // The right to the key is revoked: the leader stays in office as long as its lease lasts.
        cluster.etcdctl(&["user", "revoke-role", "poor", "poor"]).unwrap();
        let loss = soon(leader.lost()).await;
        assert!(matches!(loss, Loss::Expired | Loss::Revoked), "{loss:?}");
    });
}

/// An endpoint of another cluster does not know the user, which ends no campaign as long as another
/// endpoint does.
#[test]
fn login_refused_at_one_endpoint() {
    let (right, wrong) = std::thread::scope(|scope| {
        let wrong = scope.spawn(|| {
            let wrong = ClusterConfig::new(Version::Newest, 1).start().unwrap();
            wrong.enable_auth("another").unwrap();
            wrong
        });
        let right = with_users(ClusterConfig::new(Version::Newest, 1));
        (right, wrong.join().unwrap())
    });
    run(async {
        let mut options = Options::clone(&user(&right, "poor", PASSWORD));
        let wrong = wrong.endpoints()[0].parse().unwrap();
        options.endpoints.insert(0, wrong);
        let node = node(&options.clone().check().unwrap(), 60);
        let leader = soon(node.election("poor/e").unwrap().campaign("poor")).await.unwrap();
        soon(leader.resign()).await;
        // The only cluster that knows the user is dead.
        right.member(0).kill().unwrap();
        let refused = soon(node.election("poor/e").unwrap().campaign("poor")).await;
        let why = refused.map(drop).unwrap_err().to_string();
        assert!(why.contains("authentication failed"), "{why}");
    });
}
