//! What a node says of itself while something is wrong with it.

use std::fs::{self, File};

use serde_json::Value;
use tenure_services::addresses;

use crate::{Stage, wait};

impl Stage {
    /// A node with a state directory.
    fn keeping(&mut self, name: &'static str, more: &[&str]) {
        self.silent.retain(|(silent, _)| *silent != name);
        let state = self.path(&format!("state-{name}"));
        let args = ["node", "--name", name, "--state", state.to_str().unwrap()];
        self.start(name, &args, more);
        self.says(name, " on 127.0.0.1:");
    }

    /// That of the leader, once there is one.
    fn fence(&self) -> u64 {
        wait::eventually("somebody leads", || {
            let (_, said) = self.tenure(&["leader", "--json"], None);
            let told: Value = serde_json::from_str(said.lines().next()?).ok()?;
            told["fence"].as_u64()
        })
    }
}

#[test]
fn grants_that_are_cut_off_are_told_while_the_node_runs() {
    let mut stage = Stage::new();
    for node in ["a", "b"] {
        stage.keeping(node, &["--new"]);
    }
    stage.candidate("one", "one", &[]);
    stage.says("one", "CMD runs");
    let grants = stage.path("state-a").join("grants");
    File::options().write(true).open(&grants).unwrap().set_len(0).unwrap();
    stage.says("a", "grants was cut off: it has 0 bytes, and had ");
    let status = &stage.status("a")["done"];
    assert_eq!(status["service"], "failing", "{status}");
    assert_eq!(fs::metadata(grants).unwrap().len(), 0, "nothing is written behind the hole");
}

/// Nobody believes it, and it serves nobody.
#[test]
fn another_configuration_is_in_the_status_as_well() {
    let mut stage = Stage::new();
    for node in ["a", "b"] {
        stage.node(node, &["--new"]);
    }
    stage.node("c", &["--new", "--drift", "0.01"]);
    assert_eq!(stage.status("a")["done"]["warning"], Value::Null);
    stage.candidate("one", "one", &[]);
    stage.says("c", "one at 127.0.0.1:");
    let told = || stage.status("c")["done"]["warning"].as_str().map(str::to_owned);
    let told = wait::eventually("it is in the status", told);
    assert!(told.contains("runs with another configuration (digest "), "{told}");
    assert_eq!(stage.status("c")["done"]["service"], "serving");
    wait::eventually("all three answer", || {
        let (code, said) = stage.tenure(&["members", "--json"], None);
        let told: Value = serde_json::from_str(said.lines().next()?).ok()?;
        let members = told["members"].as_array()?.iter();
        let states: Vec<_> = members.filter_map(|member| member["state"].as_str()).collect();
        let all = ["serving", "serving", "differs"];
        (code == Some(0) && states == all).then_some(())
    });
}

/// Without keys an address is all by which a member is known.
#[test]
fn a_member_that_moved_without_keys_is_told_what_to_change_and_so_are_the_others() {
    let mut stage = Stage::new();
    for node in ["b", "c"] {
        stage.node(node, &["--new"]);
    }
    let [new] = addresses().map(|address| address.to_string());
    let (before, members) = (stage.members(), stage.members());
    let old = before.split(',').next().unwrap().trim_start_matches("a=");
    // It has no memory, so it asks the others.
    stage.keeping("a", &["--members", &members.replace(old, &new)]);
    stage.says("a", "b, c take it for a stranger: ");
    stage.says("a", "If it has moved, change members everywhere");
    for node in ["b", "c"] {
        let told = format!("a sends from {new}, and by members here it is at {old}: without keys");
        stage.says(node, &format!("warning: {told}"));
        stage.says(node, "If it has moved, change members everywhere");
        let warning = &stage.status(node)["done"]["warning"];
        assert!(warning.as_str().is_some_and(|warning| warning.contains(&told)), "{warning}");
    }
}

/// The library says it, and so do the member's side and the candidate's.
#[test]
fn nothing_is_said_twice_however_much_is_logged() {
    let mut stage = Stage::new();
    stage.set("60s", "20s");
    // Who stands still is heard of for 10 s: nothing changes, and is said anew, because of that.
    stage.set("round-trip", "refresh = \"5s\"\nround-trip");
    stage.node("b", &["--new", "-v"]);
    stage.node("c", &["--new", "-v", "--lease-max", "10s"]);
    stage.silent.retain(|(silent, _)| *silent != "a");
    let own = ["run", "--name", "a", "--memory", "--new", "-v"];
    stage.start("a", &own, &["--", "sleep", "1000"]);
    stage.says("a", "c refuses this candidate for e: ");
    stage.candidate("two", "two", &["--drift", "0.01", "-v"]);
    for node in ["a", "b", "c"] {
        stage.says(node, "two at 127.0.0.1:");
    }
    stage.says("two", "so no quorum agrees with this one");
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

/// The same command line is right at every start: at the first one of a cluster, too.
#[test]
fn a_cluster_is_founded_without_a_flag_and_starts_again_with_the_same_words() {
    let mut stage = Stage::new();
    let short = ["--lease", "30s", "--lease-max", "30s"];
    stage.candidate("one", "one", &["--lease", "30s"]);
    for node in ["a", "b"] {
        stage.keeping(node, &short);
        stage.says(node, "it is founded when all members are there");
    }
    stage.says("one", "one waits: a, b have no memory, lost or never had");
    stage.says("one", "It goes on when all nodes are there if the cluster is new");
    stage.keeping("c", &short);
    stage.says("a", "founds the cluster: the directories of all members are empty");
    for node in ["a", "b", "c"] {
        stage.says(node, "granting leases");
    }
    stage.says("one", "CMD runs");
    let before = stage.fence();
    for node in ["a", "b", "c"] {
        stage.kill(node);
        stage.keeping(node, &short);
        stage.says(node, "granting leases");
    }
    let after = stage.fence();
    assert!(after >= before, "{before} {after}");
    // 14 November 2023: no clock of a machine shows less.
    assert!(before > 1_700_000_000_000, "a founding begins at the clock: {before}");
}

/// A directory is lost, another one takes its place, and then the old one is found and started: the
/// others know the later one, and it says so.
#[test]
fn an_old_directory_that_was_found_again_says_that_it_is_one() {
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
    let status = &stage.status("a")["done"];
    assert_eq!(status["service"], "replaced", "{status}");
    stage.is_unsafe("b", "a has an old state directory");
}

/// The lock is held on one of the files: without it nobody could tell whether another process has
/// the directory.
#[test]
fn a_node_whose_lock_was_removed_grants_nothing() {
    let mut stage = Stage::new();
    stage.set("60s", "20s");
    for node in ["a", "b"] {
        stage.keeping(node, &["--new"]);
    }
    stage.candidate("one", "one", &[]);
    stage.says("one", "CMD runs");
    fs::remove_file(stage.path("state-a").join(".held")).unwrap();
    // Two of three are the quorum: without a vote of a's the lease runs out.
    stage.says("one", "one waits: refused by a: it cannot write its state directory");
    assert_eq!(stage.status("a")["done"]["service"], "failing");
}

#[test]
fn a_damaged_table_of_grants_is_named_as_what_a_start_waits_for() {
    let mut stage = Stage::new();
    for node in ["a", "b"] {
        stage.keeping(node, &["--new"]);
    }
    stage.candidate("one", "one", &[]);
    stage.says("one", "CMD runs");
    stage.kill("a");
    let grants = stage.path("state-a").join("grants");
    let bytes = fs::metadata(&grants).unwrap().len();
    File::options().write(true).open(&grants).unwrap().set_len(bytes + 1).unwrap();
    stage.keeping("a", &[]);
    let length = bytes + 1;
    let warning =
        format!("warning: {}: the grant table has a length of {length} bytes", grants.display());
    stage.says("a", &warning);
    stage.says("a", "until every lease has ended: the table of its grants is damaged\n");
    let status = &stage.status("a")["done"];
    assert!(status["waits"].as_str().unwrap().ends_with("its grants is damaged"), "{status}");
}
