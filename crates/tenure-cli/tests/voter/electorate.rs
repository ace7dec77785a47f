//! Votes, as `tenure members` shows and changes them.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;
use tenure_testkit::processes::Answer;
use tenure_testkit::processes::wait::eventually;

use crate::network::{IDS, Network, end};

/// The states of all voters, by name.
fn states(network: &Network, list: &str) -> (Answer, Vec<(String, String)>) {
    let answer = network.machine.ask(&["members", "show", "--json", "--voter-list", list]);
    let shown: Value = serde_json::from_str(&answer.out).unwrap_or_default();
    let members = shown["members"].as_array().cloned().unwrap_or_default();
    let text = |member: &Value, key: &str| member[key].as_str().unwrap_or_default().to_owned();
    let all = members.iter().map(|member| (text(member, "name"), text(member, "state")));
    (answer, all.collect())
}

fn await_state(network: &Network, list: &str, name: &str, wanted: &[&str]) {
    eventually(&format!("{name} is {wanted:?}"), || {
        let (_, states) = states(network, list);
        let state = states.into_iter().find(|(id, _)| id == name);
        state.filter(|(_, state)| wanted.contains(&state.as_str()))
    });
}

const VOTES: [&str; 3] = ["leads", "follows", "waits"];

/// A fourth voter is known without a vote until it is added; a member that lost its directory is
/// removed and added; a removed voter stays known.
#[test]
fn voters_are_added_and_removed() {
    let network = Network::new();
    let list = network.list(3);
    let mut voters = network.listed(3);
    let (leader, _) = network.await_leader(0, 0);
    IDS[..3].iter().for_each(|id| await_state(&network, &list, id, &VOTES));

    voters.push(network.start(3, &["--voter-list", &list]));
    await_state(&network, &list, "d", &["no-vote"]);
    let change = |words: &[&str]| {
        network.machine.ask(&[&["members"], words, &["--voter-list", &*list]].concat())
    };
    let added = eventually("it has answered the leader", || {
        let added = change(&["add", "d"]);
        (added.code == Some(0)).then_some(added)
    });
    assert_eq!(added.out, "d added\n");
    await_state(&network, &list, "d", &VOTES);
    let told =
        |words: &[&str]| network.told(&[&["members"], words, &["--voter-list", &*list]].concat());
    let again = told(&["add", "d"]);
    assert_eq!(again.code, Some(6), "{}", again.err);
    let unknown = told(&["add", "nobody"]);
    assert_eq!(unknown.code, Some(6), "{}", unknown.err);
    let itself = told(&["remove", &leader]);
    assert_eq!(itself.code, Some(6), "{}", itself.err);
    assert!(itself.err.contains("make the leader resign first"), "{}", itself.err);

    // A follower loses its directory.
    let nth = IDS.iter().position(|id| *id != leader).unwrap();
    let lost = voters.remove(nth);
    lost.signal(Signal::KILL);
    let _ = lost.status();
    fs::remove_dir_all(network.machine.path(&format!("state-{}", IDS[nth]))).unwrap();
    let back = network.start(nth, &["--voter-list", &list]);
    back.line("its state directory was lost", 1);
    voters.insert(nth, back);
    let without = (IDS[nth].to_owned(), "no-vote".to_owned());
    eventually("it is removed", || match change(&["remove", IDS[nth]]).code {
        Some(0) => Some(()),
        // The first answer may have come too late: then the voter has no vote to remove.
        Some(6) => states(&network, &list).1.contains(&without).then_some(()),
        _ => None,
    });
    await_state(&network, &list, IDS[nth], &["no-vote"]);
    let added = eventually("it is added", || {
        // The other voters must know the new identity of the voter first.
        let added = change(&["add", IDS[nth]]);
        (added.code == Some(0)).then_some(added)
    });
    assert_eq!(added.out, format!("{} added\n", IDS[nth]));
    await_state(&network, &list, IDS[nth], &VOTES);
    let other = told(&["remove", IDS[nth], "--election", "another"]);
    assert_eq!(other.code, Some(2), "{}", other.err);
    await_state(&network, &list, IDS[nth], &VOTES);
    end(voters);
}

/// While the other voters hang, the leader makes no change.
#[test]
fn change_without_quorum_is_refused() {
    let network = Network::new();
    let list = network.list(3);
    let mut voters = network.listed(3);
    network.await_leader(0, 0);
    voters.push(network.start(3, &["--voter-list", &list]));
    await_state(&network, &list, "d", &["no-vote"]);
    let change = |what| network.machine.ask(&["members", what, "d", "--voter-list", &list]);
    eventually("it has answered the leader", || (change("add").code == Some(0)).then_some(()));
    await_state(&network, &list, "d", &VOTES);

    let (leader, _) = network.await_leader(0, 0);
    let others = || (0..4).filter(|nth| IDS[*nth] != leader).map(|nth| &voters[nth]);
    others().for_each(|voter| voter.signal(Signal::STOP));
    let refused = change("remove");
    others().for_each(|voter| voter.signal(Signal::CONT));
    assert!(matches!(refused.code, Some(4 | 6)), "{}", refused.err);
    await_state(&network, &list, "d", &VOTES);
    let removed = eventually("a quorum is back, and makes changes again", || {
        let (leader, _) = network.await_leader(0, 0);
        let other = IDS[..4].iter().find(|id| **id != leader)?;
        let removed = network.machine.ask(&["members", "remove", other, "--voter-list", &list]);
        (removed.code == Some(0)).then_some(other)
    });
    await_state(&network, &list, removed, &["no-vote"]);
    end(voters);
}
