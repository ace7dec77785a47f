//! As many voters as the source has regions.

use rustix::process::Signal;
use tenure_testkit::processes::eventually;

use crate::network::{IDS, Network, end};

/// 25 processes that know only the first process elect a leader, and elect another after the leader
/// is killed.
pub(crate) fn many_voters_replace_killed_leader() {
    let network = Network::new();
    let (count, seed) = (IDS.len(), network.address(0));
    let expected = count.to_string();
    let more = ["--seed-host", &*seed, "--expected-voters", &*expected];
    let mut voters: Vec<_> = (0..count).map(|nth| network.start(nth, &more)).collect();
    let (first, fence) = network.await_leader(0, 0);
    // All voters agree.
    for nth in 1..count {
        assert_eq!(network.await_leader(nth, fence - 1), (first.clone(), fence), "voter {nth}");
    }
    let leader = IDS.iter().position(|id| *id == first).unwrap();
    let killed = voters.remove(leader);
    killed.signal(Signal::KILL);
    let _ = killed.status();
    let other = (leader + 1) % count;
    // The killed leader may have won once more before its end.
    eventually("another one leads", || {
        Some(network.await_leader(other, fence)).filter(|(id, _)| *id != first)
    });
    for voter in &voters {
        assert!(!voter.log().contains("breach"), "{}", voter.log());
    }
    end(voters);
}
