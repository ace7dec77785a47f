//! Many elections, listed page by page, sealed or not.

use std::net::SocketAddr;

use tenure::clock;
use tenure::nerio::keys::{ClusterKey, Keys};
use tenure::nerio::lists::{self, ElectionSeen, Heard};
use tenure::nerio::{Checked, Node, Storage};
use tenure::state::Opening;
use tokio::task::JoinSet;

use crate::setup::{config, soon};

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// As a service has them that elects a leader for each of its shards.
fn count() -> usize {
    if std::env::var_os("TENURE_LONG").is_some() { 10_000 } else { 300 }
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

#[expect(clippy::print_stdout, reason = "how long it took is read by people")]
async fn list(config: &Checked, keys: Option<&Keys>) -> Vec<ElectionSeen> {
    let start = clock::now();
    let seen = soon(lists::elections(config, keys, FROM)).await.unwrap();
    println!("{} elections in {:?}", seen.elections.len(), clock::now().since(start));
    assert!(seen.quorum && seen.elections.is_sorted_by_key(|one| one.election.clone()));
    seen.elections
}

async fn many(keys: Option<Keys>) {
    let config = config();
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
    let seen = list(&config, keys.as_ref()).await;
    assert_eq!(seen.len(), count());
    // Fences are announced by renewals, for which the last of them may have to be waited for.
    let named = seen.iter().filter_map(|one| one.leader.as_ref());
    assert!(named.clone().count() > count() / 2, "{} are named", named.clone().count());
    assert!(named.clone().all(|leader| leader.who.name.as_str() == "one"));
    if keys.is_some() {
        let some = list(&config, of("shards/0000*,shards/00123,elsewhere").as_ref()).await;
        assert_eq!(some.len(), 11);
    }

    drop(leaderships);
    soon(one.close()).await;
    drop(nodes);
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
