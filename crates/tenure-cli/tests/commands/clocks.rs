//! Processes whose clocks run faster or slower than drift allows.

use std::process::Command;

use serde_json::Value;
use tenure_testkit::processes::{ClockRate, Cluster, eventually};

const SETTINGS: &str = "election = \"e\"\nlease = \"6s\"";
/// Two per cent, twenty times the drift.
const OFF: i32 = 20_000;
/// A CMD that says when it begins and when it is told to end.
const WORK: [&str; 3] = [
    "sh",
    "-c",
    "trap 'echo stopped; exit 0' TERM; echo works with $TENURE_FENCE; while :; do sleep 0.1; done",
];

struct Stage {
    cluster: Cluster,
    rate: ClockRate,
}

impl Stage {
    fn new() -> Self {
        let names = ["a", "b", "c"];
        let cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), names, SETTINGS);
        Self { cluster, rate: ClockRate::new() }
    }

    fn command(&self, name: &str, words: &[&str], ppm: i32) -> Command {
        let mut command = self.cluster.command_of(&[], name, words);
        self.rate.set(&mut command, ppm);
        command
    }

    fn node(&mut self, name: &'static str, ppm: i32) {
        let state = format!("state-{name}");
        let words = ["node", "--name", name, "--state", &state, "--new"];
        let command = self.command(name, &words, ppm);
        self.cluster.spawn(name, command);
    }

    /// Whether `name` reports the clock of a member as fast or as slow.
    fn apart(&self, name: &str, member: &str) -> Option<String> {
        let clocks = &self.cluster.status(name)["clocks"];
        let member = clocks["members"].as_array()?.iter().find(|one| one["name"] == member)?;
        member["apart"].as_str().map(str::to_owned)
    }
}

/// The clock of `a`, a member and a candidate, is slower than all other clocks. So `a` stops
/// leading, another candidate leads, and an operator lets `a` take part again.
#[test]
fn slow_leader_stops_and_refuses() {
    let mut stage = Stage::new();
    for name in ["b", "c"] {
        stage.cluster.node(name, &["--new"]);
        stage.cluster.says(name, "granting leases");
    }
    let words = ["run", "--id", "a", "--name", "a", "--state", "state-a", "--new", "--"];
    let command = stage.command("a", &[&words[..], &WORK[..]].concat(), -OFF);
    stage.cluster.spawn("a", command);
    stage.cluster.says("a", "works with");
    stage.cluster.says("a", "this node takes its own clock to be wrong: it leads nothing");
    stage
        .cluster
        .says("a", "this node's clock runs faster or slower than those of too many members");
    stage.cluster.says("a", "stopped");
    let status = eventually("a waits for its operator", || {
        let status = stage.cluster.status("a");
        (status["waiting"]["text"].as_str()?.contains("clear-breach")).then_some(status)
    });
    assert_eq!((&status["leading"], &status["clocks"]["wrong"]), (&false.into(), &true.into()));
    assert_eq!(stage.apart("a", "b").as_deref(), Some("faster"));
    // With its wrong clock, member a refuses grants; the other members are a quorum.
    eventually("a refuses grants", || {
        (state_of_member(&stage.cluster) == "wrong-clock").then_some(())
    });
    stage.cluster.candidate("two", &[], &WORK);
    stage.cluster.says("two", "works with");
    let cleared = stage.cluster.tell("a", &["node", "clear-breach", "--json"]);
    let answer: Value = serde_json::from_str(&cleared.out).unwrap();
    assert_eq!((cleared.code, &answer["cleared"]), (Some(0), &true.into()), "{}", cleared.err);
    eventually("a grants again", || (state_of_member(&stage.cluster) == "serving").then_some(()));
    assert_ne!(stage.cluster.status("a")["clocks"]["wrong"], true);
    assert_eq!(stage.cluster.log("two").matches("stopped").count(), 0);
}

fn state_of_member(cluster: &Cluster) -> String {
    let answer = cluster.ask(&["members", "--json"]);
    let told: Value =
        serde_json::from_str(answer.out.lines().next().unwrap_or_default()).unwrap_or_default();
    let mut all = told["members"].as_array().into_iter().flatten();
    let member = all.find(|member| member["name"] == "a");
    member.and_then(|member| member["state"].as_str()).unwrap_or_default().to_owned()
}

/// A single member with a fast clock: leaders name it, count its leases no more, and lead on with
/// the other members.
#[test]
fn fast_member_costs_its_vote() {
    let mut stage = Stage::new();
    for name in ["a", "b"] {
        stage.cluster.node(name, &["--new"]);
    }
    stage.node("c", OFF);
    stage.cluster.candidate("one", &[], &WORK);
    stage.cluster.says("one", "works with");
    stage.cluster.says("one", "the clock of c runs faster than this node's");
    assert_eq!(stage.apart("one", "c").as_deref(), Some("faster"));
    assert_eq!(stage.apart("one", "b"), None);
    let status = stage.cluster.status("one");
    assert_eq!((&status["leading"], &status["clocks"]["wrong"]), (&true.into(), &false.into()));
    // Without b the leader would need the leases of c.
    stage.cluster.kill("b");
    stage.cluster.says("one", "stopped");
    stage.cluster.says("one", "its leases do not count");
    stage.cluster.node("b", &[]);
    stage.cluster.says_times("one", "works with", 2);
}
