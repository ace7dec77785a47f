//! The first start of a cluster, without `--new`.

use std::fs;
use std::net::UdpSocket;

use tenure_testkit::processes::{Answer, Cluster, eventually};

use crate::stage::Stage;

/// The last machine is down at first. Each order of starts is a test of its own, and so runs in a
/// process of its own: a child that another thread forks would hold the socket of a silent member
/// for a moment.
mod members_found_in_order {
    use super::found;

    #[test]
    fn abc() {
        found(["a", "b", "c"]);
    }

    #[test]
    fn acb() {
        found(["a", "c", "b"]);
    }

    #[test]
    fn bac() {
        found(["b", "a", "c"]);
    }

    #[test]
    fn bca() {
        found(["b", "c", "a"]);
    }

    #[test]
    fn cab() {
        found(["c", "a", "b"]);
    }

    #[test]
    fn cba() {
        found(["c", "b", "a"]);
    }
}

/// The first two nodes say that they wait for the last node. Then all serve.
fn found([first, second, last]: [&'static str; 3]) {
    let settings = "election = \"billing\"\nlease = \"2s\"\ngrace = \"200ms\"\nlease-max = \"2s\"\n\
         round-trip = \"100ms\"";
    let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings);
    cluster.node(first, &[]);
    cluster.says(first, "has no stored state (lost, or never written), and asks the other members");
    cluster.node(second, &[]);
    for (node, other) in [(first, second), (second, first)] {
        cluster.says(node, &format!("{last} does not answer: start it"));
        cluster.says(node, &format!("{other} has no stored state either"));
        cluster.says(node, "founded when all members are there");
        assert_eq!(cluster.status(node)["service"], "recovering", "{}", cluster.log(node));
    }
    cluster.candidate("one", &[], &["sleep", "1000000"]);
    cluster.says("one", " waits: ");
    cluster.node(last, &[]);
    for node in [first, second, last] {
        eventually(&format!("{node} serves"), || {
            (cluster.status(node)["service"] == "serving").then_some(())
        });
    }
    cluster.says("one", "one leads billing, fence ");
}

/// The list of b has a wrong address of c. All nodes run, each names the two, and they found the
/// cluster once the list is right.
#[test]
fn wrong_address_is_named_by_all() {
    for sealed in [true, false] {
        let settings = "election = \"billing\"\nlease = \"2s\"\ngrace = \"200ms\"\n\
             lease-max = \"2s\"\nround-trip = \"100ms\"";
        let mut cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), ["a", "b", "c"], settings);
        let key: &[&str] = if sealed { &["--key-file", "own.key"] } else { &[] };
        if sealed {
            let made = cluster.machine.ask(&["keys", "new", "--out", "own.key"]);
            assert_eq!(made.code, Some(0), "{made:?}");
        }
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let wrong = format!("c={}", silent.local_addr().unwrap());
        let right = cluster.members().split(',').find(|at| at.starts_with("c=")).unwrap();
        let members = cluster.members().replace(right, &wrong);
        cluster.node("a", key);
        cluster.node("b", &[key, &["--members", &members]].concat());
        cluster.node("c", key);
        let on_b = "`members` on b, or mend the network between them";
        cluster.says("a", &format!("b has not heard from c: correct the address of c in {on_b}"));
        cluster.says("b", &format!("; this process asks {}", wrong.replace('=', " at ")));
        cluster.says(
            "c",
            if sealed {
                "b has not asked this node: correct the address of this node in `members` on b"
            } else {
                "b takes this node for a stranger: "
            },
        );
        let Answer { out, err, .. } = cluster.ask(&[&["leader"], key].concat());
        assert!(err.contains("read the logs of these nodes: "), "{out}{err}");
        cluster.kill("b");
        cluster.node("b", key);
        for node in ["a", "b", "c"] {
            eventually(&format!("{node} serves"), || {
                (cluster.status(node)["service"] == "serving").then_some(())
            });
        }
    }
}

/// The directory of c is lost, and a node with an empty directory takes the place of c.
fn lose(stage: &mut Stage) {
    stage.kill("c");
    fs::remove_dir_all(stage.path("state-c")).unwrap();
    stage.node("c", &[]);
}

/// In epoch 0 a lost directory is replaced as in every later epoch.
#[test]
fn operator_replaces_lost_founder() {
    let mut stage = Stage::founded("");
    lose(&mut stage);
    stage.says("c", "its setting replace is manual. Run `tenure members replace c`");
    assert_eq!(stage.change(&["replace", "c"]), "c replaced, in epoch 1\n");
    stage.serve(1, &["a", "b", "c"]);
    for node in ["a", "b", "c"] {
        let log = stage.log(node);
        assert!(!log.contains("another configuration"), "{node}: {log}");
    }
    // Nodes a and b ignored no datagram because of its epoch during the change.
    for node in ["a", "b"] {
        assert_eq!(stage.status(node)["ignored"].get("epoch"), None, "{}", stage.log(node));
    }
    // Without b, every quorum needs c.
    stage.stop("b");
    stage.renews();
}

/// Only a single member still has its memory. Only a quorum lets members in, so the commands advise
/// a recovery.
#[test]
fn commands_advise_recovery() {
    let mut stage = Stage::founded("");
    stage.kill("b");
    fs::remove_dir_all(stage.path("state-b")).unwrap();
    lose(&mut stage);
    stage.node("b", &[]);
    for node in ["b", "c"] {
        stage.says(node, "if too few members have kept their directories for a quorum, see");
    }
    let lost = "b, c wait to be let in. Only a quorum of epoch 0 lets nodes in";
    let fix = "run tenure node recover";
    let commands = [(&["members"][..], lost), (&["leader"], "b waits to be let in. Only")];
    for (command, what) in commands {
        let Answer { out, err, .. } = stage.ask(command);
        assert!(err.contains(what) && err.contains(fix), "{command:?}: {out}{err}");
        for other in ["another configuration", "members replace"] {
            assert!(!format!("{out}{err}").contains(other), "{command:?}: {out}{err}");
        }
    }
    let log = stage.log("a");
    assert!(!log.contains("another configuration"), "{log}");
}

#[test]
fn members_replace_lost_founder() {
    let mut stage = Stage::founded("replace = \"auto\"");
    lose(&mut stage);
    stage.says("c", "c has an empty directory, and waits to be let in");
    stage.serve(1, &["a", "b", "c"]);
    stage.leads_on();
}

/// All machines restart: each member finds the document in its directory, and waits for no other
/// member.
#[test]
fn founders_start_alone() {
    let mut stage = Stage::founded("");
    for node in ["a", "b", "c"] {
        stage.stop(node);
    }
    for node in ["c", "a"] {
        stage.node(node, &[]);
        eventually(&format!("{node} serves"), || {
            (stage.status(node)["service"] == "serving").then_some(())
        });
    }
    stage.renews();
}
