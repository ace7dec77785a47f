//! Real nodes and runners with keys: an exchange while they run, a wrong key, and a stranger who
//! hears everything.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "keys/elsewhere.rs"]
mod elsewhere;
#[path = "keys/fleet.rs"]
mod fleet;
#[path = "keys/health.rs"]
mod health;
#[path = "keys/lists.rs"]
mod lists;
#[path = "keys/orders.rs"]
mod orders;
#[path = "keys/recorder.rs"]
mod recorder;
#[path = "keys/rollout.rs"]
mod rollout;
#[path = "keys/stranger.rs"]
mod stranger;
#[path = "keys/troubles.rs"]
mod troubles;

use std::fs;

use fleet::{Fleet, NODES};
use tenure_testkit::processes::eventually;

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

#[test]
fn key_is_exchanged_under_a_leader() {
    let mut fleet = Fleet::new();
    let old = fleet.key("old.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &old));
    let of_old = fleet.issue(&old, "old.billing.key");
    fleet.start_runner("web", &of_old);
    let fence = fleet.leader(&old)["fence"].clone();
    let new = fleet.key("new.key");
    let of_new = fleet.issue(&new, "new.billing.key");

    NODES.iter().for_each(|node| fleet.give(&fleet.file(node), &[&old, &new]));
    until("every node accepts both", || {
        NODES.iter().all(|node| fleet.keys(node)["accepts"].as_array().unwrap().len() == 2)
    });
    fleet.give(&fleet.file("web"), &[&of_new]);
    let uses = |fleet: &Fleet, node: &str, name: &str| {
        let keys = fleet.keys(node);
        let peers = keys["peers"].as_array().unwrap().clone();
        peers.iter().find(|peer| peer["name"] == *name).map(|peer| peer["key"].clone())
    };
    let id = |fleet: &Fleet, node: &str, nth: usize| fleet.keys(node)["accepts"][nth].clone();
    until("the runner uses the new one at every node", || {
        NODES.iter().all(|node| uses(&fleet, node, "web") == Some(id(&fleet, node, 1)))
    });
    NODES.iter().for_each(|node| fleet.give(&fleet.file(node), &[&new, &old]));
    until("every node uses the new one", || {
        NODES.iter().all(|node| fleet.keys(node)["uses"] == id(&fleet, "a", 0))
    });
    NODES.iter().for_each(|node| fleet.give(&fleet.file(node), &[&new]));
    until("no node accepts the old one", || {
        NODES.iter().all(|node| fleet.keys(node)["accepts"].as_array().unwrap().len() == 1)
    });
    assert!(fleet.told(&["--key-file", &old]).is_none(), "nobody is told with the old one");
    fleet.await_renewal("web");
    let now = fleet.leader(&of_new);
    assert_eq!((&now["id"], &now["fence"]), (&"web".into(), &fence), "{now}");
}

/// The test only checks settings, so that no address is bound.
#[test]
fn addresses_outside_loopback_need_a_key() {
    let fleet = Fleet::new();
    let key = fleet.key("prod.key");
    let asked = ["node", "--name", "a", "--memory", "--members", "a=10.0.0.1:7101"];
    let check =
        |more: &[&str]| fleet.machine.ask(&[&asked[..], more, &["--show-settings"]].concat()).code;
    assert_eq!(check(&[]), Some(2));
    assert_eq!(check(&["--key-file", &key]), Some(0));
    assert_eq!(check(&["--insecure-any-address"]), Some(0));
    let words = [&asked[..], &["--key-file", &key, "--show-settings"]].concat();
    let shown = fleet.machine.ask(&words).out;
    let text = fs::read_to_string(fleet.path(&key)).unwrap();
    let secret = text.split_whitespace().last().unwrap();
    assert!(shown.contains("key-file") && !shown.contains(secret), "{shown}");
}
