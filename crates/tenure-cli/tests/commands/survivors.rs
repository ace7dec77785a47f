//! Follows the runbook with real nodes, after members were changed and so many were lost that the
//! survivors are no quorum. Tries the refused commands on the way.

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, eventually};

use crate::recover::{
    WORD, as_printed, candidate_with, lose, nodes, recover, refused, serve, step, works,
};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A members list of these nodes.
fn list(four: &Cluster, names: &[&str]) -> String {
    let all = four.addresses().iter().filter(|(name, _)| names.contains(name));
    all.map(|(name, at)| format!("{name}={at}")).collect::<Vec<_>>().join(",")
}

/// Adds a node that has just started, of which the members may not have heard yet. A quorum of
/// `listed` runs.
fn add(four: &Cluster, name: &str, listed: &[&str]) -> String {
    let (new, listed) = (list(four, &[name]), list(four, listed));
    let answer = eventually(&format!("{name} is added"), || {
        let answer = four.ask(&["members", "add", &new, "--timeout", "40s", "--members", &listed]);
        (!answer.err.contains("asks to be let in")).then_some(answer)
    });
    assert_eq!(answer.code, Some(0), "{}{}", answer.out, answer.err);
    answer.out
}

/// Waits until these nodes are the members of this epoch, and all of them serve.
fn members_serve(four: &Cluster, epoch: u64, names: &[&str], more: &[&str]) {
    eventually(&format!("{names:?} serve in epoch {epoch}"), || {
        let answer = four.ask(&[&["members", "--json"], more].concat());
        let told: Value = serde_json::from_str(answer.out.lines().next()?).ok()?;
        let all = told["members"].as_array()?.iter();
        let serving = all.filter(|member| member["state"] == "serving");
        let serving: Vec<_> = serving.filter_map(|member| member["name"].as_str()).collect();
        (told["epoch"]["number"] == epoch && serving == names).then_some(())
    });
}

/// Members a and b of epoch 1 are lost; c and d are left.
fn refuses_wrong_words(four: &Cluster) {
    refused(four, "c", &["--lost", "a", WORD], 2, "a quorum of epoch 1 is left, b, c, d");
    refused(four, "c", &["--lost", "a,b"], 2, "with it you confirm");
    refused(four, "c", &["--lost", "a,b,c", WORD], 74, "is not lost: it is in epoch 1");
    refused(four, "c", &["--lost", "a,e", WORD], 2, "e is no member of epoch 1");
    refused(four, "c", &["--lost", "a,b", WORD, "--epoch", "2-7"], 74, "earlier than");
    refused(four, "c", &["--lost", "a,b", WORD, "--epoch", "0-7"], 74, "later than");
    let of_a = ["--lost", "b,c", WORD, "--epoch", "1-7"];
    refused(four, "a", &of_a, 74, "knows nothing of epoch 1");
    let other = ["--lost", "a,b", WORD, "--epoch", "1-7"];
    refused(four, "c", &other, 74, "as the first run printed them");
    let weights = ["--lost", "a,b", WORD, "--quorums", "weights:a=1,c=1"];
    refused(four, "c", &weights, 2, "that are left cannot form the next epoch");
}

/// Three members became four, two of which are lost.
#[test]
fn runbook_recovers_changed_members() {
    let settings = "election = \"billing\"\nlease = \"10s\"\nlease-max = \"10s\"\n\
                    round-trip = \"100ms\"\ngrace = \"500ms\"";
    let mut four = Cluster::new(env!("CARGO_BIN_EXE_tenure"), NAMES, settings);
    let first = list(&four, &["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        four.node(name, &["--new", "--members", &first]);
    }
    serve(&four, &["a", "b", "c"]);
    nodes(&mut four, &["d"]);
    assert_eq!(add(&four, "d", &["a", "b", "c"]), "d added, in epoch 1\n");
    members_serve(&four, 1, &NAMES, &[]);
    candidate_with(&mut four, "one", &[]);
    let before = works(&four, "one");
    refused(&four, "c", &["--lost", "a,b", WORD], 74, "is in use by process");

    // The lost members start again as usual, which changes nothing.
    for name in ["a", "b"] {
        four.stop(name);
        lose(&four, name);
    }
    nodes(&mut four, &["a", "b"]);
    let safe = ["node", "wait-safe", "--name", "c", "--wait", "50s", "--members", &first];
    let Answer { code, err, .. } = four.ask(&safe);
    let never = "a, b wait to be let in. Only a quorum of epoch 1 lets nodes in";
    assert!(code == Some(1) && err.contains(never), "{err}");
    assert!(err.contains("docs/howto/lost-quorum.md"), "{err}");

    step(1, "Stop everything");
    ["one", "d", "c", "b", "a"].iter().for_each(|name| four.stop(name));
    ["a", "b"].iter().for_each(|name| lose(&four, name));

    step(2, "Find the lost members");
    refuses_wrong_words(&four);

    step(3, "Recover the first one");
    let low = ["--lost", "a,b", WORD, "--fence-floor", "1"];
    refused(&four, "c", &low, 74, "a fence floor of 1 is too low");
    let recovered = recover(&four, "c", &["--lost", "a,b", WORD]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    let said = "is now in epoch 1000001, which follows epoch 1 and has the members c, d.";
    assert!(recovered.out.contains(said), "{}", recovered.out);

    step(4, "Run what it prints");
    let Answer { code, out, err } = as_printed(&four, &recovered.out, "d");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(said), "{out}");
    // The command line that d prints for c changes nothing at c, which was recovered first.
    let again = as_printed(&four, &out, "c");
    assert_eq!(again.code, Some(0), "{}", again.err);
    let again = recover(&four, "c", &["--lost", "a,b", WORD, "--json"]);
    let told: Value = serde_json::from_str(&again.out).unwrap();
    let floor = told["fences_before"].as_u64().unwrap();
    assert!(recovered.out.contains(&format!("--fence-floor {floor}")), "{told}");
    assert_eq!((&told["epoch"], &told["recovered_epoch"]), (&1_000_001.into(), &1.into()));

    step(5, "Correct `members`");
    let left = list(&four, &["c", "d"]);
    for name in ["c", "d"] {
        four.node(name, &["--members", &left]);
    }
    candidate_with(&mut four, "two", &["--members", &left]);
    let after = works(&four, "two");
    assert!(after > before && after > floor, "{before} {floor} {after}");
    members_serve(&four, 1_000_001, &["c", "d"], &["--members", &left]);

    step(7, "Add the lost members again");
    for (name, epoch) in [("a", 1_000_002), ("b", 1_000_003)] {
        nodes(&mut four, &[name]);
        assert_eq!(add(&four, name, &["c", "d"]), format!("{name} added, in epoch {epoch}\n"));
    }
    members_serve(&four, 1_000_003, &NAMES, &[]);
    assert_eq!(works(&four, "two"), after);
    four.stop("c");
    refused(&four, "c", &["--lost", "a,b", WORD, "--epoch", "1-7"], 74, "later than");
}

/// A member that was down during a change survives, and follows another member that is recovered.
#[test]
fn earlier_member_follows_recovered() {
    let settings = "election = \"billing\"\nlease = \"5s\"\nlease-max = \"5s\"\n\
                    round-trip = \"100ms\"\ngrace = \"500ms\"";
    let names = ["a", "b", "c", "d", "e"];
    let mut five = Cluster::new(env!("CARGO_BIN_EXE_tenure"), names, settings);
    let first = list(&five, &["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        five.node(name, &["--new", "--members", &first]);
    }
    serve(&five, &["a", "b", "c"]);
    nodes(&mut five, &["d"]);
    assert_eq!(add(&five, "d", &["a", "b", "c"]), "d added, in epoch 1\n");
    members_serve(&five, 1, &["a", "b", "c", "d"], &["--members", &first]);
    five.stop("c");
    nodes(&mut five, &["e"]);
    assert_eq!(add(&five, "e", &["a", "b", "c"]), "e added, in epoch 2\n");
    members_serve(&five, 2, &["a", "b", "d", "e"], &["--members", &first]);
    ["e", "d", "b", "a"].iter().for_each(|name| five.stop(name));
    ["a", "d", "e"].iter().for_each(|name| lose(&five, name));

    // The directory of a is empty, and only b and c know that members were changed.
    refused(
        &five,
        "a",
        &["--lost", "a,d,e", WORD],
        74,
        "but the directories of b, c are not: they know",
    );
    let all = recover(&five, "a", &["--lost", "a,b,c,d,e", WORD]);
    assert_eq!(all.code, Some(0), "{}", all.err);
    assert_eq!(as_printed(&five, &all.out, "d").code, Some(0));
    for name in ["b", "c"] {
        let begun = as_printed(&five, &all.out, name);
        let told = "delete each directory that the command has reported as made anew";
        assert!(begun.code == Some(74) && begun.err.contains(told), "{}", begun.err);
    }
    ["a", "d"].iter().for_each(|name| lose(&five, name));
    // Member c missed the change that added e.
    refused(&five, "c", &["--lost", "a,b,d", WORD], 2, "names e, but state directory");

    let recovered = recover(&five, "b", &["--lost", "a,d,e", WORD]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    let early = as_printed(&five, &recovered.out, "c");
    let told = "is in epoch 1, which is earlier than the recovered epoch 2";
    assert!(early.code == Some(74) && early.err.contains(told), "{}", early.err);
    let left = list(&five, &["b", "c"]);
    for name in ["b", "c"] {
        five.node(name, &["--members", &left]);
    }
    candidate_with(&mut five, "two", &["--members", &left]);
    works(&five, "two");
    members_serve(&five, 1_000_002, &["b", "c"], &["--members", &left]);
}
