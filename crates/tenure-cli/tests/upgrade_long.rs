//! A cluster of an older version, built from the repository's history, is upgraded in three steps
//! while it runs: first to this version without keys, then to keys while unsealed datagrams are
//! accepted, and last to sealed datagrams alone.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[expect(dead_code, reason = "what tests of keys alone need is not called here")]
#[path = "keys/fleet.rs"]
mod fleet;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use fleet::{Fleet, LEASE, NODES};
use serde_json::Value;

/// The commit of the older version, which has the same wire format.
const BEFORE: &str = "07605fb";

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_200 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("not within a minute: {what}");
}

fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Builds the command of the older version.
fn build_before() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("before");
    let source = target.join("source");
    if !source.exists() {
        let mut git = Command::new("git");
        // A clone needs no entry in the checkout, as a worktree would.
        git.args(["clone", "--quiet", "--no-checkout"]).arg(root).arg(&source);
        run(&mut git);
    }
    run(Command::new("git").current_dir(&source).args(["checkout", "--quiet", BEFORE]));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&source).args(["build", "--quiet", "--locked", "--package", "tenure-cli"]);
    run(cargo.env("CARGO_TARGET_DIR", &target));
    target.join("debug/tenure")
}

/// The leader, as an asker without a key hears it.
fn leads(fleet: &Fleet) -> Option<(String, u64)> {
    let led = fleet.told(&[])?;
    Some((led["id"].as_str()?.to_owned(), led["fence"].as_u64()?))
}

/// Whether all nodes answer, by the list of members that they name.
fn all_serve(fleet: &Fleet) -> bool {
    let asked = fleet.ask(&["members", "--json"]);
    let told: Value = serde_json::from_str(&asked.out).unwrap_or(Value::Null);
    let all = told["members"].as_array().cloned().unwrap_or_default();
    all.len() == NODES.len() && all.iter().all(|member| member["state"] == "serving")
}

/// Hands the leadership over to a waiting candidate.
fn hand_over(
    fleet: &mut Fleet,
    from: &str,
    to: &str,
    leads: impl Fn(&Fleet) -> Option<(String, u64)>,
) {
    let before = leads(fleet).expect("a leader");
    assert_eq!(before.0, from);
    fleet.kill(from);
    until(&format!("{to} leads"), || {
        leads(fleet).is_some_and(|(id, fence)| id == to && fence > before.1)
    });
}

#[test]
fn old_cluster_is_upgraded_and_sealed() {
    let (before, mut fleet) = (build_before(), Fleet::new());
    let now = std::mem::replace(&mut fleet.machine.tenure, before);
    std::fs::write(fleet.path("open"), "accept-unsealed\n").unwrap();
    NODES.iter().for_each(|node| fleet.start_node_unsealed(node));
    fleet.start_runner_unsealed("old");
    let first = leads(&fleet).expect("a leader");

    // The upgraded nodes have the wire format of the old version.
    for node in NODES {
        fleet.machine.tenure.clone_from(&now);
        fleet.restart_node(node, &[]);
        sleep(LEASE * 4 / 3);
        assert_eq!(leads(&fleet).as_ref(), Some(&first), "{node} was upgraded");
        until("nodes of both versions answer", || all_serve(&fleet));
    }
    // Each node has written its members down, so a shorter list changes nothing.
    let short = fleet.members().split(',').find(|member| member.starts_with("c=")).unwrap();
    let short = short.to_owned();
    fleet.kill("c");
    fleet.node("c", &["--members", &short]);
    fleet.says("c", "its settings differ: `members` lacks a, b; correct the settings");
    fleet.says("c", "granting");
    sleep(LEASE * 4 / 3);
    assert_eq!(leads(&fleet).as_ref(), Some(&first), "c has a shorter list");
    fleet.restart_node("c", &[]);
    fleet.start_waiting("new", &[]);
    hand_over(&mut fleet, "old", "new", leads);

    // Nodes seal datagrams to key holders, and accept unsealed datagrams.
    let key = fleet.key("prod.key");
    let billing = fleet.issue(&key, "billing.key");
    let second = leads(&fleet).unwrap();
    for node in NODES {
        fleet.restart_node(node, &[&key, "open"]);
        sleep(LEASE * 4 / 3);
        assert_eq!(leads(&fleet).as_ref(), Some(&second), "{node} has its key");
    }
    let advice = |fleet: &Fleet, node| fleet.keys(node)["advice"].as_str().unwrap().to_owned();
    assert!(advice(&fleet, "a").contains("keep accept-unsealed"), "the leader has no key");
    fleet.start_waiting("sealed", &[&billing, "open"]);
    hand_over(&mut fleet, "new", "sealed", leads);

    // The next step is safe a minute after the last unsealed datagram.
    let sealed = |fleet: &Fleet| {
        let led = fleet.told(&["--key-file", "billing.key"])?;
        Some((led["id"].as_str()?.to_owned(), led["fence"].as_u64()?))
    };
    let third = sealed(&fleet).unwrap();
    sleep(Duration::from_secs(20));
    until("each node says that the next step is safe", || {
        NODES.iter().all(|node| advice(&fleet, node).contains("take accept-unsealed out"))
    });
    NODES.iter().for_each(|node| fleet.give(&fleet.file(node), &[&key]));
    fleet.give(&fleet.file("sealed"), &[&billing]);
    until("no node reads what is not sealed", || {
        NODES.iter().all(|node| fleet.keys(node)["accepts_unsealed"] == false)
    });
    sleep(LEASE * 2);
    assert_eq!(leads(&fleet), None, "nobody is told without a key");
    assert_eq!(sealed(&fleet), Some(third));
}
