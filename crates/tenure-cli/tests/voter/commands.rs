//! The commands on voters.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use rustix::process::Signal;
use tenure_testkit::processes::{Machine, eventually};

use crate::network::{IDS, Network, SHORT, end};

/// CMD gets its fence, observers hear of each change, and after an ordered resignation another
/// voter leads.
#[test]
fn observers_see_the_next_leader() {
    let network = Network::new();
    let list = network.list(3);
    let observer = network.machine.start("observer", &["observe", "--voter-list", &list]);
    let voters = network.listed(3);
    let (first, fence) = network.await_leader(0, 0);
    let nth = IDS.iter().position(|id| *id == first).unwrap();
    voters[nth].line(&format!("fence <{fence}> end <known>"), 1);
    observer.line(&format!("leader {first}"), 1);
    eventually("it resigns", || (network.machine.ask(&["resign"]).code == Some(0)).then_some(()));
    let (second, later) = network.await_leader(0, fence);
    assert!(later > fence);
    observer.line(&format!("leader {second}"), 1);
    observer.signal(Signal::TERM);
    assert_eq!(observer.ended(), Some(143));
    end(voters);
}

/// Without an answering voter the leader is unknown, with the reason.
#[test]
fn silent_voters_leave_leader_unknown() {
    let network = Network::new();
    let list = network.list(1);
    let unknown = network.machine.ask(&["leader", "--voter-list", &list]);
    assert_eq!(unknown.code, Some(4), "{}", unknown.err);
    assert!(unknown.err.contains("cannot be used: "), "{}", unknown.err);
    assert!(unknown.err.contains("fix: check that voters run there"), "{}", unknown.err);
}

/// A list may name a web server, with or without a secret.
#[test]
fn foreign_servers_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    let machine = || Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let secret = machine().with("TENURE_SECRET", "one secret of sixteen bytes and more");
    let list = format!("a={url}");
    for network in [machine(), secret].map(Network::of) {
        for words in [&["leader"][..], &["members", "show"]] {
            let unknown = network.machine.ask(&[words, &["--voter-list", &*list]].concat());
            assert_eq!(unknown.code, Some(4), "{}", unknown.err);
            for part in [&*url, "it answers HTTP with 404 Not Found, but is no voter of Tenure"] {
                assert!(unknown.err.contains(part), "{part}: {}", unknown.err);
            }
        }
    }
}

/// A lone voter of three knows of no leader, and does not claim that there is none.
#[test]
fn lone_voter_denies_no_leader() {
    let network = Network::new();
    let list = network.list(3);
    let voter = network.start(0, &["--voter-list", &list]);
    voter.line("cannot be used", 1);
    let unknown = network.machine.ask(&["leader", "--voter-list", &list]);
    assert_eq!(unknown.code, Some(4), "{}{}", unknown.out, unknown.err);
    end(vec![voter]);
}

/// In `available` CMD has neither a fence nor an end, and the last voter leads alone.
#[test]
fn lone_available_voter_leads_without_fence() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_MODE", "available");
    let network = Network::of(machine);
    let voters = network.listed(2);
    let lead = |nth: usize| {
        eventually("somebody leads", || {
            let view = network.leader(nth)?;
            assert!(view["fence"].is_null(), "{view}");
            assert!(view.get("remaining_ms").is_none(), "{view}");
            view["id"].as_str().map(str::to_owned)
        })
    };
    let first = lead(0);
    let nth = IDS.iter().position(|id| *id == first).unwrap();
    voters[nth].line("fence <none> end <none>", 1);
    voters[nth].signal(Signal::KILL);
    voters[1 - nth].line("fence <none> end <none>", 1);
    // An asker for a leader with a fence hears that this mode has none.
    let list = network.list(2);
    let other = network.told(&["leader", "--mode", "majority", "--voter-list", &list]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    assert!(other.err.contains("in the mode available"), "{}", other.err);
}

/// Derived values are shown: L, the part of it that counts, and the bound of a failover.
#[test]
fn lease_and_bounds_are_shown() {
    let network = Network::new().keeping(SHORT);
    let list = network.list(3);
    let words = network.words(0, &["--voter-list", &list, "--show-settings"]);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let shown = network.machine.ask(&words);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for (name, value) in
        [("(lease)", "3s 507ms"), ("(lease counted)", "3s 500ms"), ("(failover)", "5s 518ms")]
    {
        let line = shown.out.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        assert!(line.contains(value), "{name} {value}: {line}");
    }
    let at = words.iter().position(|word| *word == "--").unwrap();
    let available = [&words[..at], &["--mode", "available"], &words[at..]].concat();
    let shown = network.machine.ask(&available);
    assert!(!shown.out.contains("(lease)") && shown.out.contains("(failover)"), "{}", shown.out);
}
