//! The founding, and processes outside of it (V2, V10).

use tenure_core::Input;
use tenure_core::voter::{
    Answer, Ask, Breach, Caller, Config, Event, Founding, Identity, Memory, Message, OwnEvent,
    Peer, Refusal, VoterUrl,
};

use crate::condition::waits;
use crate::stage::{Stage, X, ballot, cast, config, id, ms, refusal, url};

/// Voters that expect this number of first voters, and have not started.
fn expecting(nodes: usize, expected: u16) -> Stage {
    let config = |node| Config { founding: Founding::Expected(expected), ..config(node, nodes) };
    Stage::with((0..nodes).map(config).collect())
}

fn seeds(stage: &mut Stage, node: usize, at: &[usize]) {
    let urls: Vec<VoterUrl> = at.iter().map(|node| url(*node)).collect();
    let (from, message) = (Peer::Caller(0), Message::Seeds(urls));
    stage.hand(node, Input::Message { from, message });
}

#[test]
fn all_accept_one_set_before_anyone_casts() {
    let mut stage = Stage::new(3);
    [0, 1].into_iter().for_each(|node| stage.start(node));
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(30_000));
    assert!(stage.leaders(X).is_empty() && stage.memory(0).electorate.is_none());
    assert!(stage.asked(0, |ask| matches!(ask, Ask::Cast(_))).is_empty());
    stage.start(2);
    stage.until(ms(6_000), |stage| stage.leaders(X).len() == 1);
    assert!((0..3).all(|node| stage.electorate(node).members.len() == 3));
}

#[test]
fn seeds_that_overlap_are_enough() {
    let mut stage = expecting(4, 4);
    (0..4).for_each(|node| stage.start(node));
    // The seed of each voter is the next voter, and the seed of the last voter is itself.
    for (node, at) in [(0, &[0, 1][..]), (1, &[2]), (2, &[3]), (3, &[3])] {
        seeds(&mut stage, node, at);
    }
    stage.elect(3, ms(10_000));
}

#[test]
fn single_set_is_accepted_ever() {
    let mut stage = expecting(3, 2);
    // n1 and n2 expect 64 voters, so they accept no set.
    stage.nodes[1].config.founding = Founding::Expected(64);
    stage.nodes[2].config.founding = Founding::Expected(64);
    [0, 1].into_iter().for_each(|node| stage.start(node));
    seeds(&mut stage, 0, &[1]);
    stage
        .until(ms(3_000), |stage| stage.memory(0).electorate.is_some() || stage.own.log.len() > 40);
    stage.kill(1);
    let accepted = stage.electorate(0);
    assert!(!stage.memory(0).founded);
    stage.start(2);
    seeds(&mut stage, 2, &[0]);
    stage.pass(ms(6_000));
    let remove = Ask::Remove { voter: id(1), reason: "no answer".parse().unwrap() };
    let caller = stage.voter(2);
    assert_eq!(stage.ask(0, caller, remove), Some(Answer::Done));
    stage.pass(ms(5_000));
    assert_eq!(stage.memory(0).electorate, Some(accepted));
    assert!(!stage.memory(0).founded);
}

#[test]
fn two_networks_never_mix() {
    let mut stage = expecting(4, 2);
    (0..4).for_each(|node| stage.start(node));
    seeds(&mut stage, 0, &[1]);
    seeds(&mut stage, 2, &[3]);
    stage.pass(ms(6_000));
    assert!((0..4).all(|node| stage.memory(node).founded));
    (0..4).for_each(|node| stage.campaign(node, X));
    stage.own.may_overlap = true;
    stage.pass(ms(5_000));
    let before: Vec<_> = (0..4).map(|node| stage.electorate(node)).collect();
    seeds(&mut stage, 0, &[1, 2]);
    stage.pass(ms(10_000));
    let met = |event: &OwnEvent| matches!(event, OwnEvent::Breach(Breach::OtherFounding { .. }));
    assert!(stage.told_own(0, met) > 0 && stage.told_own(2, met) > 0);
    assert!((0..4).all(|node| stage.electorate(node) == before[node]));
    assert_eq!(stage.leaders(X).len(), 2, "one in each");
}

/// A caller with the id of n1 and another directory.
fn pod(stage: &Stage) -> Caller {
    let mut header = stage.header(1);
    header.sender.identity = Identity(0xbad);
    Caller::Voter(header)
}

#[test]
fn other_identity_has_no_vote() {
    let mut stage = Stage::founded(3);
    let (caller, vote) = (pod(&stage), cast(&stage, 1, &ballot(9, 1), 5));
    assert_eq!(refusal(stage.ask(0, caller, vote)), Refusal::NotAMember { who: id(1) });
    let other = OwnEvent::Breach(Breach::OtherIdentity { id: id(1) });
    let breach = |event: &OwnEvent| *event == other;
    assert_eq!(stage.told_own(0, breach), 1);
}

#[test]
fn a_run_that_was_over_does_not_count() {
    let mut stage = Stage::founded(3);
    let old = stage.voter(1);
    let status = || Ask::Status { suspect: None };
    assert!(matches!(stage.ask(0, old.clone(), status()), Some(Answer::Status(_))));
    stage.kill(1);
    stage.start(1);
    stage.pass(ms(2_000));
    assert_eq!(refusal(stage.ask(0, old, status())), Refusal::EarlierRun { who: id(1) });
}

/// n2 loses its directory, reports that, and does not vote. An operator removes n2, and adds it
/// again.
#[test]
fn lost_directory_returns_by_readmission() {
    use tenure_core::voter::Change;
    let mut stage = Stage::led(3);
    stage.kill(2);
    stage.nodes[2].disk = Memory::begin(Identity(0xdead << 64));
    stage.start(2);
    stage.campaign(2, X);
    stage.pass(ms(3_000));
    let lost = |event: &OwnEvent| *event == OwnEvent::Breach(Breach::LostDirectory);
    assert_eq!(stage.told_own(2, lost), 1);
    let waits =
        |event: &Event| matches!(event, Event::Waiting(waiting) if waiting.label() == "refused");
    assert_eq!(stage.told(2, waits), 1);
    let change = |stage: &mut Stage, change| stage.ask(0, Caller::Operator, Ask::Change(change));
    assert_eq!(change(&mut stage, Change::Remove(id(2))), Some(Answer::Done));
    stage.pass(ms(2_500));
    assert_eq!(change(&mut stage, Change::Add(id(2))), Some(Answer::Done));
    stage.pass(ms(2_500));
    assert!(stage.electorate(2).has(&stage.who(2)));
    stage.kill(1);
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X), [0], "n2 acknowledges");
}

#[test]
fn another_election_or_mode_is_refused() {
    let mut stage = Stage::founded(2);
    for change in [
        (|header| header.election = "y".parse().unwrap()) as fn(&mut tenure_core::voter::Header),
        |header| header.mode = tenure_core::voter::Mode::Available,
    ] {
        let mut header = stage.header(1);
        change(&mut header);
        let status = Ask::Status { suspect: None };
        assert_eq!(refusal(stage.ask(0, Caller::Voter(header), status)), Refusal::OtherNetwork);
    }
}

#[test]
fn network_elects_a_single_leader() {
    use tenure_core::voter::Command;
    let mut stage = Stage::founded(1);
    let election = "y".parse().unwrap();
    let campaign = Command::Campaign { value: "v".parse().unwrap(), priority: 0 };
    stage.hand(0, Input::Command { election, command: campaign });
    assert!(matches!(stage.ended(0, "y"), Some(tenure_core::End::Refused { .. })));
    stage.elect(0, ms(1_000));
}

#[test]
fn missing_founders_are_named() {
    let mut stage = Stage::new(4);
    [0, 1].into_iter().for_each(|node| stage.start(node));
    stage.campaign(0, X);
    stage.pass(ms(3_000));
    assert_eq!(waits(&stage, 0), "no quorum: no answer from n2, n3");
    let mut stage = expecting(3, 3);
    [0, 1].into_iter().for_each(|node| stage.start(node));
    seeds(&mut stage, 0, &[1]);
    stage.campaign(0, X);
    stage.pass(ms(3_000));
    let told = "connecting: n0: 2 voters are known, and the founding needs exactly 3";
    assert_eq!(waits(&stage, 0), told);
}

/// For a while another process has the id of n1, and starts again and again. n0 hears both
/// processes.
#[test]
fn two_identities_block_acceptance() {
    let mut stage = Stage::new(3);
    (0..3).for_each(|node| stage.start(node));
    let pod = |stage: &Stage, run: u128| {
        let mut header = stage.header(1);
        (header.sender.identity, header.sender.incarnation) = (Identity(0xbad), 0xbad << 32 | run);
        (header.url, header.founding) = (url(9), None);
        Caller::Voter(header)
    };
    for run in 0..60 {
        let caller = pod(&stage, run);
        stage.ask(0, caller, Ask::Register(crate::stage::dto(1, tenure_core::voter::Role::None)));
        stage.pass(ms(100));
    }
    stage.elect(0, ms(15_000));
    assert!(stage.electorate(0).has(&stage.who(1)));
}

/// n0 and n1 have accepted a set with n2. n2 loses its directory before it has accepted that set.
/// So no voter can lead and remove n2.
#[test]
fn directory_lost_before_founding_is_reported() {
    let mut stage = Stage::new(3);
    (0..2).for_each(|node| stage.start(node));
    stage.pass(ms(500));
    stage.start(2);
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.until(ms(5_000), |stage| (0..2).all(|node| stage.memory(node).electorate.is_some()));
    stage.kill(2);
    assert!((0..2).all(|node| !stage.memory(node).founded));
    stage.nodes[2].disk = Memory::begin(Identity(0xdead << 64));
    stage.start(2);
    stage.campaign(2, X);
    stage.pass(ms(10_000));
    let advice = "before the network was founded. End all voters, remove the state directories of \
                  all of them, and start them again";
    for node in 0..3 {
        assert!(waits(&stage, node).contains(advice), "n{node}: {}", waits(&stage, node));
    }
}
