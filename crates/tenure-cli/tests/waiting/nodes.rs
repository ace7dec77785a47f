//! A node's reports about its own troubles.

use std::fs;

use serde_json::Value;

use crate::{Stage, wait};

/// Other nodes ignore a node with another configuration, and the node serves none of them.
#[test]
fn status_shows_other_configurations() {
    let mut stage = Stage::new();
    // A node reports a stranger that asks again a second later: here the renewal is this second
    // request.
    stage.set("60s", "12s");
    for node in ["a", "b"] {
        stage.node(node, &["--new"]);
    }
    stage.node("c", &["--new", "--drift", "0.01"]);
    assert_eq!(stage.status("a")["warning"], Value::Null);
    stage.candidate("one", &[]);
    stage.says("c", "one at 127.0.0.1:");
    let told = || stage.status("c")["warning"].as_str().map(str::to_owned);
    let told = wait::eventually("it is in the status", told);
    assert!(told.contains("runs with another configuration (digest "), "{told}");
    assert_eq!(stage.status("c")["service"], "serving");
    wait::eventually("all three answer", || {
        let (code, said) = stage.tenure(&["members", "--json"], None);
        let told: Value = serde_json::from_str(said.lines().next()?).ok()?;
        let members = told["members"].as_array()?.iter();
        let states: Vec<_> = members.filter_map(|member| member["state"].as_str()).collect();
        let all = ["serving", "serving", "differs"];
        (code == Some(0) && states == all).then_some(())
    });
}

/// The library, the member and the candidate all know of a trouble, and only one of them may warn.
#[test]
fn verbose_logs_repeat_no_warning() {
    let mut stage = Stage::new();
    stage.set("60s", "20s");
    // A stopped candidate stays known for 10 s, so that its silence causes no new report.
    stage.set("round-trip", "refresh = \"5s\"\nround-trip");
    stage.node("b", &["--new", "-v"]);
    stage.node("c", &["--new", "-v", "--lease-max", "10s"]);
    let own = ["run", "--name", "a", "--memory", "--new", "-v", "--", "sleep", "1000"];
    stage.start("a", &own);
    stage.says("a", "c refuses this candidate for e: ");
    stage.candidate("two", &["--drift", "0.01", "-v"]);
    for node in ["a", "b", "c"] {
        stage.says(node, "two at 127.0.0.1:");
    }
    stage.says("two", "so no quorum agrees with this process");
    for name in ["a", "b", "c", "two"] {
        let said = stage.log(name);
        let texts = ["refuses this candidate", "two at 127.0.0.1:", "no quorum agrees", "granting"];
        for text in texts {
            let all = said.lines().filter_map(|line| line.find(text).map(|at| &line[at..]));
            let mut all: Vec<_> = all.collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{name} says it twice: {text}\n{said}");
        }
    }
}

/// A directory is lost, another directory takes its place, and then the node uses the old directory
/// again. The other nodes know the later directory, and the node says so.
#[test]
fn old_directory_is_reported() {
    let mut stage = Stage::new();
    stage.set("100ms", "10ms");
    let short = ["--lease", "1s", "--lease-max", "1s", "--grace", "200ms"];
    for node in ["a", "b", "c"] {
        stage.keeping(node, &[&short[..], &["--new"]].concat());
        stage.says(node, "granting leases");
    }
    stage.kill("a");
    fs::rename(stage.path("state-a"), stage.path("found")).unwrap();
    stage.keeping("a", &short);
    stage.says("a", "granting leases");
    stage.kill("a");
    fs::rename(stage.path("state-a"), stage.path("later")).unwrap();
    fs::rename(stage.path("found"), stage.path("state-a")).unwrap();
    stage.keeping("a", &short);
    stage.says("a", "the other members know a later state directory of this node");
    let status = &stage.status("a");
    assert_eq!(status["service"], "replaced", "{status}");
    stage.is_unsafe("b", "a has an old state directory");
}
