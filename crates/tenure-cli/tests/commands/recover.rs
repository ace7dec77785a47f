//! More state directories are lost than the others make up for: the runbook, followed step by step
//! with real nodes, and what is refused on the way.

use std::fs;
use std::ops::{Deref, DerefMut};

use serde_json::Value;
use tenure_testkit::processes::{Answer, Cluster, wait};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// What operators read.
const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// Three machines in one, and what runs there.
struct Three(Cluster);

impl Deref for Three {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl DerefMut for Three {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0
    }
}

impl Three {
    fn new() -> Self {
        let settings =
            "election = \"billing\"\nlease = \"10s\"\nlease-max = \"10s\"\ngrace = \"500ms\"";
        Self(Cluster::new(env!("CARGO_BIN_EXE_tenure"), NAMES, settings))
    }

    /// Starts nodes, each with the same words at every start.
    fn nodes(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.node(name, &[]));
    }

    fn candidate(&mut self, id: &str) {
        let work = ["sh", "-c", "echo works with $TENURE_FENCE; exec sleep 600"];
        self.0.candidate(id, &[], &work);
    }

    fn lose(&self, name: &str) {
        fs::remove_dir_all(self.path(&format!("state-{name}"))).unwrap();
    }

    /// With which fence CMD of `id` runs.
    fn works(&self, id: &str) -> u64 {
        let line = self[id].line("works with ", 1);
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// `tenure node recover` for `name`, with these words.
    fn recover(&self, name: &str, words: &[&str]) -> Answer {
        let state = format!("state-{name}");
        self.ask(&[&["node", "recover", "--name", name, "--state", &state], words].concat())
    }

    /// The same is refused.
    fn refused(&self, name: &str, words: &[&str], code: i32, part: &str) {
        let answer = self.recover(name, words);
        assert_eq!(answer.code, Some(code), "{}{}", answer.out, answer.err);
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
        assert_eq!(answer.out, "");
    }

    /// What was printed for the member `name`, with its directory in place of DIR.
    fn as_printed(&self, printed: &str, name: &str) -> Answer {
        let start = format!("  tenure node recover --name {name} ");
        let line = printed.lines().find(|line| line.starts_with(&start)).expect(printed);
        let words: Vec<_> = line.split_whitespace().skip(1).collect();
        let state = format!("state-{name}");
        let words: Vec<_> =
            words.iter().map(|word| if *word == "DIR" { state.as_str() } else { word }).collect();
        self.machine.ask(&words)
    }

    fn serve(&self, names: &[&str]) {
        names.iter().for_each(|name| self.says(name, "granting leases"));
    }
}

/// The runbook has this as its step of this number.
fn step(number: u32, text: &str) {
    let (_, section) = OPERATIONS.split_once("\n## Too many lost directories\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let line = format!("\n{number}. {text}");
    assert!(section.contains(&line), "docs/operations.md does not have {line:?}");
}

const WORD: &str = "--all-leaders-stopped";

#[test]
fn the_runbook_for_too_many_lost_directories() {
    let mut three = Three::new();
    three.nodes(&NAMES);
    three.candidate("one");
    three.serve(&NAMES);
    let before = three.works("one");

    // a and b are lost, and start again as always: that mends nothing.
    for name in ["a", "b"] {
        three.stop(name);
        three.lose(name);
    }
    three.nodes(&["a", "b"]);
    three.says("a", "see \"Too many lost directories\" in docs/operations.md");
    let Answer { code, err, .. } = three.ask(&["node", "wait-safe", "--name", "a"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("run tenure node recover"), "{err}");
    let told = three.ask(&["node", "wait-safe", "--name", "a", "--json"]);
    assert!(told.out.contains("\"never\":true"), "{}{}", told.out, told.err);
    three.refused("c", &["--lost", "a,b", WORD], 74, "is in use by process");
    three.refused("a", &["--lost", "a,b", WORD], 74, "is in use by process");

    step(1, "Stop all candidates and all nodes");
    ["one", "c", "b", "a"].iter().for_each(|name| three.stop(name));

    step(2, "Find out which members are lost");
    three.refused("a", &["--lost", "a", WORD], 2, "nothing is to be recovered");
    three.refused("a", &["--lost", "a,b"], 2, "it is your word");
    three.refused("c", &["--lost", "b,c", WORD], 74, "is not lost: it holds the memory");
    three.refused("a", &["--lost", "b,c", WORD], 74, "remembers nothing, and a is not among");

    step(3, "Run `tenure node recover` on one of the machines whose directory is whole");
    let low = ["--lost", "a,b", WORD, "--fence-floor", "7"];
    three.refused("c", &low, 74, "a fence floor of 7 is too low");
    let recovered = three.recover("c", &["--lost", "a,b", WORD]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    assert!(recovered.out.contains("Lost with a, b: whom they granted"), "{}", recovered.out);

    step(4, "Run what it prints for the others");
    for name in ["a", "b"] {
        let answer = three.as_printed(&recovered.out, name);
        assert_eq!(answer.code, Some(0), "{}", answer.err);
        assert!(answer.out.contains("holds a new memory"), "{}", answer.out);
        // The same again does no harm.
        assert_eq!(three.as_printed(&recovered.out, name).code, Some(0));
    }
    let again = three.recover("c", &["--lost", "a,b", WORD, "--json"]);
    let told: Value = serde_json::from_str(&again.out).unwrap();
    let floor = told["fences_before"].as_u64().unwrap();
    assert!(recovered.out.contains(&format!("--fence-floor {floor}")), "{told}");

    step(5, "Start all nodes, then the candidates");
    three.nodes(&NAMES);
    three.candidate("two");
    three.serve(&NAMES);
    let after = three.works("two");
    assert!(after > before && after > floor, "{before} {floor} {after}");
    let safe = three.ask(&["node", "wait-safe", "--name", "a", "--wait", "50s"]);
    assert_eq!(safe.code, Some(0), "{}", safe.err);
    for name in NAMES {
        let log = three.log(name);
        // A busy disk may take long for what is written; nothing is said of what was lost.
        let mut warnings = log.lines().filter(|line| line.starts_with("warning: "));
        let of_loss = |line: &str| ["memory", "lost", "fence"].iter().any(|of| line.contains(of));
        assert!(!warnings.any(of_loss), "{log}");
    }

    // It has lost nothing since.
    three.stop("a");
    three.refused("a", &["--lost", "a,b", WORD], 74, "started 1 times");
}

/// One machine is gone for ever, and the other two have lost their directories: nobody remembers,
/// and the cluster cannot be founded anew, as that takes all.
#[test]
fn a_cluster_of_which_a_machine_never_comes_back() {
    let mut three = Three::new();
    three.nodes(&NAMES);
    three.candidate("one");
    let before = three.works("one");
    ["one", "c", "b", "a"].iter().for_each(|name| three.stop(name));
    NAMES.iter().for_each(|name| three.lose(name));

    let lost = ["--lost", "a,b,c", WORD];
    let recovered = three.recover("a", &lost);
    assert_eq!(recovered.code, Some(0), "{}", recovered.err);
    assert!(recovered.err.contains("warning: all members are named as lost"), "{}", recovered.err);
    assert_eq!(three.as_printed(&recovered.out, "b").code, Some(0));

    three.nodes(&["a", "b"]);
    three.candidate("two");
    assert!(three.works("two") > before);
    // Should it come back all the same, it reads from the two.
    three.nodes(&["c"]);
    three.serve(&["c"]);
    wait::eventually("all serve", || {
        let safe = three.ask(&["node", "wait-safe", "--name", "c", "--wait", "20s"]);
        (safe.code == Some(0)).then_some(())
    });
}
