//! `tenure election start`, and voters behind one shared address.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::Machine;
use tenure_testkit::processes::wait::eventually;

use crate::network::{IDS, Network, SHORT, end};

const SECRET: &str = "one secret of sixteen bytes and more";

fn with(secret: &str) -> Network {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure")).with("TENURE_SECRET", secret);
    Network::of(machine).keeping(SHORT)
}

/// The leader obeys an operator with the secret, and no other caller; another voter is elected. A
/// former leader is then removed, and gets neither its vote nor a leadership back.
#[test]
fn leader_gives_way_to_an_election() {
    let network = with(SECRET);
    let list = network.list(3);
    let voters = network.listed(3);
    let (_, fence) = network.await_leader(0, 0);
    let start = ["election", "start", "--voter-list", &list];
    let stranger = Network::of(Machine::new(env!("CARGO_BIN_EXE_tenure")));
    for asks in [&with("another secret of sixteen bytes"), &stranger] {
        let denied = asks.told(&start);
        assert_eq!(denied.code, Some(6), "{}{}", denied.out, denied.err);
        assert!(denied.err.contains("fix: give --secret-file"), "{}", denied.err);
    }
    let other = network.told(&[&start[..], &["--election", "another"]].concat());
    assert_eq!(other.code, Some(2), "{}{}", other.out, other.err);

    let gives_way = || {
        let asked = network.machine.ask(&[&start[..], &["--json"]].concat());
        let told: Value = serde_json::from_str(&asked.out).ok()?;
        assert_eq!((asked.code, told["election"].as_str()), (Some(0), Some("billing")));
        (told["gives_way"] == true).then(|| told["id"].as_str().unwrap().to_owned())
    };
    // The runner of the former leader may win again.
    let (mut before, mut above) = (eventually("the leader obeys", gives_way), fence);
    let (leader, fence) = eventually("another one leads", || {
        let (leader, fence) = network.await_leader(0, above);
        if leader != before {
            return Some((leader, fence));
        }
        above = fence;
        before = gives_way().unwrap_or(leader);
        None
    });
    assert!(fence > above);

    let remove = ["members", "remove", &before, "--voter-list", &list];
    let has_no_vote = || {
        let shown = network.machine.ask(&["members", "--voter-list", &list]).out;
        let mut own = shown.lines().filter(|line| line.starts_with(&format!("{before} at ")));
        own.any(|line| line.ends_with(" has no vote"))
    };
    eventually("it is removed", || {
        let removed = network.machine.ask(&remove);
        // The answer to an earlier request may have come too late.
        (removed.out == format!("{before} removed\n") || has_no_vote()).then_some(())
    });
    eventually("the leader obeys again", gives_way);
    let (next, _) = network.await_leader(0, fence);
    assert_ne!(next, before, "after {leader}");
    eventually("it still has no vote", || has_no_vote().then_some(()));
    end(voters);
}

/// A lone voter of three starts no election: at first the network is not founded, and later the
/// other voters are gone. The command gives the reason each time.
#[test]
fn lone_voter_starts_no_election() {
    let network = Network::new().keeping(SHORT);
    let list = network.list(3);
    let start = ["election", "start", "--voter-list", &list];
    let alone = network.start(0, &["--voter-list", &list]);
    eventually("it says what it waits for", || {
        let asked = network.machine.ask(&start);
        assert_eq!(asked.code, Some(4), "{}{}", asked.out, asked.err);
        asked.err.contains("have not founded their network").then_some(())
    });
    let mut voters = vec![alone];
    voters.extend((1..3).map(|nth| network.start(nth, &["--voter-list", &list])));
    let (leader, fence) = network.await_leader(0, 0);
    let others = || (0..3).filter(|nth| IDS[*nth] != leader).map(|nth| &voters[nth]);
    others().for_each(|voter| voter.signal(Signal::STOP));
    let few = "1 of 3 voters answer and can vote, and an election needs 2";
    eventually("its lease is over", || {
        let asked = network.machine.ask(&start);
        (asked.code == Some(4) && asked.err.contains(few)).then_some(())
    });
    others().for_each(|voter| voter.signal(Signal::CONT));
    network.await_leader(0, fence);
    end(voters);
}

/// The leader has a vote: adding it is refused at once.
#[test]
fn leader_is_not_added_again() {
    let network = Network::new().keeping(SHORT);
    let list = network.list(2);
    let voters = network.listed(2);
    eventually("it is refused", || {
        let (leader, _) = network.await_leader(0, 0);
        // The leader may change meanwhile.
        let add = ["members", "add", &leader, "--voter-list", &list];
        let added = network.machine.ask(&add);
        assert!(!added.err.contains("no such voter is known"), "{}", added.err);
        let has_vote = added.err.contains("it has a vote already\n");
        (added.code == Some(6) && has_vote && added.err.contains("fix: do nothing")).then_some(())
    });
    end(voters);
}

/// An address that passes each connection to the next of these addresses, for the life of the
/// test's process.
fn balanced(all: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    };
    thread::spawn(move || {
        let mut turns = all.iter().cycle();
        for near in listener.incoming().map_while(Result::ok) {
            let Some(Ok(far)) = turns.next().map(TcpStream::connect) else { continue };
            let (Ok(back), Ok(there)) = (near.try_clone(), far.try_clone()) else { continue };
            pass(near, there);
            pass(far, back);
        }
    });
    address
}

/// Three voters and all commands know only one address, which leads to each voter in turn.
#[test]
fn voters_behind_one_address_elect() {
    let network = with(SECRET);
    let address = balanced((0..3).map(|nth| network.address(nth)).collect());
    let seed = ["--seed-host", &*address];
    let more = [&seed[..], &["--expected-voters", "3"]].concat();
    let voters: Vec<_> = (0..3).map(|nth| network.start(nth, &more)).collect();
    let (_, fence) = network.await_leader(0, 0);
    let by_seed = |words: &[&str]| network.told(&[words, &seed].concat());
    let shown = by_seed(&["members"]);
    let names: BTreeSet<_> = shown.out.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, BTreeSet::from(["a", "b", "c"]), "{}{}", shown.out, shown.err);
    eventually("the leader obeys", || {
        let started = by_seed(&["election", "start"]);
        started.out.contains(" gives way in ").then_some(())
    });
    network.await_leader(0, fence);
    end(voters);
}

/// By mistake all voters give the shared address as their own: each names the cause.
#[test]
fn shared_voter_url_is_named() {
    let network = with(SECRET);
    let address = balanced((0..3).map(|nth| network.address(nth)).collect());
    let url = format!("http://{address}");
    let shared = ["--seed-host", &*address, "--expected-voters", "3", "--voter-url", &url];
    let voters: Vec<_> = (0..3).map(|nth| network.start(nth, &shared)).collect();
    for voter in &voters {
        let told = voter.line(&format!(" both give {url} as their voter-url: "), 1);
        assert!(told.contains("give each voter a URL that leads to this voter alone"), "{told}");
    }
    voters.iter().for_each(|voter| voter.signal(Signal::TERM));
    for voter in voters {
        voter.ended();
    }
}
