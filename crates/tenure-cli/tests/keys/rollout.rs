//! A running cluster without keys gets keys, one process after the other.

use std::fs;

use crate::fleet::{Fleet, NODES};
use crate::until;

/// The file with the line `accept-unsealed`, to be appended to a key.
const OPEN: &str = "open";

fn fence(led: &serde_json::Value) -> u64 {
    led["fence"].as_u64().unwrap()
}

/// Whether the status warns only that the node admits strangers.
fn says_only_that_it_is_open(fleet: &Fleet) -> bool {
    let warned = fleet.status("a")["warning"].as_str().unwrap_or_default().to_owned();
    let open = warned.starts_with("the key file says accept-unsealed: ");
    open && !warned.contains("sends without a key")
}

#[test]
fn running_cluster_gets_keys() {
    let mut fleet = Fleet::new();
    fs::write(fleet.path(OPEN), "accept-unsealed\n").unwrap();
    let key = fleet.key("prod.key");
    let billing = fleet.issue(&key, "billing.key");
    NODES.iter().for_each(|node| fleet.start_node_unsealed(node));
    fleet.start_runner_unsealed("web");
    let first = fence(&fleet.leader_unsealed());

    for (nth, node) in NODES.iter().enumerate() {
        fleet.restart_node(node, &[&key, OPEN]);
        assert!(
            fleet.log(node).contains("everybody who reaches this process can speak in any name")
        );
        // Nodes with and without keys renew the lease.
        fleet.await_renewal("web");
        assert_eq!(fence(&fleet.leader_unsealed()), first, "{nth} have keys");
    }
    let with_both = fleet.path("asks.key");
    fleet.give(&with_both, &[&billing, OPEN]);
    assert_eq!(fence(&fleet.leader("asks.key")), first);
    let status = fleet.keys("a");
    let unsealed = status["unsealed"].as_array().unwrap();
    assert!(unsealed.iter().any(|one| one["name"] == "web"), "{status}");
    let advice = status["advice"].as_str().unwrap();
    assert!(advice.contains("keep accept-unsealed until all processes have keys"), "{advice}");

    // A step too early: without the line `accept-unsealed` the node names the process that has no
    // key. With the line the node hears that process again.
    fleet.give(&fleet.file("a"), &[&key]);
    until("a says whom it refuses", || {
        let status = fleet.keys("a");
        let named = |one: &serde_json::Value| one["name"] == "web";
        status["accepts_unsealed"] == false
            && status["unsealed"].as_array().unwrap().iter().any(named)
            && status["advice"].as_str().unwrap().contains("refuses datagrams without a key")
    });
    until("its status does, too", || {
        let warned = fleet.status("a")["warning"].as_str().unwrap_or_default().to_owned();
        warned.contains("web at 127.0.0.1:") && warned.contains("sends without a key")
    });
    fleet.give(&fleet.file("a"), &[&key, OPEN]);
    until("a hears it again", || {
        says_only_that_it_is_open(&fleet) && fleet.keys("a")["accepts_unsealed"] == true
    });

    fleet.start_waiting("new", &[&billing, OPEN]);
    fleet.kill("web");
    until("the one with a key leads", || fleet.leader("asks.key")["id"] == "new");
    let second = fence(&fleet.leader("asks.key"));
    assert!(second > first);
    let sealed = |node: &str, name: &str| {
        let status = fleet.keys(node);
        status["peers"].as_array().unwrap().iter().any(|peer| peer["name"] == name)
    };
    until("the runner has shown its key at every node", || {
        NODES.iter().all(|node| sealed(node, "new"))
    });

    for process in ["a", "b", "c"] {
        fleet.give(&fleet.file(process), &[&key]);
    }
    fleet.give(&fleet.file("new"), &[&billing]);
    until("no node reads what is not sealed", || {
        NODES.iter().all(|node| fleet.keys(node)["accepts_unsealed"] == false)
    });
    assert_eq!(fleet.told(&[]), None);
    fleet.await_renewal("new");
    let led = fleet.leader(&billing);
    assert_eq!((&led["id"], fence(&led)), (&"new".into(), second));
}

/// Outside loopback a key file alone does not make a process admit strangers: this needs a flag.
#[test]
fn only_a_flag_admits_strangers() {
    let fleet = Fleet::new();
    fs::write(fleet.path(OPEN), "accept-unsealed\n").unwrap();
    let key = fleet.key("prod.key");
    fleet.give(&fleet.path("open.key"), &[&key, OPEN]);
    let asked = ["node", "--name", "a", "--memory", "--members", "a=10.0.0.1:7101"];
    let check = |more: &[&str]| {
        let more = [&["--key-file", "open.key"], more, &["--show-settings"]].concat();
        fleet.machine.ask(&[&asked[..], &more].concat())
    };
    let refused = check(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("and the key file says accept-unsealed"), "{}", refused.err);
    assert_eq!(check(&["--insecure-any-address"]).code, Some(0));
}
