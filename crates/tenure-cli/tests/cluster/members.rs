//! Members that are added, removed and replaced while a candidate leads.

use std::fs;

use serde_json::{Value, json};
use tenure_testkit::processes::eventually;

use crate::stage::Stage;

/// Three members become five. Then two of the first three are removed.
#[test]
fn leader_leads_on_while_members_change() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e"]);
    for (epoch, new) in [(1, "d"), (2, "e")] {
        stage.node(new, &[]);
        let said = stage.change(&["add", &stage.with_address(new)]);
        assert_eq!(said, format!("{new} added, in epoch {epoch}\n"));
        stage.leads_on();
    }
    stage.serve(2, &["a", "b", "c", "d", "e"]);
    for (epoch, gone) in [(3, "a"), (4, "b")] {
        let said = stage.change(&["remove", gone]);
        assert_eq!(said, format!("{gone} removed, in epoch {epoch}\n"));
        stage.says(gone, "this node is no member any more");
        let status = stage.status(gone);
        assert_eq!(status["service"], "removed");
        let warning = status["warning"].as_str().unwrap_or_default();
        assert!(warning.contains("is no member any more: epoch"), "{status}");
        assert!(warning.ends_with("[removed]"), "{status}");
        stage.stop(gone);
        stage.leads_on();
    }
    stage.serve(4, &["c", "d", "e"]);
    stage.renews();
    // A process learns all members from a single member.
    let first = stage.first_members();
    eventually("c names the others", || stage.leader(&["--members", &first]));
}

/// All three machines are lost in turn, and a node with the same name and an empty directory takes
/// the place of each. At first d is added and removed, because this cluster can replace a directory
/// only after a change of members.
#[test]
fn lost_directories_are_replaced() {
    let mut stage = Stage::new(["a", "b", "c", "d"]);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.change(&["remove", "d"]);
    stage.serve(2, &["a", "b", "c"]);
    stage.stop("d");
    stage.set(&format!(",{}", stage.with_address("d")), "");
    for (epoch, lost) in [(3, "c"), (4, "a"), (5, "b")] {
        stage.kill(lost);
        fs::remove_dir_all(stage.path(&format!("state-{lost}"))).unwrap();
        stage.node(lost, &[]);
        let waits = format!("its setting replace is manual. Run `tenure members replace {lost}`");
        stage.says(lost, &waits);
        let warning = stage.status(lost)["warning"].to_string();
        assert!(warning.contains(&waits), "{warning}");
        let said = stage.change(&["replace", lost, "--json"]);
        let told: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(told, json!({"name": lost, "change": "replaced", "epoch": epoch}));
        stage.serve(epoch, &["a", "b", "c"]);
        stage.leads_on();
    }
    stage.renews();
}

/// The members replace a lost directory without an operator, while the leader leads on.
#[test]
fn lost_directory_is_replaced_alone() {
    let more = "replace = \"auto\"\nlease-max = \"12s\"";
    let mut stage = Stage::with(["a", "b", "c", "d"], more);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.change(&["remove", "d"]);
    stage.serve(2, &["a", "b", "c"]);
    stage.kill("c");
    fs::remove_dir_all(stage.path("state-c")).unwrap();
    stage.node("c", &[]);
    for node in ["c", "a"] {
        stage.says(node, "c has an empty directory, and waits to be let in");
        stage.says(node, "the process with the earlier directory has been silent for");
    }
    stage.serve(3, &["a", "b", "c"]);
    stage.leads_on();
    // Without b, every quorum needs c. The removed d still names the members to commands.
    stage.stop("b");
    stage.renews();
}

/// A member moves: the other members look for the member at the address in the command, and its
/// grants from that address count.
#[test]
fn replaced_member_may_be_elsewhere() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e"]);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.serve(1, &["a", "b", "c", "d"]);
    stage.kill("d");
    // The settings list d at the address of e from now on.
    let moved = format!("d={}", stage.address("e"));
    stage.set(&format!(",{}", stage.with_address("e")), "");
    stage.set(&stage.with_address("d"), &moved);
    stage.start("e", &["node", "--name", "d", "--state", "state-e"]);
    let refused = stage.try_change(&["replace", "d"]);
    assert_eq!(refused.code, Some(6), "{}{}", refused.out, refused.err);
    let told = format!(
        "sends from {}, and does not answer at the host of the member d",
        stage.address("e")
    );
    assert!(refused.err.contains(&told), "{}", refused.err);
    let said = stage.change(&["replace", &moved]);
    assert_eq!(said, "d replaced, in epoch 2\n");
    stage.serve(2, &["a", "b", "c", "d"]);
    // Without c, every quorum needs d.
    stage.stop("c");
    stage.renews();
}

/// The list of the leader keeps the address that c has left.
#[test]
fn leader_finds_moved_member() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e"]);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.change(&["remove", "d"]);
    stage.serve(2, &["a", "b", "c"]);
    stage.stop("d");
    stage.kill("c");
    let moved = format!("c={}", stage.address("e"));
    for gone in ["d", "e"] {
        stage.set(&format!(",{}", stage.with_address(gone)), "");
    }
    stage.set(&stage.with_address("c"), &moved);
    stage.start("e", &["node", "--name", "c", "--state", "state-e"]);
    let said = stage.change(&["replace", &moved]);
    assert_eq!(said, "c replaced, in epoch 3\n");
    stage.serve(3, &["a", "b", "c"]);
    // Without a, every quorum needs c.
    stage.stop("a");
    stage.renews();
}

/// A member that is down during a change enters the new epoch when it comes back with its
/// directory.
#[test]
fn absent_member_follows() {
    let mut stage = Stage::new(["a", "b", "c", "d", "e"]);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.serve(1, &["a", "b", "c", "d"]);
    stage.stop("b");
    stage.node("e", &[]);
    stage.change(&["add", &stage.with_address("e")]);
    stage.leads_on();
    let first = stage.first_members();
    for _ in 0..2 {
        stage.node("b", &["--members", &first]);
        stage.serve(2, &["a", "b", "c", "d", "e"]);
        stage.leads_on();
        stage.stop("b");
    }
    // At its second start b used the members in its directory.
    let told = "its settings differ: `members` lacks d, e; correct the settings";
    assert!(stage.log("b").contains(told), "{}", stage.log("b"));
}

/// After the removal of b only a and c would be members, and only a runs. So the removal is
/// refused.
#[test]
fn change_needs_a_living_quorum() {
    let mut stage = Stage::new(["a", "b", "c", "d"]);
    stage.node("d", &[]);
    stage.change(&["add", &stage.with_address("d")]);
    stage.change(&["remove", "d"]);
    stage.serve(2, &["a", "b", "c"]);
    stage.stop("c");
    let refused = stage.try_change(&["remove", "b"]);
    assert_eq!(refused.code, Some(6), "{}{}", refused.out, refused.err);
    let told = "too few of the new members are ready for a quorum (c";
    assert!(refused.err.contains(told), "{}", refused.err);
    stage.leads_on();
    stage.node("c", &[]);
    stage.serve(2, &["a", "b", "c"]);
    let removed = stage.try_change(&["remove", "b"]);
    assert_eq!((removed.code, &*removed.out), (Some(0), "b removed, in epoch 3\n"));
    let needs = "each quorum needs a, c: when one of them stops, nobody leads";
    assert!(removed.err.starts_with(&format!("warning: {needs}; ")), "{}", removed.err);
    stage.serve(3, &["a", "c"]);
    stage.leads_on();
    let list = format!("{},{}", stage.with_address("a"), stage.with_address("b"));
    let told = stage.ask(&["doctor", "--members", &list]).out;
    let line = |begin: &str| told.lines().any(|line| line.starts_with(begin));
    let quorum = format!("warning  quorum: enough members answer for an election, but {needs}");
    assert!(line(&quorum), "{told}");
    assert!(line("warning  members: the members list here lacks members of epoch 3: c"), "{told}");
    assert!(line("warning  member: b at "), "{told}");
}
