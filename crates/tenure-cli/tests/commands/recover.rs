//! Follows the runbook with real nodes, after more state directories were lost than the other
//! members can replace. Tries the refused commands on the way.

use std::fs;

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, wait};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// The runbook for operators.
const RUNBOOK: &str = include_str!("../../../../docs/howto/lost-quorum.md");

/// A cluster of three members, as on three machines, with no running process.
fn three() -> Cluster {
    let settings =
        "election = \"billing\"\nlease = \"10s\"\nlease-max = \"10s\"\ngrace = \"500ms\"";
    Cluster::new(env!("CARGO_BIN_EXE_tenure"), NAMES, settings)
}

/// Starts nodes, each with the same words at every start.
pub(crate) fn nodes(three: &mut Cluster, names: &[&str]) {
    names.iter().for_each(|name| three.node(name, &[]));
}

fn candidate(three: &mut Cluster, id: &str) {
    candidate_with(three, id, &[]);
}

pub(crate) fn candidate_with(three: &mut Cluster, id: &str, more: &[&str]) {
    three.candidate(id, more, &["sh", "-c", "echo works with $TENURE_FENCE; exec sleep 600"]);
}

pub(crate) fn lose(three: &Cluster, name: &str) {
    fs::remove_dir_all(three.path(&format!("state-{name}"))).unwrap();
}

/// The fence of the running CMD of `id`.
pub(crate) fn works(three: &Cluster, id: &str) -> u64 {
    let line = three[id].line("works with ", 1);
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

pub(crate) fn recover(three: &Cluster, name: &str, words: &[&str]) -> Answer {
    let state = format!("state-{name}");
    three.ask(&[&["node", "recover", "--name", name, "--state", &state], words].concat())
}

/// Checks that a recovery with these words is refused.
pub(crate) fn refused(three: &Cluster, name: &str, words: &[&str], code: i32, part: &str) {
    let answer = recover(three, name, words);
    assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
    assert!(answer.err.contains(part), "{part}: {}", answer.err);
    assert_eq!(answer.out, "");
}

/// Runs the printed command line for the member `name`, with its directory in place of DIR.
pub(crate) fn as_printed(three: &Cluster, printed: &str, name: &str) -> Answer {
    let start = format!("  tenure node recover --name {name} ");
    let line = printed.lines().find(|line| line.starts_with(&start)).expect(printed);
    let line = line.replace(" DIR", &format!(" state-{name}"));
    three.machine.ask(&line.split_whitespace().skip(1).collect::<Vec<_>>())
}

pub(crate) fn serve(three: &Cluster, names: &[&str]) {
    names.iter().for_each(|name| three.says(name, "granting leases"));
}

/// Checks that the runbook has this step.
pub(crate) fn step(number: u32, text: &str) {
    let line = format!("\n{number}. **{text}");
    assert!(RUNBOOK.contains(&line), "docs/howto/lost-quorum.md does not have {line:?}");
}

pub(crate) const WORD: &str = "--all-leaders-stopped";

#[test]
fn runbook_recovers_lost_directories() {
    let mut three = three();
    // A cluster without a founding document.
    NAMES.iter().for_each(|name| three.node(name, &["--new"]));
    candidate(&mut three, "one");
    serve(&three, &NAMES);
    let before = works(&three, "one");

    // The lost members a and b start again as usual, which changes nothing.
    for name in ["a", "b"] {
        three.stop(name);
        lose(&three, name);
    }
    nodes(&mut three, &["a", "b"]);
    for name in ["a", "b"] {
        three.says(name, "see docs/howto/lost-quorum.md");
    }
    let Answer { code, err, .. } = three.ask(&["node", "wait-safe", "--name", "a"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("run tenure node recover"), "{err}");
    let told = three.ask(&["node", "wait-safe", "--name", "a", "--json"]);
    assert!(told.out.contains("\"never\":true"), "{}{}", told.out, told.err);
    refused(&three, "c", &["--lost", "a,b", WORD], 74, "is in use by process");
    refused(&three, "a", &["--lost", "a,b", WORD], 74, "is in use by process");

    step(1, "Stop everything");
    ["one", "c", "b", "a"].iter().for_each(|name| three.stop(name));

    step(2, "Find the lost members");
    refused(&three, "a", &["--lost", "a", WORD], 2, "no recovery is needed");
    refused(&three, "a", &["--lost", "a,b"], 2, "with it you confirm");
    refused(&three, "c", &["--lost", "b,c", WORD], 74, "is not lost: it was started ");
    refused(&three, "a", &["--lost", "b,c", WORD], 74, "remembers nothing, and a is not among");

    step(3, "Recover the first one");
    let vain = ["node", "recover", "--name", "a", "--state", "vain", "--lost", "a,b", WORD];
    let early = three.ask(&vain);
    let first = "but the directories of c are not: they know the fences, and whether members were \
                 changed";
    assert!(early.code == Some(74) && early.err.contains(first), "{}", early.err);
    let low = ["--lost", "a,b", WORD, "--fence-floor", "7"];
    refused(&three, "c", &low, 74, "a fence floor of 7 is too low");
    let recovered = recover(&three, "c", &["--lost", "a,b", WORD]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    assert!(
        recovered.out.contains("Lost with a, b: the leases that they granted"),
        "{}",
        recovered.out
    );

    step(4, "Run what it prints");
    for name in ["a", "b"] {
        let answer = as_printed(&three, &recovered.out, name);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        assert!(answer.out.contains("is made anew"), "{}", answer.out);
        // A second run changes nothing.
        assert_eq!(as_printed(&three, &recovered.out, name).code, Some(0));
    }
    let again = recover(&three, "c", &["--lost", "a,b", WORD, "--json"]);
    let told: Value = serde_json::from_str(&again.out).unwrap();
    let floor = told["fences_before"].as_u64().unwrap();
    assert!(recovered.out.contains(&format!("--fence-floor {floor}")), "{told}");

    step(6, "Start all nodes, then the candidates");
    nodes(&mut three, &NAMES);
    candidate(&mut three, "two");
    serve(&three, &NAMES);
    let after = works(&three, "two");
    assert!(after > before && after > floor, "{before} {floor} {after}");
    let safe = three.ask(&["node", "wait-safe", "--name", "a", "--wait", "50s"]);
    assert_eq!(safe.code, Some(0), "{}", safe.err);
    for name in NAMES {
        let log = three.log(name);
        // Ignore warnings about a busy disk that writes slowly: no warning may concern the loss.
        let mut warnings = log.lines().filter(|line| line.starts_with("warning: "));
        let of_loss = |line: &str| ["memory", "lost", "fence"].iter().any(|of| line.contains(of));
        assert!(!warnings.any(of_loss), "{log}");
    }

    // The member has lost nothing since its recovery.
    three.stop("a");
    refused(&three, "a", &["--lost", "a,b", WORD], 74, "started 1 times");
}

/// A machine is gone for ever, and the other two have lost their directories: no member remembers,
/// and the cluster cannot be founded again without all members.
#[test]
fn cluster_recovers_without_a_machine() {
    let mut three = three();
    nodes(&mut three, &NAMES);
    candidate(&mut three, "one");
    let before = works(&three, "one");
    ["one", "c", "b", "a"].iter().for_each(|name| three.stop(name));
    NAMES.iter().for_each(|name| lose(&three, name));

    let lost = ["--lost", "a,b,c", WORD];
    let recovered = recover(&three, "a", &lost);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    assert!(recovered.err.contains("warning: all members are named as lost"), "{}", recovered.err);
    assert_eq!(as_printed(&three, &recovered.out, "b").code, Some(0));

    nodes(&mut three, &["a", "b"]);
    candidate(&mut three, "two");
    assert!(works(&three, "two") > before);
    // If the machine comes back after all, its member gets its memory from the other members.
    nodes(&mut three, &["c"]);
    serve(&three, &["c"]);
    wait::eventually("all serve", || {
        let safe = three.ask(&["node", "wait-safe", "--name", "c", "--wait", "20s"]);
        (safe.code == Some(0)).then_some(())
    });
}
