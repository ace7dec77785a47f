//! Handles in a cluster with keys, and cases that a key alone decides.

use std::time::Duration;

use tenure_nerio::keys::{ClusterKey, Keys};
use tenure_nerio::{Node, Opening, StartError, Storage, VerifyError};

use crate::handles::Nerio;
use crate::setup::{PATIENCE, config, soon};

fn key(cluster: &str) -> Keys {
    ClusterKey::generate(cluster.parse().unwrap()).unwrap().into()
}

fn issue(key: &Keys, application: &str, elections: &str) -> Keys {
    key.issue(application.parse().unwrap(), elections.parse().unwrap()).unwrap().into()
}

tenure_testkit::handles!(Nerio::start(Some(key("test"))));

/// A grantor with a key also asks itself.
#[tokio::test]
async fn applications_verify_keyed_grantors() {
    let config = config();
    let key = key("test");
    let grantor = |name: &str| {
        let builder = Node::builder(config.clone(), name.parse().unwrap()).keys(key.clone());
        builder.grantor(Storage::Memory { opening: Opening::New }).start().unwrap()
    };
    let candidate = |name: &str, key: Keys| {
        Node::builder(config.clone(), name.parse().unwrap()).keys(key).start().unwrap()
    };
    let nodes = ["a", "b"].map(grantor);
    let election = nodes[0].election("billing/x").unwrap();
    let leadership = soon(election.campaign("me")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let billing = issue(&key, "billing", "billing/*");
    let audit = issue(&key, "audit", "*");
    let asker = candidate("asker", billing.clone());
    let verified = soon(asker.verify(election.name(), nodes[0].address(), PATIENCE)).await;
    assert_eq!(verified.unwrap().leader.as_str(), "a");
    soon(leadership.resign()).await;

    let leader = candidate("leader", billing.clone());
    let election = leader.election("billing/x").unwrap();
    let leadership = soon(election.campaign("me")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    let verified = soon(asker.verify(election.name(), leader.address(), PATIENCE)).await;
    assert_eq!(verified.unwrap().leader.as_str(), "leader");
    // The operator has the key of the cluster, and an address that is no member's.
    let operator = candidate("operator", key.clone());
    let asks = candidate("asks", key.clone());
    let other = operator.election("billing/y").unwrap();
    let held = soon(other.campaign("me")).await.unwrap();
    soon(held.settled()).await.unwrap();
    let verified = soon(asks.verify(other.name(), operator.address(), PATIENCE)).await;
    assert_eq!(verified.unwrap().leader.as_str(), "operator");
    // The two nodes have no key in common.
    let other = candidate("other", audit);
    let verified = other.verify(election.name(), leader.address(), Duration::from_millis(300));
    assert!(matches!(soon(verified).await, Err(VerifyError::NoAnswer { .. })));

    // The application campaigns in an election that its key does not cover. The grantors do not
    // answer its request, and count it.
    let campaign = asker.election("audit").unwrap();
    let campaign = tokio::spawn(async move { campaign.campaign("me").await.map(drop) });
    let refused = async {
        while !nodes[1].counters().await.unwrap().dropped.contains_key("rights") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon(refused).await;
    assert!(!campaign.is_finished(), "it was granted what its key does not allow");
}

#[tokio::test]
async fn unfit_key_starts_nothing() {
    let config = config();
    let start = |name: &str, key: Keys, grants: bool| {
        let builder = Node::builder(config.clone(), name.parse().unwrap()).keys(key);
        let storage = Storage::Memory { opening: Opening::New };
        let builder = if grants { builder.grantor(storage) } else { builder };
        builder.start().map(drop)
    };
    let refused = start("x", key("other"), false);
    assert!(matches!(refused, Err(StartError::OtherCluster { .. })), "{refused:?}");
    let refused = start("a", issue(&key("test"), "billing", "*"), true);
    assert!(matches!(refused, Err(StartError::NotAMembersKey { .. })), "{refused:?}");
    assert!(start("x", key("test"), false).is_ok());
}
