//! What a node says of itself while something is wrong with it.

use std::fs::{self, File};

use serde_json::Value;

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
    let (code, said) = stage.tenure(&["members", "--json"], None);
    let told: Value = serde_json::from_str(&said).unwrap();
    let members = told["members"].as_array().unwrap().iter();
    let states: Vec<_> = members.filter_map(|member| member["state"].as_str()).collect();
    assert_eq!((code, states), (Some(0), vec!["serving", "serving", "differs"]), "{told}");
}

/// What was refused is not recommended afterwards, neither by that node nor by the other.
#[test]
fn after_a_first_start_was_refused_nobody_is_told_to_say_it_again() {
    let mut stage = Stage::new();
    let short = ["--lease-max", "1s"];
    stage.keeping("c", &["--new", "--lease-max", "1s"]);
    stage.says("c", "granting leases");
    stage.kill("c");
    // It was restarted, and may have known a leader.
    stage.keeping("c", &short);
    stage.keeping("a", &short);
    // How much is left when a busy machine prints it, nobody knows.
    stage.says("a", "s, longer if another node has a larger lease-max, ");
    stage.says("a", "reading the fences of the others");
    stage.kill("a");
    stage.keeping("a", &["--new", "--lease-max", "1s"]);
    stage.node("b", &short);
    stage.says("a", "--new is refused");
    for (node, other) in [("a", "b"), ("b", "a")] {
        let text = format!("{other} has no memory either, lost or never had. ");
        stage.says(node, &format!("{text}It is not the first start of the cluster"));
        let log = stage.log(node);
        let (_, after) = log.rsplit_once(&text).unwrap();
        assert!(!after.contains("with --new"), "{log}");
    }
    // Nor is it by those who only hear of it from the nodes.
    stage.candidate("one", "one", &[]);
    stage.says("one", "one waits: a, b have no memory, lost or never had, ");
    let wait_safe = &["node", "wait-safe", "--name", "c", "--wait", "1s", "--json"][..];
    let (_, leader) = stage.tenure(&["leader"], None);
    let (_, wait_safe) = stage.tenure(wait_safe, None);
    for said in [stage.log("one"), leader, wait_safe] {
        assert!(said.contains("leave --new out"), "{said}");
        assert!(!said.contains("with --new"), "{said}");
    }
}

/// The lock is held on one of the files: without it nobody could tell whether another process has
/// the directory.
#[test]
fn a_node_whose_lock_was_removed_grants_nothing() {
    let mut stage = Stage::new();
    stage.set("60s", "3s");
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
