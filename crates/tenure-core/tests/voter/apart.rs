//! Foundings that fail, and the reports about them (V2).

use tenure_core::Input;
use tenure_core::voter::{
    Answer, Ask, Caller, Change, Config, Founding, Identity, Memory, Message, OwnEvent, Peer,
};

use crate::condition::{founding, list, waits};
use crate::stage::{Stage, X, config, id, ms, url};

/// Each voter asks every other voter for its status.
fn find(stage: &mut Stage, node: usize) {
    let urls = (0..stage.nodes.len()).map(url).collect();
    let message = Message::Seeds(urls);
    stage.hand(node, Input::Message { from: Peer::At(url(node)), message });
}

/// n0 has a list of two voters, which it has accepted. n1 and n2 have the same list of three
/// voters.
#[test]
fn founders_that_have_accepted_other_sets_are_told() {
    let mut stage = founding(vec![list(&[0, 1]), list(&[0, 1, 2]), list(&[0, 1, 2])]);
    stage.pass(ms(20_000));
    assert!(stage.leaders(X).is_empty());
    let anew = "then end all of them, remove their state directories, and start them again: no \
                voter accepts a second set";
    let other = |me: &str, theirs: &str, ours: &str| {
        format!(
            "it has accepted other first voters: it begins with {theirs}, and {me} with {ours}: \
             give all voters the same list, or number, {anew}"
        )
    };
    let of_n0 = |me: &str| format!("refused by n0: {}", other(me, "n0, n1", "n0, n1, n2"));
    assert_eq!(waits(&stage, 1), of_n0("n1"));
    assert_eq!(waits(&stage, 2), of_n0("n2"));
    let of_n1 = other("n0", "n0, n1, n2", "n0, n1");
    assert!(waits(&stage, 0).contains(&format!("n1: {of_n1}")), "{}", waits(&stage, 0));
}

/// Four voters run, and each expects three. At first each knows only one or two others.
#[test]
fn more_voters_than_are_expected_are_told() {
    let expected = |node| Config { founding: Founding::Expected(3), ..config(node, 4) };
    let mut stage = Stage::with((0..4).map(expected).collect());
    stage.cut = vec![(0, 3), (3, 0), (1, 2), (2, 1), (2, 3), (3, 2)];
    (0..4).for_each(|node| stage.start(node));
    (0..4).for_each(|node| find(&mut stage, node));
    (0..4).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(8_000));
    stage.cut.clear();
    stage.pass(ms(20_000));
    for node in 0..4 {
        let told = waits(&stage, node);
        let part = match stage.memory(node).electorate {
            Some(_) => "start no more voters than expected",
            None => "4 voters are known, and the founding needs exactly 3",
        };
        assert!(told.contains(part), "n{node}: {told}");
    }
    assert!((0..2).all(|node| stage.memory(node).electorate.is_some()));
}

/// n1 cannot write that it accepts the set of first voters.
#[test]
fn a_founder_that_cannot_write_is_told_of() {
    let mut stage = Stage::new(3);
    stage.nodes[1].full = true;
    (0..3).for_each(|node| stage.start(node));
    (0..3).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(20_000));
    assert!(stage.status(1).condition.failing);
    for node in [0, 2] {
        assert_eq!(waits(&stage, node), "refused by n1: it cannot write its state directory");
    }
    stage.nodes[1].full = false;
    stage.until(ms(10_000), |stage| !stage.leaders(X).is_empty());
}

/// n3 is not on the list, and begins anew with another identity every three seconds.
#[test]
fn outsider_blocks_no_founding() {
    let outsider = Config { founding: Founding::Expected(9), ..config(3, 3) };
    let configs = (0..3).map(|node| config(node, 3)).chain([outsider]);
    let mut stage = Stage::with(configs.collect());
    stage.start(3);
    find(&mut stage, 3);
    (0..2).for_each(|node| stage.start(node));
    stage.pass(ms(1_000));
    (0..2).for_each(|node| stage.campaign(node, X));
    for round in 0..20 {
        if round == 3 {
            stage.start(2);
        }
        stage.pass(ms(3_000));
        stage.kill(3);
        stage.nodes[3].disk = Memory::begin(Identity((0xaaaa + round) << 64));
        stage.start(3);
        find(&mut stage, 3);
    }
    assert!((0..3).all(|node| stage.nodes[node].core.memory().founded));
    assert_eq!(stage.leaders(X).len(), 1);
}

/// n0 and n1 found a network of two. n2 has a list of all three, and has accepted it. Its set can
/// never be founded, so n2 waits until it is added.
#[test]
fn left_out_founder_can_be_added() {
    let mut stage = founding(vec![list(&[0, 1]), list(&[0, 1]), list(&[0, 1, 2])]);
    stage.until(ms(10_000), |stage| stage.leaders(X).len() == 1);
    stage.pass(ms(5_000));
    let add = "its network was founded without n2: add n2 to the members";
    assert!(waits(&stage, 2).contains(add), "{}", waits(&stage, 2));
    let breaches = |stage: &Stage| {
        let of = |node| stage.told_own(node, |event| matches!(event, OwnEvent::Breach(_)));
        (0..3).map(of).sum::<usize>()
    };
    let told = breaches(&stage);
    stage.pass(ms(20_000));
    assert_eq!(breaches(&stage), told);
    let leader = stage.leaders(X)[0];
    let asked = stage.ask(leader, Caller::Operator, Ask::Change(Change::Add(id(2))));
    assert_eq!(asked, Some(Answer::Done));
    stage.pass(ms(3_000));
    let electorate = stage.electorate(leader);
    assert_eq!(electorate.members.len(), 3);
    assert_eq!(stage.memory(2).electorate, Some(electorate));
}
