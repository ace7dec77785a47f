//! Troubles that operators see: a lost directory, different initial voters, another election,
//! another secret.

use std::fs;

use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Answer, Machine};

use crate::network::{Network, end};

fn members(network: &Network, list: &str) -> Answer {
    network.machine.ask(&["members", "show", "--voter-list", list])
}

/// The test moves a state directory away, and back.
#[test]
fn lost_directories_are_shown() {
    let network = Network::new();
    let list = network.list(1);
    let control = network.machine.path("a.sock").display().to_string();
    let voter = network.start(0, &["--voter-list", &list, "--control", &control]);
    network.await_leader(0, 0);
    let path = network.machine.path("state-a");
    let elsewhere = network.machine.path("elsewhere");
    let status = || network.machine.ask(&["node", "status", "--control", &control]).out;
    let is_failing = || members(&network, &list).out.contains("cannot write its state directory");
    fs::rename(&path, &elsewhere).unwrap();
    eventually("both show it", || {
        (is_failing() && status().contains("warning: state directory ")).then_some(())
    });
    fs::rename(&elsewhere, &path).unwrap();
    eventually("both show that it is back", || {
        (!is_failing() && status().contains("warning: null")).then_some(())
    });
    end(vec![voter]);
}

/// Two of three voters list one voter more than the third.
#[test]
fn different_voter_lists_are_reported() {
    let network = Network::new();
    let (two, three) = (network.list(2), network.list(3));
    let alone = network.start(0, &["--voter-list", &three]);
    let shown = eventually("it answers", || {
        let shown = members(&network, &two);
        shown.out.contains("a at").then_some(shown)
    });
    assert_eq!(shown.code, Some(4), "{}{}", shown.out, shown.err);
    assert!(shown.out.contains("has no vote yet: it begins with a, b, c"), "{}", shown.out);
    assert!(
        shown.err.contains(
            "the voters have not founded their network yet: all its first voters must run (a, b, c)"
        ),
        "{}",
        shown.err
    );
    let other = network.start(1, &["--voter-list", &two]);
    alone.line("refused by b: it begins with a, b, and a with a, b, c: give all voters", 1);
    other.line("refused by a: it begins with a, b, c, and b with a, b: give all voters", 1);
    eventually("both answer", || {
        let shown = members(&network, &two);
        assert_eq!(shown.code, Some(4), "{}{}", shown.out, shown.err);
        shown.err.contains("; a begins with a, b, c; b begins with a, b").then_some(())
    });
    end(vec![alone, other]);
}

/// Questions for another election, or with another secret, get an error with the remedy. Without a
/// secret anybody may ask for the leader, and change nothing.
#[test]
fn foreign_election_or_secret_is_refused() {
    let with = |secret| Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_SECRET", secret);
    let secret = "one secret of sixteen bytes and more";
    let network = Network::of(with(secret));
    let list = network.list(1);
    let voter = network.start(0, &["--voter-list", &list]);
    network.await_leader(0, 0);
    let other = network.told(&["leader", "--election", "another", "--voter-list", &list]);
    assert_eq!(other.code, Some(2), "{}{}", other.out, other.err);
    assert!(other.err.contains("elects a leader of billing in the mode majority"), "{}", other.err);
    assert!(other.err.contains("fix: ask for the election of these voters"), "{}", other.err);
    let wrong = Network::of(with("another secret of sixteen bytes"));
    let stranger = Network::of(Machine::new(env!("CARGO_BIN_EXE_tenure")));
    let leader = stranger.told(&["leader", "--voter-list", &list]);
    assert_eq!(leader.code, Some(0), "{}", leader.err);
    let fix = "fix: give --secret-file";
    for (asks, words, told) in [
        (&wrong, &["leader"][..], "carries no valid MAC"),
        (&wrong, &["members", "show"], fix),
        (&stranger, &["members", "remove", "a"], fix),
    ] {
        let answer = asks.told(&[words, &["--voter-list", &*list]].concat());
        assert_eq!(answer.code, Some(6), "{}{}", answer.out, answer.err);
        assert!(answer.err.contains(told) && answer.err.contains(fix), "{}", answer.err);
    }
    assert!(!voter.log().contains(secret));
    end(vec![voter]);
}
