//! Troubles with keys are reported, and stay in the status as long as they last.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::fleet::{Fleet, NODES};
use crate::until;

fn warned(fleet: &Fleet, process: &str) -> String {
    fleet.status(process)["warning"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn status_shows_unusable_key_file() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    fleet.start_runner("web", &billing);
    for process in ["a", "web"] {
        let file = fleet.file(process);
        assert_eq!(warned(&fleet, process), "");
        let told = "has changed, and line 1 is no key: a key is what tenure keys new";
        fs::write(&file, "hello\n").unwrap();
        until("it is in the status", || warned(&fleet, process).contains(told));
        assert!(warned(&fleet, process).contains("Correct the file; this process then reads"));
        fs::remove_file(&file).unwrap();
        until("another reason takes its place", || warned(&fleet, process).contains("os error 2"));
        fleet.give(&file, &[if process == "a" { &key } else { &billing }]);
        until("it is mended", || warned(&fleet, process).is_empty());
        // The file keeps good keys, so that its mode alone makes it unusable, and the right mode is
        // enough as a remedy.
        fs::set_permissions(&file, Permissions::from_mode(0o606)).unwrap();
        fs::write(&file, fs::read_to_string(&file).unwrap() + "\n").unwrap();
        until("others can read it", || warned(&fleet, process).contains("(mode 606)"));
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        until("it is mended", || warned(&fleet, process).is_empty());
        assert_eq!(fleet.log(process).matches("(mode 606)").count(), 1, "it is warned once");
    }
}

#[test]
fn status_shows_peer_with_wrong_key() {
    let mut fleet = Fleet::new();
    let (key, other) = (fleet.key("prod.key"), fleet.key("other.key"));
    fleet.start_node("a", &key);
    fleet.start_node("b", &key);
    // Node c has no memory, so it sends questions to the other nodes.
    fleet.start_node_again("c", &other);
    let told = |fleet: &Fleet| warned(fleet, "a").contains("c at 127.0.0.1:");
    until("a says who has another key", || told(&fleet));
    assert!(warned(&fleet, "a").contains("uses the key "), "{}", warned(&fleet, "a"));
    until("its log says so", || fleet.log("a").contains("c at 127.0.0.1:"));
    let said = fleet.log("a");
    let line = said.lines().find(|line| line.contains("c at 127.0.0.1:")).unwrap();
    assert!(line.contains("uses the key ") && line.contains("does not accept"), "{line}");
    assert!(fleet.runs("a") && fleet.runs("c"), "nobody ends because of it");
    fleet.give(&fleet.file("c"), &[&key]);
    until("c has the right one", || !told(&fleet));
}

/// The nodes look silent to the runner, and only they know the reason.
#[test]
fn unaccepted_key_points_to_node_logs() {
    let mut fleet = Fleet::new();
    let (key, other) = (fleet.key("prod.key"), fleet.key("other.key"));
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let of_other = fleet.issue(&other, "other.app.key");
    fleet.runner("web", &of_other, &[]);
    let told = [
        "web waits: no quorum: no answer from a, b, c; this process asks a at ",
        "; a node ignores a process whose key it does not accept, and names that process in its \
         log; a node without a key accepts no key",
    ];
    let says = || told.iter().all(|told| fleet.log("web").contains(told));
    until("it says what may be behind it", says);
    let logged = || NODES.iter().all(|node| fleet.log(node).contains("uses the key "));
    until("and so do the logs", logged);
    // The runner is no member, so it cannot report the users of keys.
    let refused = fleet.machine.ask(&["keys", "status", "--control", "web.sock"]);
    assert_eq!(refused.code, Some(6), "{refused:?}");
}

/// The unit runs member and candidate as one process, whose only socket is the runner's.
#[test]
fn runner_tells_keys_of_its_member() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    let [a, b, c] = NODES;
    [a, b].iter().for_each(|node| fleet.start_node(node, &key));
    let member = ["run", "--name", c, "--state", "state-c", "--new", "--key-file", &key];
    fleet.start(c, &[&member[..], &["--", "sleep", "600"]].concat());
    fleet.says(c, "runs as process");
    let told = fleet.keys(c);
    assert_eq!(told["node"], c, "{told}");
    assert!(!told["uses"].is_null() && told["peers"].is_array(), "{told}");
}

/// The runner's list exchanges the addresses of a and b, and both members run.
#[test]
fn both_sides_report_exchanged_members() {
    let mut fleet = Fleet::new();
    let key = fleet.key("prod.key");
    NODES.iter().for_each(|node| fleet.start_node(node, &key));
    let billing = fleet.issue(&key, "billing.key");
    let [a, b, c] = NODES.map(|node| {
        let (_, at) = fleet.addresses().iter().find(|(name, _)| *name == node).unwrap();
        at.to_string()
    });
    fleet.runner("web", &billing, &["--members", &format!("a={b},b={a},c={c}")]);
    let told = [
        format!(
            "warning: a answers at {a}, but `members` here has b at that address, and a at {b}. "
        ),
        format!(
            "warning: b answers at {b}, but `members` here has a at that address, and b at {a}. "
        ),
    ];
    until("the runner says who answers where", || {
        told.iter().all(|told| fleet.log("web").contains(told))
    });
    for (own, meant, at) in [("a", "b", &b), ("b", "a", &a)] {
        let told = format!(
            " sends to this node, {own}, a message for {meant}, but `members` here has \
                     {meant} at {at}"
        );
        until("a member says what is not for it", || {
            fleet.log(own).contains(&told) && warned(&fleet, own).contains(&told)
        });
        assert_eq!(fleet.log(own).matches(&told).count(), 1, "{}", fleet.log(own));
    }
    let status = warned(&fleet, "web");
    for told in told {
        assert!(status.contains(told.trim_start_matches("warning: ")), "{status}");
        assert_eq!(fleet.log("web").matches(&told).count(), 1, "{}", fleet.log("web"));
    }
}

/// The keys of nodes are exchanged first, then the keys of applications, one process after the
/// other.
#[test]
fn leader_is_verified_during_key_exchange() {
    let mut fleet = Fleet::new();
    let (old, new) = (fleet.key("old.key"), fleet.key("new.key"));
    NODES.iter().for_each(|node| fleet.start_node(node, &old));
    let (of_old, of_new) = (fleet.issue(&old, "old.app.key"), fleet.issue(&new, "new.app.key"));
    fleet.start_runner("web", &of_old);
    NODES.iter().for_each(|node| fleet.give(&fleet.file(node), &[&old, &new]));
    until("every node accepts both", || {
        NODES.iter().all(|node| fleet.keys(node)["accepts"].as_array().unwrap().len() == 2)
    });
    let verify = |fleet: &Fleet, key: &str| {
        let answer = fleet.ask(&["verify", "--key-file", key]);
        (answer.code, answer.err)
    };
    until("it is verified", || verify(&fleet, &of_old) == (Some(0), String::new()));
    let id = fleet.keys("a")["accepts"][1].as_str().unwrap().to_owned();
    let told = format!("also put {id} into the key file of web, below its own key");
    until("it is told what to do", || {
        let (code, said) = verify(&fleet, &of_new);
        code == Some(69) && said.contains(&told)
    });
    fleet.give(&fleet.file("web"), &[&of_old, &of_new]);
    until("it is verified with the new one", || verify(&fleet, &of_new).0 == Some(0));
    until("and with the old one", || verify(&fleet, &of_old).0 == Some(0));
    until("it is told what to do", || {
        let (code, said) = verify(&fleet, &old);
        code == Some(69) && said.contains("belongs to an application, use a key of that")
    });
}
