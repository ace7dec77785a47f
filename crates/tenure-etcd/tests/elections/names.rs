//! Names, namespaces and values.

use std::time::Duration;

use tenure::CampaignError;
use tenure_etcd::{Config, Node};
use tenure_services::etcd::{Cluster, Version};

use crate::common::{all, run, soon, until_empty};

#[test]
fn names_and_namespaces() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let start = |namespace: &str| {
            let namespace = namespace.to_owned();
            let lease = Duration::from_secs(60);
            let config = Config { namespace, lease, ..Config::default() }.check().unwrap();
            Node::builder(config, all(&cluster)).start().unwrap()
        };
        let shop = start("shop/");
        let bank = start("bank/");
        let one = soon(shop.election("e").unwrap().campaign("")).await.unwrap();
        let other = soon(bank.election("e").unwrap().campaign("")).await.unwrap();
        let keys = cluster.etcdctl(&["get", "--prefix", "", "--keys-only"]).unwrap();
        let keys: Vec<_> = keys.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(keys, [format!("bank/e/{}", other.id()), format!("shop/e/{}", one.id())]);

        let refused = |name: &'static str, value: &'static str| {
            let election = shop.election(name).unwrap();
            async move { soon(election.campaign(value)).await.map(drop).unwrap_err().to_string() }
        };
        assert_eq!(
            refused("e/below", "").await,
            "this election would share keys with e, another election of this process: one of the \
             two names begins with the other name and a slash. Rename one of the two elections"
        );
        assert_eq!(
            refused("f/", "").await,
            "an election's name on etcd must not end in a slash. Without the slash it is the name \
             of another election, so give the new name to all candidates"
        );
        let long = shop.election("long").unwrap().campaign(&"x".repeat(500)).await;
        assert!(matches!(long, Err(CampaignError::Value(_))), "{long:?}");
        assert_eq!(shop.election("").unwrap_err().to_string(), "an election's name is empty");
        assert!(one.is_current() && other.is_current());
        // Closing ends soon, because a refused campaign leaves nothing behind.
        soon(shop.close()).await;
        soon(bank.close()).await;
        until_empty(&cluster).await;
    });
}
