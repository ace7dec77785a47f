//! Many elections, listed page by page, sealed or not.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::Quorums;
use tenure_nerio::keys::{ClusterKey, Keys};
use tenure_nerio::lists::{self, ElectionSeen, Heard};
use tenure_nerio::survey::{NameServers, survey};
use tenure_nerio::{Checked, Config, Node, Opening, Storage};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::setup::{candidate, config, grantors, serves, soon};

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// The number of elections, as in a service with a leader for each of its shards.
fn count() -> usize {
    if std::env::var_os("TESTS_LONG").is_some() { 10_000 } else { 300 }
}

fn start(config: &Checked, name: &str, keys: Option<&Keys>, grants: bool) -> Node {
    let mut builder = Node::builder(config.clone(), name.parse().unwrap());
    if grants {
        builder = builder.grantor(Storage::Memory { opening: Opening::New });
    }
    if let Some(keys) = keys {
        builder = builder.keys(keys.clone());
    }
    builder.start().unwrap()
}

/// Asks until a quorum has answered, because members may be silent once on a busy machine.
async fn list(config: &Checked, keys: Option<&Keys>) -> Vec<ElectionSeen> {
    let seen = async {
        loop {
            let seen = lists::elections(config, keys, FROM).await.unwrap();
            if seen.quorum {
                return seen.elections;
            }
        }
    };
    let seen = soon(seen).await;
    assert!(seen.is_sorted_by_key(|one| one.election.clone()));
    seen
}

async fn many(keys: Option<Keys>) {
    // All elections are won at once. The first leases last 45 s, so that none ends before its
    // leader has a full lease.
    let mut config = Config::clone(&config()).with_lease(Duration::from_secs(60));
    config.refresh = Duration::from_secs(15);
    let config = config.check().unwrap();
    let nodes = ["a", "b", "c"].map(|name| start(&config, name, keys.as_ref(), true));
    let of = |elections: &str| {
        let key = |keys: &Keys| keys.issue("app".parse().unwrap(), elections.parse().unwrap());
        keys.as_ref().map(|keys| Keys::from(key(keys).unwrap()))
    };
    let one = start(&config, "one", of("*").as_ref(), false);
    let mut campaigns = JoinSet::new();
    for number in 0..count() {
        let election = one.election(&format!("shards/{number:05}")).unwrap();
        campaigns.spawn(async move { election.campaign("here").await.unwrap() });
    }
    let leaderships = soon(campaigns.join_all()).await;
    for leadership in &leaderships {
        soon(leadership.settled()).await.unwrap();
    }
    // Leaders announce their fences with their renewals.
    let named = async {
        loop {
            let seen = list(&config, keys.as_ref()).await;
            assert_eq!(seen.len(), count());
            let leaders: Vec<_> = seen.into_iter().filter_map(|one| one.leader).collect();
            if leaders.len() == count() {
                return leaders;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(soon(named).await.iter().all(|leader| leader.who.name.as_str() == "one"));
    if keys.is_some() {
        let some = list(&config, of("shards/0000*,shards/00123,elsewhere").as_ref()).await;
        assert_eq!(some.len(), 11);
    }

    drop(leaderships);
    for node in [one].iter().chain(&nodes) {
        soon(node.close()).await;
    }
    let seen = soon(lists::elections(&config, keys.as_ref(), FROM)).await.unwrap();
    assert!(!seen.quorum && seen.members.iter().all(|(_, heard)| *heard == Heard::Silent));
}

#[tokio::test]
async fn many_elections_are_listed() {
    many(None).await;
}

#[tokio::test]
async fn many_elections_are_listed_with_keys() {
    many(Some(ClusterKey::generate("test".parse().unwrap()).unwrap().into())).await;
}

/// The settings name one of three members, which names the others.
#[tokio::test]
async fn one_name_lists_all_members() {
    let config = config();
    let nodes = grantors(&config);
    for node in &nodes {
        serves(node).await;
    }
    let mut short = Config::clone(&config);
    short.members = vec![config.members[1].clone()];
    short.quorums = Quorums::majority(1).unwrap();
    let short = short.check().unwrap();
    let leader = candidate(&config, "leader");
    let leadership = soon(leader.election("x").unwrap().campaign("")).await.unwrap();
    soon(leadership.settled()).await.unwrap();
    // On a busy machine a member may be silent once.
    let listed = async {
        loop {
            let seen = lists::elections(&short, None, FROM).await.unwrap();
            let all_answer = seen.members.iter().all(|(_, heard)| heard.counts());
            if all_answer && seen.elections.iter().any(|one| one.leader.is_some()) {
                return seen;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let seen = soon(listed).await;
    let names: Vec<_> = seen.members.iter().map(|(member, _)| member.name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(seen.membership, *config.membership());
    let safe = async {
        loop {
            let seen = survey(&short, None, FROM, NameServers::Briefly).await.unwrap();
            assert_eq!(seen.members.len(), 3);
            if seen.obstacle(None).is_none() {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    soon(safe).await;
    assert!(leadership.is_current());
}
