//! Grantors that come back.

use std::time::Duration;

use tenure::clock;
use tenure_nerio::{Config, Node, Notice, Opening, OwnEvent, Quorums, Service, Storage};

use crate::setup::{candidate, config, directory, grantor, serves, soon};

fn of_node(event: OwnEvent) -> Notice {
    Notice::Protocol { election: None, event }
}

#[tokio::test]
async fn restarted_grantor_remembers() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let start =
        |name: &str, opening| grantor(&config, name, directory(parent.path(), name, opening));
    let mut nodes: Vec<_> = ["a", "b", "c"].map(|name| start(name, Opening::New)).into();
    let leader = candidate(&config, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    for name in ["a", "b", "c"] {
        soon(nodes.remove(0).close()).await;
        // A closed node has released its address and its directory.
        nodes.push(start(name, Opening::Existing));
    }
    // Wait for a renewal that began after the restarts: the restarted grantors have granted it.
    let restarted = clock::now();
    let mut until = leadership.until();
    while until < Some(restarted.after(config.drift.shrink(config.lease))) {
        until = soon(leadership.renewed(until)).await.expect("the restart cost no leadership");
    }
    assert!(leadership.is_current(), "a rolling restart cost the leadership");
    let fence = leadership.fence();
    soon(leadership.resign()).await;
    let next = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.fence() > fence);
    for node in nodes {
        soon(node.close()).await;
    }
}

#[tokio::test]
async fn lost_grantor_waits_and_reads() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let memory = || Storage::Memory { opening: Opening::New };
    let _a = grantor(&config, "a", memory());
    let _b = grantor(&config, "b", memory());
    let leader = candidate(&config, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    let fence = leadership.fence();
    let lost = directory(parent.path(), "c", Opening::Existing);
    let c = grantor(&config, "c", lost);
    let mut notices = c.notices();
    let mut heard = Vec::new();
    while heard.last() != Some(&of_node(OwnEvent::Serving)) {
        heard.push(soon(notices.recv()).await.unwrap());
    }
    assert!(heard.contains(&of_node(OwnEvent::Recovering)), "{heard:?}");
    assert!(leadership.is_current(), "two of three carried on");
    // Grantor c, which lost its directory, counts again: without a the next leader needs c. The
    // fence still grows.
    drop(leadership);
    drop(_a);
    let next = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    assert!(next.fence() > fence);
    soon(c.close()).await;
}

/// The node writes nothing meanwhile, so it must notice the loss by its own checks.
#[tokio::test]
async fn moved_directory_is_noticed() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let a = grantor(&config, "a", directory(parent.path(), "a", Opening::New));
    let _b = grantor(&config, "b", Storage::Memory { opening: Opening::New });
    let mut notices = a.notices();
    serves(&a).await;
    let here = parent.path().join("a");
    let elsewhere = parent.path().join("elsewhere");
    std::fs::rename(&here, &elsewhere).unwrap();
    let error = loop {
        if let Notice::DiskFailed { error } = soon(notices.recv()).await.unwrap() {
            break error;
        }
    };
    assert!(error.contains("cannot be found any more"), "{error}");
    assert_eq!(soon(a.service()).await, Some(Service::Failing));
    // The first lease needs both grantors. Grantor a must not grant while its directory is gone,
    // because a restart would forget the grant.
    let campaigner = candidate(&config, "candidate");
    let mut campaign = campaigner.election("x").unwrap().campaign("");
    let early = tokio::time::timeout(Duration::from_secs(1), &mut campaign).await;
    assert!(early.is_err(), "granted into a directory that is gone");
    assert_eq!(soon(a.service()).await, Some(Service::Failing));
    std::fs::rename(&elsewhere, &here).unwrap();
    soon(campaign).await.unwrap();
    while soon(notices.recv()).await.unwrap() != of_node(OwnEvent::DiskMended) {}
    assert_eq!(soon(a.service()).await, Some(Service::Serving));
    soon(a.close()).await;
}

/// The process still knows the whole identity, and writes the file again before the next grant.
#[tokio::test]
async fn removed_identity_under_leader_returns() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let a = grantor(&config, "a", directory(parent.path(), "a", Opening::New));
    let b = grantor(&config, "b", Storage::Memory { opening: Opening::New });
    for node in [&a, &b] {
        serves(node).await;
    }
    let leader = candidate(&config, "leader");
    let _leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    let mut notices = a.notices();
    let identity = parent.path().join("a/identity");
    std::fs::remove_file(&identity).unwrap();
    while !matches!(soon(notices.recv()).await.unwrap(), Notice::DiskFailed { .. }) {}
    while soon(notices.recv()).await.unwrap() != of_node(OwnEvent::DiskMended) {}
    assert!(identity.exists());
    assert_eq!(soon(a.service()).await, Some(Service::Serving));
    soon(a.close()).await;
}

/// The grantor uses the members in its state directory, even if its settings name others later.
#[tokio::test]
async fn changed_list_is_ignored() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let a = grantor(&config, "a", directory(parent.path(), "a", Opening::New));
    serves(&a).await;
    soon(a.close()).await;
    let mut short = Config::clone(&config);
    short.members.retain(|member| member.name.as_str() == "a");
    short.quorums = Quorums::majority(1).unwrap();
    let short = short.check().unwrap();
    let a = grantor(&short, "a", directory(parent.path(), "a", Opening::Existing));
    let mut notices = a.notices();
    let missing = ["b", "c"].map(|name| name.parse().unwrap()).to_vec();
    let other = Notice::OtherLine { missing, more: Vec::new(), quorums: false };
    while soon(notices.recv()).await.unwrap() != other {}
    // By the settings, a alone would be a quorum.
    serves(&a).await;
    let early = a.election("x").unwrap().campaign("");
    let early = tokio::time::timeout(Duration::from_secs(1), early).await;
    assert!(early.is_err(), "one of three leads");
    let _c = grantor(&config, "c", Storage::Memory { opening: Opening::New });
    soon(a.election("x").unwrap().campaign("")).await.unwrap();
    soon(a.close()).await;
}

#[tokio::test]
async fn changed_drift_is_refused() {
    let config = config();
    let parent = tempfile::tempdir().unwrap();
    let a = grantor(&config, "a", directory(parent.path(), "a", Opening::New));
    serves(&a).await;
    soon(a.close()).await;
    let mut other = Config::clone(&config);
    other.drift = "0.002".parse().unwrap();
    let builder = Node::builder(other.check().unwrap(), "a".parse().unwrap());
    let refused = builder.grantor(directory(parent.path(), "a", Opening::Existing)).start();
    assert_eq!(
        refused.err().unwrap().to_string(),
        format!(
            "the members in state directory {} do not fit the settings of this node: the members \
             have drift 0.001, and this process has drift 0.002; start the node with the settings \
             of its cluster",
            parent.path().join("a").display()
        )
    );
}
