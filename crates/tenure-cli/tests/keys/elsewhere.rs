//! Commands on a machine with neither a node nor a candidate: the members list and a key are all
//! that it has.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fleet::{Fleet, NODES};
use crate::{eventually, until};

const LEADER: [&str; 1] = ["leader"];
const RESIGN: [&str; 2] = ["resign", "--remote"];

struct Answer {
    code: Option<i32>,
    told: Value,
    errors: String,
}

fn ask(fleet: &Fleet, command: &[&str], key: &[&str]) -> Answer {
    let answer = fleet.ask(&[command, key, &["--json"]].concat());
    let told = serde_json::from_str(&answer.out).unwrap_or(Value::Null);
    Answer { code: answer.code, told, errors: answer.err }
}

/// Repeats a question until a quorum answers.
fn by_a_quorum(fleet: &Fleet, command: &[&str], key: &[&str]) -> Answer {
    eventually("a quorum answers", || {
        let asked = ask(fleet, command, key);
        (asked.code != Some(4)).then_some(asked)
    })
}

/// Every command has the answer that its key allows, with the age of the answer.
#[test]
fn key_decides_what_members_answer() {
    let mut fleet = Fleet::new();
    let prod = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &prod));
    let billing = fleet.issue(&prod, "billing.key");
    let watcher = fleet.issue_for(&prod, &["--app", "watcher", "--rights", "ask"], "watcher.key");
    fleet.start_runner("web", &billing);
    let fence = fleet.leader(&prod)["fence"].clone();
    let watcher = ["--key-file", &watcher];

    let led = by_a_quorum(&fleet, &LEADER, &watcher);
    assert_eq!((&led.told["id"], &led.told["fence"]), (&"web".into(), &fence), "{}", led.errors);
    assert!(led.told["heard_ms"].is_u64(), "{}", led.told);
    let vacant = by_a_quorum(&fleet, &["leader", "--election", "billing/y"], &watcher);
    assert_eq!((vacant.code, &vacant.told["state"]), (Some(3), &"vacant".into()));
    assert!(vacant.told["asked_ms"].is_u64(), "{}", vacant.told);
    for (command, ages) in [(&["elections"][..], "elections"), (&["candidates"], "candidates")] {
        let listed = by_a_quorum(&fleet, command, &watcher);
        assert_eq!((listed.code, &listed.told[ages][0]["id"]), (Some(0), &"web".into()));
        assert!(listed.told[ages][0]["age_ms"].is_u64(), "{}", listed.told);
    }
    let health = by_a_quorum(&fleet, &["node", "status", "--remote"], &watcher);
    assert!(health.code == Some(0) && health.told["age_ms"].is_u64(), "{}", health.told);
    let command = fleet.command(&["observe", watcher[0], watcher[1]]);
    let observer = fleet.machine.spawn("observer", command);
    let line = observer.line("leader web", 1);
    assert!(line.contains(" unless it renews, heard ") && line.ends_with("s ago"), "{line}");

    let elsewhere = "covers only billing/*, and this command needs the election \"other/x\"";
    for (command, lacks) in [
        (&RESIGN[..], "not the right to resign"),
        (&["transfer", "--remote", "--to", "web-2"], "not the right to resign"),
        (&["members", "remove", "c"], "not the right to change members"),
        (&["leader", "--election", "other/x"], elsewhere),
        (&["observe", "--election", "other/x"], elsewhere),
    ] {
        let refused = ask(&fleet, command, &watcher);
        assert_eq!(refused.code, Some(2), "{command:?}: {}", refused.errors);
        assert!(refused.errors.contains(lacks), "{command:?}: {}", refused.errors);
    }
    let unsealed = ask(&fleet, &LEADER, &[]);
    assert_eq!((unsealed.code, &unsealed.told["state"]), (Some(4), &"unknown".into()));
    assert!(unsealed.errors.contains("give --key-file"), "{}", unsealed.errors);
    let now = fleet.leader(&prod);
    assert_eq!((&now["id"], &now["fence"]), (&"web".into(), &fence), "nothing happened");
}

/// Orders name the leadership that was seen: two operators at once end no later leadership.
#[test]
fn order_ends_only_seen_leadership() {
    let mut fleet = Fleet::new();
    let prod = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &prod));
    let rights = ["--app", "operator", "--rights", "ask,resign"];
    let operator = fleet.issue_for(&prod, &rights, "operator.key");
    let key = ["--key-file", &*operator];
    let none = by_a_quorum(&fleet, &RESIGN, &key);
    assert_eq!(none.code, Some(3), "{}", none.errors);
    assert!(none.errors.contains("no candidate leads billing/x"), "{}", none.errors);

    fleet.start_runner("web", &prod);
    fleet.start_waiting("web-2", &[&prod]);
    let ended = std::thread::scope(|scope| {
        let give = || {
            scope.spawn(|| {
                eventually("the leader obeys", || {
                    let answer = ask(&fleet, &RESIGN, &key);
                    (answer.code == Some(0)).then_some(answer.told)
                })
            })
        };
        [give(), give()].map(|told| told.join().unwrap())
    });
    for told in &ended {
        assert!(told["age_ms"].is_u64(), "{told}");
        assert!(told["fence"].is_null() || told["fence"].as_u64() > told["ended"].as_u64());
    }
    let fences: BTreeSet<_> = ended.iter().map(|told| told["ended"].as_u64().unwrap()).collect();
    let logs = ["web", "web-2"].map(|id| fleet.log(id)).concat();
    // The orders ended the leaderships that they name, and not the last one, even if an order came
    // twice. A second order may come before the CMD of the next leader runs.
    let begun = logs.matches(" leads billing/x, fence ").count();
    assert!((fences.len()..=fences.len() + 1).contains(&begun), "{ended:?} {logs}");
    assert!(logs.matches("tenure: CMD ended").count() <= fences.len(), "{ended:?} {logs}");

    fleet.leader(&prod);
    for node in ["b", "c"] {
        fleet.kill(node);
    }
    until("the leader is unknown", || {
        let asked = ask(&fleet, &LEADER, &key);
        asked.code == Some(4) && asked.told["state"] == "unknown"
    });
    let unknown = ask(&fleet, &RESIGN, &key);
    assert_eq!(unknown.code, Some(4), "{}", unknown.errors);
    assert!(unknown.errors.contains("b does not answer; c does not answer"), "{}", unknown.errors);
}
