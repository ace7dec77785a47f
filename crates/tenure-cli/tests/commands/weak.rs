//! `tenure observe --weak`, on real nodes of which too few are left for an election.

use serde_json::{Value, json};
use tenure_testkit::processes::Cluster;

const WORK: [&str; 3] = ["sh", "-c", "echo works with $TENURE_FENCE; exec sleep 1000000"];

/// The last line of an observer names this weak leader.
fn names(cluster: &Cluster, observer: &str, weak: &str) {
    let named = |line: &str| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|told| told == json!({"state": "weak-leader", "id": weak, "epoch": 0}))
    };
    tenure_testkit::processes::eventually(&format!("{observer} names {weak}"), || {
        cluster.log(observer).lines().last().is_some_and(named).then_some(())
    });
}

#[test]
fn minority_shows_weak_leader() {
    let settings = "lease = \"4s\"\nring = \"ping\"";
    let election = ["--election", "e"];
    let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings);
    ["a", "b", "c"].iter().for_each(|name| cluster.node(name, &["--new"]));
    cluster.candidate("one", &election, &WORK);
    cluster.says("one", "works with");
    let observe = cluster.command(&["observe", "--weak", "--json"]);
    cluster.spawn("observer", observe);
    names(&cluster, "observer", "a");
    // The member that is left is no quorum: nobody leads, and the member is the weak leader.
    cluster.kill("a");
    cluster.kill("b");
    names(&cluster, "observer", "c");
    cluster.says("one", "no quorum: no answer from a, b\n");
    assert_eq!(cluster.leader(&election), None);
    cluster.node("a", &[]);
    names(&cluster, "observer", "a");
    cluster.says_times("one", "works with", 2);
    cluster.kill("a");
    cluster.kill("c");
    tenure_testkit::processes::eventually("no member answers", || {
        let last = cluster.log("observer").lines().last()?.to_owned();
        (serde_json::from_str::<Value>(&last).ok()? == json!({"state": "unknown"})).then_some(())
    });
}

/// With `only-weak-leader`, only the weak leader of the members campaigns and leads. After its end,
/// the next weak leader does.
#[test]
fn weak_leaders_run_commands() {
    let settings = "election = \"e\"\nlease = \"4s\"\nring = \"accrual\"\nonly-weak-leader = true";
    let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings);
    for name in ["a", "b", "c"] {
        let state = format!("state-{name}");
        cluster.candidate(name, &["--name", name, "--state", &state, "--new"], &WORK);
    }
    let runs = |cluster: &Cluster, names: &[&'static str]| {
        tenure_testkit::processes::eventually("a candidate leads", || {
            names.iter().copied().find(|name| cluster.log(name).contains("works with"))
        })
    };
    let first = runs(&cluster, &["a", "b", "c"]);
    cluster.kill(first);
    let others: Vec<_> = ["a", "b", "c"].into_iter().filter(|name| *name != first).collect();
    runs(&cluster, &others);
}

#[test]
fn settings_without_ring_are_refused() {
    let cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], "");
    let answer = cluster.ask(&["node", "--name", "a", "--memory", "--new", "--only-weak-leader"]);
    assert!(answer.err.contains("only-weak-leader needs a ring, and ring is off"), "{answer:?}");
    let answer = cluster.ask(&["node", "--name", "a", "--memory", "--new", "--ring", "gossip"]);
    assert!(answer.err.contains("a failure detector"), "{answer:?}");
}
