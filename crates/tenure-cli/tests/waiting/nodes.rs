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

    /// Ends a node, so that another one of its name can be started.
    fn end(&mut self, name: &str) {
        self.kill(name);
        let nth = self.names.iter().position(|started| started == name).unwrap();
        self.names[nth] = format!("{name} before");
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
}

/// What was refused is not recommended afterwards, neither by that node nor by the other.
#[test]
fn after_a_first_start_was_refused_nobody_is_told_to_say_it_again() {
    let mut stage = Stage::new();
    let short = ["--lease-max", "1s"];
    stage.keeping("c", &["--new", "--lease-max", "1s"]);
    stage.says("c", "granting leases");
    stage.end("c");
    // It was restarted, and may have known a leader.
    stage.keeping("c", &short);
    stage.keeping("a", &short);
    stage.says("a", "granting nothing for 1.0s, longer if another node has a larger lease-max, ");
    stage.says("a", "reading the fences of the others");
    stage.end("a");
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
}
