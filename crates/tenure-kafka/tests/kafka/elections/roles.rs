//! Many roles, spread over the present processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::AtMostOne;
use tenure_core::nele::Mode;
use tenure_kafka::{Assignor, GroupProtocol, Node, Options};

use tokio::task::JoinSet;

use crate::common::{cluster, tests, unique};
use crate::elections::node::{options, patient, short};

tests!(sixteen_roles_are_spread, round_robin_spreads_roles, so_they_are_by_the_newer_protocol,);

const ROLES: u32 = 16;

/// A wait that is long enough for any event, after each of the processes has claimed.
const SOON: Duration = Duration::from_secs(120);

/// If a session ends too early, a process wins its roles again, and the awaited state only comes
/// later.
const SESSION: Duration = Duration::from_secs(15);

/// Leaders of roles, by each process's own word.
type Table = Arc<Mutex<BTreeMap<u32, BTreeSet<String>>>>;

/// The protocol of the group, and its strategy.
type By = (GroupProtocol, Assignor);

async fn start(name: &str, id: &str, by: By, addresses: &str) -> Node<AtMostOne> {
    let election = name.parse().unwrap();
    let group = name.parse().unwrap();
    let mode = Mode::AtMostOne;
    let mut config = patient(short(election, group, id.parse().unwrap(), ROLES, mode));
    // With the newer protocol a member may not hear of an assignment, and joins anew after R
    // (`max_poll_interval`).
    config.session_timeout = SESSION;
    config.heartbeat_interval = Duration::from_millis(400);
    config.max_poll_interval = config.session_timeout;
    let (group_protocol, assignor) = by;
    let options = Options { group_protocol, assignor, ..options(addresses, name) };
    let builder = Node::builder(config.check().unwrap(), options.check().unwrap());
    builder.start().await.unwrap()
}

/// Campaigns for every role, again and again, and notes the leaderships.
fn stand(node: &Node<AtMostOne>, id: &str, table: &Table) {
    let mut roles = node.roles(0..ROLES, id);
    let table = Arc::clone(table);
    let id = id.to_owned();
    tokio::spawn(async move {
        let mut led = JoinSet::new();
        loop {
            tokio::select! {
                Some((role, emerged)) = roles.next() => {
                    // A refused campaign: the node was closed.
                    let Ok(leadership) = emerged else { continue };
                    table.lock().unwrap().entry(role).or_default().insert(id.clone());
                    led.spawn(async move {
                        leadership.leader().lost().await;
                        role
                    });
                }
                Some(ended) = led.join_next() => {
                    let role = ended.unwrap();
                    table.lock().unwrap().entry(role).or_default().remove(&id);
                    roles.stand(role);
                }
                else => return,
            }
        }
    });
}

/// Waits until each role has one leader among these processes, and each process leads about the
/// same number of roles.
async fn until_spread(table: &Table, ids: &[String]) {
    let even = ROLES as usize / ids.len();
    let is_spread = || {
        let table = table.lock().unwrap();
        let mut counts: BTreeMap<&str, usize> = ids.iter().map(|id| (id.as_str(), 0)).collect();
        for role in 0..ROLES {
            let leaders: Vec<_> = table.get(&role).into_iter().flatten().collect();
            let [one] = &leaders[..] else { return false };
            match counts.get_mut(one.as_str()) {
                Some(count) => *count += 1,
                None => return false,
            }
        }
        counts.values().all(|count| (even..=even + 1).contains(count))
    };
    let waited = async {
        while !is_spread() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let over = tokio::time::timeout(SOON, waited).await;
    assert!(over.is_ok(), "not spread over {ids:?}: {:?}", table.lock().unwrap());
}

async fn spread(by: By, name: &str) {
    let long = std::env::var_os("TESTS_LONG").is_some();
    let most = if long { 20 } else { 5 };
    let cluster = cluster();
    let addresses = cluster.addresses();
    let table = Table::default();
    let group = format!("{name}.{name}.m{ROLES}");
    let millis = SESSION.as_millis().to_string();
    cluster.set_of_group(&group, "consumer.session.timeout.ms", &millis).unwrap();
    let ids: Vec<_> = (1..=most).map(|nth| format!("process-{nth}")).collect();
    let mut nodes = Vec::new();
    for id in &ids {
        nodes.push(start(name, id, by, &addresses).await);
        stand(&nodes[nodes.len() - 1], id, &table);
        if [1, 2, 5, 20].contains(&nodes.len()) {
            until_spread(&table, &ids[..nodes.len()]).await;
        }
    }
    for left in [5, 2, 1] {
        for node in nodes.split_off(left.min(nodes.len())) {
            node.close().await;
        }
        until_spread(&table, &ids[..left]).await;
    }
    nodes[0].close().await;
}

async fn sixteen_roles_are_spread() {
    let by = (GroupProtocol::Classic, Assignor::CooperativeSticky);
    spread(by, &unique("spread")).await;
}

async fn round_robin_spreads_roles() {
    let by = (GroupProtocol::Classic, Assignor::RoundRobin);
    spread(by, &unique("spread-anew")).await;
}

async fn so_they_are_by_the_newer_protocol() {
    let by = (GroupProtocol::Consumer, Assignor::CooperativeSticky);
    spread(by, &unique("spread-newer")).await;
}
