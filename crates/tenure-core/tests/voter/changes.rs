//! Changes of the electorate (V9).

use tenure_core::voter::{
    Admission, Answer, Ask, Caller, Change, Command, ElectorateId, Event, Refusal, Unchanged,
};
use tenure_core::{Input, Ticket};

use crate::stage::{Stage, X, ballot, id, leads, ms, refusal};

/// Three founded voters, led by the first, and two more that have registered.
fn with_two_more() -> Stage {
    let mut stage = Stage::led_by_founders(3, 5, |config| config);
    for node in [3, 4] {
        stage.start(node);
        stage.register(node, 0);
    }
    stage.pass(ms(3_000));
    assert_eq!(stage.status(0).known_voters.len(), 5);
    assert_eq!(stage.electorate(0).members.len(), 3, "known voters without a vote");
    stage
}

fn change(stage: &mut Stage, change: Change) -> Option<Answer> {
    stage.ask(0, Caller::Operator, Ask::Change(change))
}

#[test]
fn the_electorate_changes_by_one_voter() {
    let mut stage = with_two_more();
    assert_eq!(change(&mut stage, Change::Add(id(3))), Some(Answer::Done));
    assert_eq!(stage.electorate(0).members.len(), 4);
    stage.pass(ms(1_000));
    assert!((0..4).all(|node| stage.nodes[node].disk.electorate == Some(stage.electorate(0))));
}

#[test]
fn next_change_waits_for_stored_quorum() {
    let mut stage = with_two_more();
    stage.cut = vec![(1, 0), (2, 0), (3, 0)];
    assert_eq!(change(&mut stage, Change::Add(id(3))), Some(Answer::Done));
    let refused = refusal(change(&mut stage, Change::Add(id(4))));
    assert_eq!(refused, Refusal::ChangeRuns { electorate: stage.electorate(0).id });
    stage.cut.clear();
    stage.pass(ms(2_500));
    assert_eq!(change(&mut stage, Change::Add(id(4))), Some(Answer::Done));
}

/// V9: the lease depends on the promise of n1, which is removed. n2 has stored the next document,
/// but promises only 2 s.
#[test]
fn changes_wait_for_promises() {
    let mut stage = with_two_more();
    stage.kill(2);
    stage.nodes[2].config.lease_max = Some(ms(2_000));
    stage.start(2);
    stage.pass(ms(12_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(change(&mut stage, Change::Remove(id(1))), Some(Answer::Done));
    stage.pass(ms(100));
    let electorate = stage.electorate(0);
    assert_eq!(stage.electorate(2), electorate, "a quorum has stored it");
    let refused = refusal(change(&mut stage, Change::Add(id(3))));
    assert_eq!(refused, Refusal::ChangeRuns { electorate: electorate.id });
}

#[test]
fn lower_electorate_is_refused() {
    let mut stage = with_two_more();
    let founded = tenure_core::voter::Electorate {
        id: ElectorateId { counter: 0, change: 0 },
        ..stage.electorate(1)
    };
    (0..5).filter(|node| *node != 1).for_each(|node| stage.kill(node));
    stage.pass(ms(5_000));
    stage.start(2);
    let (caller, beat) = (stage.voter(2), leads(&stage, 2, 9_000, &ballot(99, 2), founded));
    let own = stage.electorate(1);
    assert_eq!(refusal(stage.ask(1, caller, beat)), Refusal::OldElectorate(own));
}

#[test]
fn a_winner_writes_the_electorate_anew() {
    let stage = Stage::led(3);
    let counter = stage.memory(0).counter();
    assert!(counter > 0);
    assert_eq!(stage.electorate(0).id, ElectorateId { counter, change: 0 });
    assert_eq!(stage.electorate(1), stage.electorate(0));
}

#[test]
fn leader_alone_changes_the_electorate() {
    let mut stage = with_two_more();
    let leader = change(&mut stage, Change::Remove(id(0)));
    assert_eq!(refusal(leader), Refusal::from(Unchanged::Leads));
    let add = change(&mut stage, Change::Add(id(1)));
    assert_eq!(refusal(add), Refusal::from(Unchanged::HasVote));
    let own = change(&mut stage, Change::Add(id(0)));
    assert_eq!(refusal(own), Refusal::from(Unchanged::HasVote));
    let none = change(&mut stage, Change::Remove(id(3)));
    assert_eq!(refusal(none), Refusal::from(Unchanged::HasNone));
    assert_eq!(refusal(change(&mut stage, Change::Remove(id(9)))), Refusal::UnknownVoter);
    assert_eq!(refusal(change(&mut stage, Change::Add(id(9)))), Refusal::UnknownVoter);
    let ask = || Ask::Change(Change::Add(id(3)));
    let refused = refusal(stage.ask(1, Caller::Operator, ask()));
    assert!(matches!(refused, Refusal::NotLeading { leader: Some(_) }), "{refused}");
    let caller = stage.voter(1);
    assert_eq!(refusal(stage.ask(0, caller, ask())), Refusal::NotAllowed);
    assert_eq!(refusal(stage.ask(0, Caller::Anybody, ask())), Refusal::NotAllowed);
}

/// Two of three voters are removed, one after the other, and the last voter leads alone.
#[test]
fn voters_leave_one_by_one() {
    let mut stage = Stage::led(3);
    for node in [2, 1] {
        assert_eq!(change(&mut stage, Change::Remove(id(node))), Some(Answer::Done));
        stage.pass(ms(2_500));
    }
    [1, 2].into_iter().for_each(|node| stage.kill(node));
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// n1 is down. Without n2 the leader would be half of the electorate.
#[test]
fn healthy_voter_stays_beside_dead_one() {
    let mut stage = Stage::led(3);
    stage.kill(1);
    stage.pass(ms(10_000));
    let refused = refusal(change(&mut stage, Change::Remove(id(2))));
    assert_eq!(refused, Refusal::TooFewAble { able: 1, needed: 2 });
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.told(0, |event| matches!(event, Event::Ended(_))), 0);
    assert_eq!(change(&mut stage, Change::Remove(id(1))), Some(Answer::Done));
}

fn full(stage: &mut Stage, node: usize) {
    stage.nodes[node].full = true;
    stage.hand(node, Input::Failed(Some(Ticket::NONE)));
}

/// n2 is down, and the disk of `node` is full. The leader n0 goes on, and refuses to remove n2,
/// with `refused`, until there is room.
fn nothing_changes_while_it_is_full(node: usize, refused: &Refusal) {
    let mut stage = Stage::led(3);
    stage.kill(2);
    full(&mut stage, node);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(refusal(change(&mut stage, Change::Remove(id(2)))), *refused);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.nodes[node].full = false;
    stage.pass(ms(5_000));
    assert_eq!(change(&mut stage, Change::Remove(id(2))), Some(Answer::Done));
}

/// The write of a change would fail, and stop the heartbeats of the leader.
#[test]
fn a_leader_that_cannot_write_changes_nothing() {
    nothing_changes_while_it_is_full(0, &Refusal::NotWritten);
}

/// A follower with a full disk acknowledges the document that it has stored, but could not store
/// the next document.
#[test]
fn change_keeps_leadership_with_failing_follower() {
    nothing_changes_while_it_is_full(1, &Refusal::TooFewAble { able: 1, needed: 2 });
}

/// n1 has a full disk, and its requests do not reach the leader. Its answers to heartbeats report
/// the full disk.
#[test]
fn answer_reports_a_full_disk() {
    let mut stage = Stage::led(3);
    stage.kill(2);
    stage.own.uncalled = vec![(1, 0)];
    full(&mut stage, 1);
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X), [0]);
    let refused = refusal(change(&mut stage, Change::Remove(id(2))));
    assert_eq!(refused, Refusal::TooFewAble { able: 1, needed: 2 });
}

/// A voter of three has a full disk. If a newcomer were added and died, only two of four voters
/// could store a document.
#[test]
fn admission_takes_no_quorum_away() {
    let mut stage = with_two_more();
    for node in 0..3 {
        stage.nodes[node].config.admission = Admission::Auto;
        stage.nodes[node].again = true;
    }
    [3, 4].into_iter().for_each(|node| stage.kill(node));
    (0..3).for_each(|node| {
        stage.kill(node);
        stage.start(node);
        stage.campaign(node, X);
    });
    stage.until(ms(30_000), |stage| stage.leaders(X).len() == 1);
    let leader = stage.leaders(X)[0];
    full(&mut stage, (leader + 1) % 3);
    stage.pass(ms(5_000));
    stage.start(3);
    stage.register(3, leader);
    stage.pass(ms(9_000));
    assert_eq!(stage.electorate(leader).members.len(), 3);
    stage.kill(3);
    stage.pass(ms(60_000));
    assert_eq!(stage.leaders(X), [leader]);
}

/// n3 knows that it was removed. The leader n0 adds n3 again, and dies before n3 hears of that.
/// Neither n0 nor n3 is a quorum alone.
#[test]
fn readded_member_takes_part() {
    let mut stage = with_two_more();
    for node in [2, 1] {
        assert_eq!(change(&mut stage, Change::Remove(id(node))), Some(Answer::Done));
        stage.pass(ms(2_500));
    }
    for change_of in [Change::Add(id(3)), Change::Remove(id(3))] {
        stage.campaign(3, X);
        assert_eq!(change(&mut stage, change_of), Some(Answer::Done));
        stage.pass(ms(10_000));
    }
    assert_eq!(stage.electorate(3), stage.electorate(0), "it knows that it has no vote");
    stage.cut = vec![(0, 3)];
    assert_eq!(change(&mut stage, Change::Add(id(3))), Some(Answer::Done));
    assert_eq!(stage.electorate(0).members.len(), 2);
    stage.kill(0);
    stage.cut.clear();
    stage.start(0);
    stage.campaign(0, X);
    stage.until(ms(15_000), |stage| !stage.leaders(X).is_empty());
    assert_eq!(stage.electorate(3), stage.electorate(0));
}

#[test]
fn admission_auto_adds_registered_voters() {
    let mut stage = with_two_more();
    (0..3).for_each(|node| stage.nodes[node].config.admission = Admission::Auto);
    (0..3).for_each(|node| {
        stage.kill(node);
        stage.start(node);
        stage.campaign(node, X);
    });
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X).len(), 1);
    assert_eq!(stage.electorate(stage.leaders(X)[0]).members.len(), 5);
    assert!(!stage.own.two_led);
}

/// n0 has led, is removed, and runs on. Its heartbeats do not give it a vote, and no voter follows
/// it.
#[test]
fn removed_leader_takes_no_seat() {
    let mut stage = Stage::led(4);
    stage.command(0, X, Command::Resign);
    stage.until(ms(10_000), |stage| stage.leaders(X).len() == 1 && stage.leaders(X) != [0]);
    let leader = stage.leaders(X)[0];
    stage.pass(ms(2_500));
    let remove = Ask::Change(Change::Remove(id(0)));
    assert_eq!(stage.ask(leader, Caller::Operator, remove), Some(Answer::Done));
    stage.campaign(0, X);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [leader]);
    assert!(stage.electorate(leader).member(&id(0)).is_none());

    let follower = (1..4).find(|node| *node != leader).unwrap();
    let (caller, electorate) = (stage.voter(0), stage.electorate(0));
    let beat = leads(&stage, 0, 9_000, &ballot(99, 0), electorate);
    let refused = refusal(stage.ask(follower, caller, beat));
    assert_eq!(refused, Refusal::NotAMember { who: id(0) });

    stage.kill(leader);
    stage.until(ms(20_000), |stage| stage.leaders(X).len() == 1);
    assert_ne!(stage.leaders(X), [0]);
    assert!(!stage.own.two_led);
}
