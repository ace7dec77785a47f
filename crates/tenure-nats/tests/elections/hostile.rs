//! A stranger on the bus.

use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use tenure_nats::{Config, Counters, Login, Node, Options};
use tenure_services::nats::{Cluster, ClusterConfig, Version};
use tokio_stream::StreamExt as _;

use crate::common::{
    ELECTION, PATIENCE, config, hears, leads, ranked, renewed, run, soon, until_alone,
};

const FLOOD: usize = 30_000;

/// Permissions as documented: `docs/howto/nats.md` has the same lines.
const PERMISSIONS: &str = r#"authorization {
  users: [
    { user: participant, password: secret, permissions: {
        publish: ["tenure.test.*"], subscribe: ["tenure.test.*"] } }
    { user: asker, password: secret, permissions: {
        publish: ["tenure.test.ask"], subscribe: ["tenure.test.*"] } }
  ]
}"#;

tenure_services::on_each_version!(with_permissions_a_stranger_reaches_nobody);

/// Receives real packets, for replays.
async fn overheard(stranger: &Client, count: usize) -> Vec<async_nats::Message> {
    let mut bus = stranger.subscribe("tenure.test.*").await.unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        all.push(soon(bus.next()).await.unwrap());
    }
    all
}

/// Garbage, messages of a megabyte, malformed forgeries and old packets, again and again: each is
/// counted, and the leader leads on. Without authentication a stranger can send a valid packet with
/// false content; the documents say so, and this test does not try it.
#[test]
fn flood_changes_no_leader() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let one = ranked("one", 1, &cluster);
        let two = ranked("two", 2, &cluster);
        let leadership = leads(&one).await;
        let mut waiting = two.election(ELECTION).unwrap();
        let mut waiting = Box::pin(async { waiting_for(&mut waiting).await });
        let stranger = async_nats::connect(cluster.server(0).url()).await.unwrap();
        let said = overheard(&stranger, 12).await;
        let kinds = ["ask", "call", "reply", "resign", "shout", "ask.more"];
        for number in 0..FLOOD {
            let again = &said[number % said.len()];
            let (subject, payload) = match number % 8 {
                0..3 => (format!("tenure.test.{}", kinds[number % 6]), "not json".into()),
                3 => {
                    ("tenure.test.call".to_owned(), again.payload.slice(..again.payload.len() / 2))
                }
                4 => ("tenure.test.ask".to_owned(), again.payload.clone()),
                5 if number % 8_000 == 5 => {
                    ("tenure.test.reply".to_owned(), vec![b'['; 1_000_000].into())
                }
                _ => (again.subject.to_string(), again.payload.clone()),
            };
            stranger.publish(subject, payload).await.unwrap();
            if number % 500 == 0 {
                stranger.flush().await.unwrap();
                // A participant that cannot keep up receives its own packets too late.
                is_idle(&one).await;
            }
            assert!(leadership.is_current(), "after {number} messages");
        }
        stranger.flush().await.unwrap();
        tokio::select! {
            () = renewed(&leadership, 1) => {}
            () = &mut waiting => panic!("another one leads"),
        }
        let counters = one.counters().await.unwrap();
        for reason in ["unreadable", "subject", "too_large"] {
            assert!(counters.ignored.get(reason).is_some_and(|count| *count > 0), "{counters:?}");
        }
        assert_eq!((counters.elected, counters.expired), (1, 0));
        until_alone(&two, "one").await;
    });
}

/// Waits until no unread message is left.
async fn is_idle(node: &Node) {
    let heard = async || node.counters().await.unwrap().heard_bytes;
    let mut before = None;
    while before != Some(heard().await) {
        before = Some(heard().await);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn waiting_for(election: &mut tenure::Election<tenure::MayOverlap>) {
    let _ = election.campaign("two").await;
}

/// A node as a user of the server.
fn node(id: &str, user: &str, cluster: &Cluster) -> Node {
    node_of(1, id, user, cluster)
}

fn node_of(rank: u64, id: &str, user: &str, cluster: &Cluster) -> Node {
    let servers = vec![cluster.server(0).url().parse().unwrap()];
    let login = Some(Login::User { user: user.into(), password: "secret".into() });
    let options = Options { login, connect_within: PATIENCE, ..Options::new(servers) };
    let options = options.check().unwrap();
    let config = Config { rank: Some(rank), ..config(id) };
    Node::builder(config.check().unwrap(), options).start().unwrap()
}

fn with_permissions_a_stranger_reaches_nobody(version: Version) {
    let cluster = ClusterConfig::new(version, 1).settings(PERMISSIONS).start().unwrap();
    run(async {
        let one = node("one", "participant", &cluster);
        let asker = node("two", "asker", &cluster);
        let leadership = leads(&one).await;
        // An asker sees the leader, and needs no more rights.
        until_alone(&asker, "one").await;
        let login = ConnectOptions::with_user_and_password("asker".into(), "secret".into());
        let stranger = login.connect(cluster.server(0).url()).await.unwrap();
        let said = overheard(&stranger, 6).await;
        let before = one.counters().await.unwrap();
        for number in 0..2_000 {
            let again = &said[number % said.len()];
            let kind = ["call", "reply", "resign"][number % 3];
            let payload = if number % 2 == 0 { again.payload.clone() } else { "not json".into() };
            stranger.publish(format!("tenure.test.{kind}"), payload).await.unwrap();
        }
        // Publish an allowed packet last: the server handles messages in order, so it has then
        // handled all others.
        stranger.publish("tenure.test.ask", "not json".into()).await.unwrap();
        let unreadable = |counters: &Counters| counters.ignored.get("unreadable").copied();
        let unreadable = |counters: &Counters| unreadable(counters).unwrap_or(0);
        let after = soon(async {
            loop {
                let after = unreadable(&one.counters().await.unwrap());
                if after > unreadable(&before) {
                    return after;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert_eq!(after.await, unreadable(&before) + 1);
        assert!(leadership.is_current());
        assert!(tenure_nats_page().contains(&indented(PERMISSIONS)), "docs/howto/nats.md differs");
    });
}

fn tenure_nats_page() -> &'static str {
    include_str!("../../../../docs/howto/nats.md")
}

/// The lines as the page has them, with the page's cluster `prod`.
fn indented(text: &str) -> String {
    text.replace("tenure.test", "tenure.prod")
}

tenure_services::on_each_version!(asker_rights_elect_no_leader);

/// A user that may only ask, by the permissions of the documentation, sends questions in the names
/// of the two participants, with rounds later than theirs. No question delays a call.
fn asker_rights_elect_no_leader(version: Version) {
    let cluster = ClusterConfig::new(version, 1).settings(PERMISSIONS).start().unwrap();
    run(async {
        let one = node("one", "participant", &cluster);
        let two = node_of(2, "two", "participant", &cluster);
        let first = leads(&one).await;
        let election = two.election(ELECTION).unwrap();
        let mut next = election.campaign("two");
        tokio::select! {
            () = hears(&two, 8) => {}
            _ = &mut next => panic!("two leaders"),
        }
        let login = ConnectOptions::with_user_and_password("asker".into(), "secret".into());
        let stranger = login.connect(cluster.server(0).url()).await.unwrap();
        let said = overheard(&stranger, 20).await;
        let calls: Vec<serde_json::Value> =
            said.iter().filter_map(|said| serde_json::from_slice(&said.payload).ok()).collect();
        let of = |who: &Node| {
            let prefix = format!("{}~", who.who().id);
            let is = |said: &&serde_json::Value| {
                said["from"].as_str().is_some_and(|from| from.starts_with(&prefix))
            };
            let mut said = calls.iter().find(is).unwrap().as_object().unwrap().clone();
            for kind in ["ask", "call", "reply", "resign"] {
                said.remove(kind);
            }
            said
        };
        let mut names = [of(&one), of(&two)];
        for number in 0..150_u64 {
            for said in &mut names {
                let round = u64::MAX - 1_000 + number;
                let elections = ["elsewhere"];
                let ask =
                    serde_json::json!({"round": round, "part": 0, "of": 1, "elections": elections});
                said.insert("ask".into(), ask);
                let payload = serde_json::to_vec(said).unwrap();
                stranger.publish("tenure.test.ask", payload.into()).await.unwrap();
            }
            stranger.flush().await.unwrap();
            let leads = tokio::time::timeout(Duration::from_millis(100), &mut next).await.is_ok();
            assert!(!leads, "the second one leads after {number} tenths of a second");
        }
        assert!(first.is_current());
    });
}
