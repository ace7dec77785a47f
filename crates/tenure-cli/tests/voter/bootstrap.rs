//! How voters find each other.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::network::{IDS, Network, end};

/// Each has the next one as its seed, so that nobody is told of all.
#[test]
fn five_voters_of_overlapping_seeds_elect() {
    let network = Network::new();
    let start = |nth: usize| {
        let seed = network.address((nth + 1) % 5);
        network.start(nth, &["--seed-host", &seed, "--expected-voters", "5"])
    };
    let voters: Vec<_> = (0..5).map(start).collect();
    let (leader, fence) = network.await_leader(0, 0);
    // All are of one mind.
    for nth in 1..5 {
        assert_eq!(network.await_leader(nth, fence - 1), (leader.clone(), fence));
    }
    end(voters);
}

/// Those that come first try lazily until the seed is there.
#[test]
fn a_seed_that_is_down_for_a_while_is_waited_for() {
    let network = Network::new();
    let seed = network.address(0);
    let more = ["--seed-host", &*seed, "--expected-voters", "3"];
    let mut voters: Vec<_> = (1..3).map(|nth| network.start(nth, &more)).collect();
    voters[0].line("cannot be used", 1);
    sleep(Duration::from_secs(2));
    let list = format!("b={}", network.url(1));
    let shown = network.told_of(&["members", "show", "--voter-list", &list], "b at ");
    assert!(network.leader(1).is_none(), "two of three are not all that were expected: {shown:?}");
    voters.push(network.start(0, &more));
    network.await_leader(0, 0);
    end(voters);
}

/// With `kill -9` of the leader another leads, with a higher fence; the first one comes back with
/// its directory, and is silent until its promises are over.
#[test]
fn a_leader_that_is_killed_is_replaced_and_comes_back() {
    let network = Network::new();
    let mut voters = network.listed(3);
    let (first, fence) = network.await_leader(0, 0);
    let nth = IDS.iter().position(|id| *id == first).unwrap();
    voters[nth].signal(Signal::KILL);
    let other = (nth + 1) % 3;
    let (_, later) = network.await_leader_but(&first, other, fence);
    voters[nth] = network.start(nth, &["--voter-list", &network.list(3)]);
    // It knows of the leader, and its directory was recognized.
    let (leader, _) = network.await_leader(nth, later - 1);
    assert!(IDS.contains(&&*leader));
    assert!(!voters[nth].log().contains("breach"), "{}", voters[nth].log());
    // One that stands still is replaced as well.
    let (third, fence) = network.await_leader(other, later - 1);
    let nth = IDS.iter().position(|id| *id == third).unwrap();
    voters[nth].signal(Signal::STOP);
    network.await_leader_but(&third, (nth + 1) % 3, fence);
    voters[nth].signal(Signal::CONT);
    end(voters);
}
