//! Discovery, and requests of strangers (V1, V11, V12).

use tenure_core::voter::{
    Answer, Ask, Caller, Change, Config, Founding, Mode, OwnEvent, Refusal, Role, VoteDto,
};

use crate::stage::{Stage, X, ballot, cast, config, dto, id, leads, ms, refusal};

fn remove(node: usize) -> Ask {
    Ask::Remove { voter: id(node), reason: "no answer".parse().unwrap() }
}

#[test]
fn hearsay_drops_no_voter() {
    let mut stage = Stage::led(3);
    let caller = stage.voter(2);
    assert_eq!(stage.ask(0, caller, remove(1)), Some(Answer::Done));
    assert_eq!(stage.status(0).known_voters.len(), 3);
    assert_eq!(stage.told_own(0, |event| matches!(event, OwnEvent::Dropped { .. })), 0);
}

#[test]
fn unreached_voter_is_dropped_and_sought() {
    let mut stage = Stage::led(3);
    stage.cut = vec![(0, 1), (1, 0)];
    stage.pass(ms(6_000));
    assert_eq!(stage.status(0).known_voters.len(), 3, "n2 reaches it");
    let caller = stage.voter(2);
    stage.ask(0, caller, remove(1)).unwrap();
    assert_eq!(stage.status(0).known_voters.len(), 2);
    stage.cut.clear();
    stage.pass(ms(2_000));
    assert_eq!(stage.status(0).known_voters.len(), 3);
}

/// A late request of n2's earlier run arrives, and n1 takes that run for the present one until the
/// later run answers. n1 still refuses heartbeats of the later run that it has heard before.
#[test]
fn a_run_that_comes_back_says_nothing_twice() {
    let mut stage = Stage::led(3);
    let earlier = stage.voter(2);
    [1, 2].into_iter().for_each(|node| stage.kill(node));
    stage.start(2);
    stage.start(1);
    stage.pass(ms(3_500));
    stage.ask(1, earlier, Ask::Register(dto(2, Role::None)));
    let caller = stage.voter(2);
    let beat = || leads(&stage, 2, 1, &ballot(1, 2), stage.electorate(2));
    let beats = [beat(), beat()];
    for beat in beats {
        let answer = stage.ask(1, caller.clone(), beat);
        assert!(matches!(answer, Some(Answer::Refused(_))), "{answer:?}");
        stage.pass(ms(50));
    }
    let answer = stage.ask(1, caller, Ask::Status { suspect: None });
    assert!(matches!(answer, Some(Answer::Status(_))), "{answer:?}");
}

#[test]
fn public_requests_change_nothing() {
    let mut stage = Stage::led(3);
    let before = (stage.memory(0).clone(), stage.standing(0, X), stage.own.log.len());
    let ballot = ballot(99, 2);
    let vote = cast(&stage, 2, &ballot, 5);
    for ask in [
        Ask::Register(dto(7, Role::None)),
        remove(1),
        Ask::Reconcile(Vec::new()),
        Ask::Start,
        vote,
        Ask::Change(Change::Remove(id(1))),
    ] {
        assert_eq!(refusal(stage.ask(0, Caller::Anybody, ask)), Refusal::NotAllowed);
    }
    assert!(matches!(stage.ask(0, Caller::Anybody, Ask::LastResult), Some(Answer::Election(_))));
    let Some(Answer::Election(known)) = stage.ask(0, Caller::Anybody, Ask::LastResult) else {
        unreachable!()
    };
    assert!(known.certified);
    let certify = Ask::Certify(known.clone());
    assert_eq!(stage.ask(1, Caller::Anybody, certify), Some(Answer::Election(known.clone())));
    let unknown = tenure_core::voter::ElectionDto { ballot, ..known };
    let refused = refusal(stage.ask(0, Caller::Anybody, Ask::Certify(unknown)));
    assert_eq!(refused, Refusal::UnknownElection);
    assert_eq!((stage.memory(0).clone(), stage.standing(0, X), stage.own.log.len()), before);
}

#[test]
fn senseless_requests_are_refused() {
    let mut stage = Stage::founded(3);
    let caller = stage.voter(1);
    let vote = |change: fn(&mut VoteDto)| {
        let Ask::Cast(mut vote) = cast(&stage, 1, &ballot(9, 1), 5) else { unreachable!() };
        change(&mut vote);
        Ask::Cast(vote)
    };
    let asks = [
        vote(|vote| vote.ballot.counter = 0),
        vote(|vote| vote.ballot.counter = u64::MAX),
        vote(|vote| vote.ballot.attempt = 65),
        vote(|vote| vote.electorate.members.reverse()),
        vote(|vote| vote.electorate.members.clear()),
        vote(|vote| vote.voter_id = id(2)),
        Ask::Reconcile(vec![dto(7, Role::None); 257]),
        remove(0),
    ];
    for ask in asks {
        let refused = refusal(stage.ask(0, caller.clone(), ask.clone()));
        assert!(matches!(refused, Refusal::Malformed(_)), "{ask}: {refused}");
    }
    assert_eq!(refusal(stage.ask(0, caller, remove(7))), Refusal::UnknownVoter);
}

/// An operator registers a voter: the recipient asks that voter for its status, and then knows the
/// voter.
#[test]
fn an_operator_registers_a_voter() {
    let alone = |node| Config {
        founding: Founding::Expected(if node == 0 { 1 } else { 64 }),
        ..config(node, 1)
    };
    let mut stage = Stage::with((0..2).map(alone).collect());
    (0..2).for_each(|node| stage.start(node));
    stage.pass(ms(2_000));
    assert_eq!(stage.status(0).known_voters.len(), 1);
    let register = |node| Ask::Register(dto(node, Role::None));
    assert!(matches!(stage.ask(0, Caller::Operator, register(7)), Some(Answer::Status(_))));
    stage.ask(0, Caller::Operator, register(1)).unwrap();
    stage.pass(ms(2_000));
    assert_eq!(stage.status(0).known_voters.len(), 2);
    assert_eq!(stage.nodes[0].config.mode, Mode::Majority);
}
