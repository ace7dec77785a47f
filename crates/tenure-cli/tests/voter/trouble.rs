//! What an operator is told when something is wrong: a directory that is gone or used twice, voters
//! that begin with others, another election, another secret.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Answer, Machine};

use crate::network::{IDS, Network, end};

fn members(network: &Network, list: &str) -> Answer {
    network.machine.ask(&["members", "show", "--voter-list", list])
}

/// The directory of a follower is moved away while nothing is written, and put back.
#[test]
fn a_directory_that_is_gone_is_told_and_one_that_is_back_is_used() {
    let network = Network::new();
    let list = network.list(3);
    let sockets: Vec<_> =
        IDS[..3].iter().map(|id| network.machine.path(&format!("{id}.sock"))).collect();
    let start = |nth: usize| {
        let socket = sockets[nth].display().to_string();
        network.start(nth, &["--voter-list", &list, "--control", &socket])
    };
    let voters: Vec<_> = (0..3).map(start).collect();
    let (leader, fence) = network.await_leader(0, 0);
    let nth = (0..3).find(|nth| IDS[*nth] != leader).unwrap();
    let path = network.machine.path(&format!("state-{}", IDS[nth]));
    let elsewhere = network.machine.path("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    let told = voters[nth].line(" is lost: ", 1);
    assert!(told.contains("start this node again: without it that is another voter"), "{told}");
    assert!(!told.contains("--new"), "{told}");
    let shown = eventually("others are told", || {
        let shown = members(&network, &list);
        let all = shown.code == Some(0);
        (all && shown.out.contains("cannot write its state directory")).then_some(shown)
    });
    let line = shown.out.lines().find(|line| line.contains("cannot write")).unwrap();
    assert!(line.starts_with(&format!("{} at ", IDS[nth])), "{line}");
    let control = sockets[nth].display().to_string();
    let status = network.machine.ask(&["node", "status", "--control", &control]);
    assert!(status.out.contains("warning: state directory "), "{}", status.out);
    fs::rename(&elsewhere, &path).unwrap();
    voters[nth].line("the state directory can be written again", 1);
    eventually("others are told", || {
        (!members(&network, &list).out.contains("cannot write")).then_some(())
    });
    let status = network.machine.ask(&["node", "status", "--control", &control]);
    assert!(status.out.contains("warning: null"), "{}", status.out);
    network.await_leader(0, fence - 1);
    let log = voters[nth].log();
    let warned = log.lines().filter(|line| line.starts_with("warning: state directory"));
    assert_eq!(warned.count(), 1, "once, not each second: {log}");
    end(voters);
}

/// A copy of a directory is used beside it, and another process has the id with a directory of its
/// own.
#[test]
fn two_processes_of_one_id_are_told_apart() {
    let network = Network::new();
    let list = network.list(3);
    let voters = network.listed(3);
    network.await_leader(0, 0);
    let begin = |name: &str, nth: usize| {
        let (listen, state) = (network.address(nth), network.machine.path(name));
        let words = network.words(1, &["--voter-list", &list]);
        let mut words: Vec<_> = words.iter().map(String::as_str).collect();
        let state = state.display().to_string();
        let control = network.machine.path(&format!("{name}.sock")).display().to_string();
        for (flag, value) in [("--listen", &*listen), ("--state", &*state)] {
            let at = words.iter().position(|word| *word == flag).unwrap();
            words[at + 1] = value;
        }
        let at = words.iter().position(|word| *word == "--").unwrap();
        words.splice(at..at, ["--control", &*control]);
        network.machine.start(name, &words)
    };
    let other = begin("other", 3);
    let url = network.url(1);
    other.line(&format!("another process, at {url}, has the id b and its vote"), 1);
    other.signal(Signal::TERM);
    assert_eq!(other.ended(), Some(143));
    let (of, copy) = (network.machine.path("state-b"), network.machine.path("copy"));
    let copied = Command::new("cp").arg("-r").args([&of, &copy]).status().unwrap();
    assert!(copied.success());
    let copy = begin("copy", 4);
    for voter in voters.iter().chain([&copy]) {
        voter.line("two processes with one --voter-id", 1);
    }
    copy.signal(Signal::KILL);
    let _ = copy.status();
    end(voters);
}

/// Two of them list one more than the other.
#[test]
fn voters_that_begin_with_others_are_told_whose_list_differs() {
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
        shown.err.contains("the network is not founded: it begins with a, b, c"),
        "{}",
        shown.err
    );
    let other = network.start(1, &["--voter-list", &two]);
    alone.line("refused by b: it begins with a, b, and a with a, b, c: give all the same list", 1);
    other.line("refused by a: it begins with a, b, c, and b with a, b: give all the same list", 1);
    eventually("both answer", || {
        let shown = members(&network, &two);
        assert_eq!(shown.code, Some(4), "{}{}", shown.out, shown.err);
        shown.err.contains("; a begins with a, b, c; b begins with a, b").then_some(())
    });
    end(vec![alone, other]);
}

/// Those that ask for another election, or with another secret, are told that, and what to give.
/// Without any one may ask who leads, and change nothing.
#[test]
fn who_asks_another_network_or_by_another_secret_is_told() {
    let with = |secret| Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_SECRET", secret);
    let secret = "one secret of sixteen bytes and more";
    let network = Network::of(with(secret));
    let list = network.list(1);
    let voter = network.start(0, &["--voter-list", &list]);
    network.await_leader(0, 0);
    let other = network.told(&["leader", "--election", "another", "--voter-list", &list]);
    assert_eq!(other.code, Some(2), "{}{}", other.out, other.err);
    assert!(other.err.contains("elects a leader of billing in the mode majority"), "{}", other.err);
    assert!(other.err.contains("fix: ask for that election"), "{}", other.err);
    let wrong = Network::of(with("another secret of sixteen bytes"));
    let stranger = Network::of(Machine::new(env!("CARGO_BIN_EXE_tenure")));
    let leader = stranger.told(&["leader", "--voter-list", &list]);
    assert_eq!(leader.code, Some(0), "{}", leader.err);
    let fix = "fix: give --secret-file";
    for (asks, words, told) in [
        (&wrong, &["leader"][..], "has no right MAC"),
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
