//! Attacks that a hostile reader found, each as a story.

use std::collections::BTreeMap;

use tenure_core::voter::{
    Admission, Answer, Ask, Ballot, Breach, Call, Caller, Change, Command, Config, Electorate,
    ElectorateId, Event, Header, Identity, Memory, Message, OwnEvent, Peer, Refusal, Role,
    StatusDto, Unchanged, VoteDto,
};
use tenure_core::{Input, Standing, View};

use crate::stage::{LATER, Stage, X, ballot, cast, config, dto, id, ms};

fn change(stage: &mut Stage, change: Change) -> Option<Answer> {
    stage.ask(0, Caller::Operator, Ask::Change(change))
}

fn observe(stage: &mut Stage, node: usize) {
    stage.command(node, X, Command::Observe { every: ms(1_000) });
}

/// n4 has given a long promise, loses its directory, and is removed and added again. The promise no
/// longer counts.
#[test]
fn promise_of_lost_directory_is_void() {
    let settings = |node: usize| {
        let short = (1..4).contains(&node).then_some(ms(2_000));
        Config { tolerance: 9, lease_max: short, ..config(node, 5) }
    };
    let mut stage = Stage::with((0..5).map(settings).collect());
    (0..5).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    stage.elect(0, ms(3_000));
    stage.pass(ms(2_020));
    stage.kill(4);
    stage.nodes[4].disk = Memory::begin(Identity(0xdead << 64));
    stage.nodes[4].config.lease_max = Some(ms(2_000));
    assert_eq!(change(&mut stage, Change::Remove(id(4))), Some(Answer::Done));
    stage.pass(ms(20));
    stage.start(4);
    stage.pass(ms(1_100));
    assert_eq!(change(&mut stage, Change::Add(id(4))), Some(Answer::Done));
    stage.pass(ms(20));
    stage.partition(&[0, 1]);
    stage.kill(2);
    stage.start(2);
    stage.campaign(2, X);
    for _ in 0..400 {
        stage.pass(ms(50));
        assert!(!stage.own.two_led, "two leaders: {:?}", stage.leaders(X));
    }
    assert_eq!(stage.leaders(X), [2]);
}

/// n0 and n1 restart, and a late request of n1's earlier run arrives at n0.
#[test]
fn late_request_shuts_no_voter_out() {
    let mut stage = Stage::led(3);
    let late = stage.voter(1);
    for node in [1, 0] {
        stage.kill(node);
        stage.start(node);
        stage.campaign(node, X);
    }
    stage.pass(ms(2_000));
    stage.ask(0, late, Ask::Status { suspect: None }).unwrap();
    stage.kill(2);
    stage.until(ms(30_000), |stage| stage.leaders(X).len() == 1);
}

/// n0 cannot reach n1. A late request of n1's earlier run arrives, and n0 takes the later run for
/// ended. Then the later run answers.
#[test]
fn a_run_that_answers_is_not_dropped() {
    let mut stage = Stage::founded(3);
    let late = stage.voter(1);
    stage.kill(0);
    stage.kill(1);
    stage.start(1);
    // n0 starts later, so that the two voters send their heartbeats at different times.
    stage.pass(ms(2_500));
    stage.start(0);
    stage.cut = vec![(0, 1)];
    stage.pass(ms(7_600));
    stage.ask(0, late, Ask::Status { suspect: None }).unwrap();
    stage.cut.clear();
    stage.pass(ms(500));
    let remove = Ask::Remove { voter: id(1), reason: "I do not reach it".parse().unwrap() };
    stage.ask(0, stage.voter(2), remove).unwrap();
    let dropped = |event: &OwnEvent| *event == OwnEvent::Dropped { id: id(1) };
    assert_eq!(stage.told_own(0, dropped), 0);
}

/// n0 casts, is killed before any voter has endorsed, and starts again.
#[test]
fn restart_keeps_the_cast_number() {
    let mut stage = Stage::founded(3);
    stage.campaign(0, X);
    let is_cast = |ask: &Ask| matches!(ask, Ask::Cast(_));
    stage.until(ms(3_000), |stage| !stage.asked(0, is_cast).is_empty());
    stage.kill(0);
    stage.start(0);
    stage.elect(0, ms(30_000));
    let mut votes = BTreeMap::new();
    for (.., ask) in stage.asked(0, is_cast) {
        let Ask::Cast(VoteDto { ballot, vote, .. }) = ask else { unreachable!() };
        let before = votes.insert(ballot.clone(), vote);
        assert!(before.is_none_or(|before| before == vote), "{ballot}: {before:?}, {vote:?}");
    }
}

/// n2 observes. Its write fails when it first hears of the leader.
#[test]
fn failed_write_withholds_no_view() {
    let mut stage = Stage::founded(3);
    stage.delay = ms(20);
    observe(&mut stage, 2);
    stage.elect(0, ms(3_000));
    stage.nodes[2].full = true;
    stage.pass(ms(30));
    stage.nodes[2].full = false;
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
    assert!(matches!(stage.view(2, X), Some(View::Leader(_))), "{:?}", stage.view(2, X));
}

/// n0 resigns at the instant of a heartbeat that changes the electorate, and the write of that
/// change fails.
#[test]
fn failed_write_withholds_no_end() {
    let mut stage = with_two_more(Admission::Auto);
    let members = |stage: &Stage| stage.electorate(0).members.len();
    stage.until(ms(3_000), |stage| members(stage) == 4);
    stage.pass(ms(500));
    stage.nodes[0].stopped = true;
    stage.pass(ms(600));
    stage.nodes[0].full = true;
    stage.command(0, X, Command::Resign);
    stage.go_on(0);
    stage.nodes[0].full = false;
    stage.pass(ms(10_000));
    assert!(stage.ended(0, X).is_some());
    assert_eq!(stage.told(0, |event| matches!(event, Event::Released)), 1);
}

/// Three founded voters, led by the first, and two more that register.
fn with_two_more(admission: Admission) -> Stage {
    let mut stage = Stage::led_by_founders(3, 5, |config| Config { admission, ..config });
    stage.pass(ms(100));
    for node in [3, 4] {
        stage.start(node);
        stage.register(node, 0);
    }
    stage
}

/// n0 is the only candidate, and hears no voter for half a minute or longer.
#[test]
fn long_cut_heals_within_bound() {
    let mut longest = ms(0);
    for more in 0..120 {
        let mut stage = Stage::founded(3);
        stage.partition(&[0]);
        stage.campaign(0, X);
        stage.pass(ms(30_000 + 617 * more));
        stage.cut.clear();
        longest = longest.max(stage.until(ms(60_000), |stage| stage.leaders(X) == [0]));
    }
    // No promise delays the draw, so the bound is shorter by L.
    let bound = config(0, 3).failover() - config(0, 3).lease();
    assert!(longest <= bound, "{longest:?} is more than {bound:?}");
}

/// n2 reports a vacancy, and is cut off. Then the others elect a leader.
#[test]
fn old_statements_make_no_vacancy() {
    let mut stage = Stage::founded(3);
    observe(&mut stage, 2);
    stage.pass(ms(2_000));
    assert_eq!(stage.view(2, X), Some(&View::Vacant));
    stage.partition(&[2]);
    stage.elect(0, ms(3_000));
    let Config { heartbeat, request_timeout, .. } = config(0, 3);
    stage.pass(heartbeat + request_timeout);
    assert_eq!(stage.leaders(X), [0]);
    assert_ne!(stage.view(2, X), Some(&View::Vacant), "a lease runs");
}

/// n1 floods n0 with lists of voters that do not exist.
#[test]
fn after_a_flood_of_lists_somebody_is_elected() {
    let mut stage = Stage::founded(3);
    // The answers to the flood are lost.
    stage.cut = vec![(0, 1)];
    stage.campaign(0, X);
    let mut seq = 10_000;
    for _ in 0..2 {
        for _ in 0..500 {
            seq += 1;
            let ask = crate::stage::leads(&stage, 1, seq, &ballot(1, 1), stage.electorate(1));
            let Ask::Heartbeat(mut beat) = ask else { unreachable!() };
            let voter = |n: u64| dto((seq * 8 + n) as usize, Role::None);
            (beat.lease, beat.known_voters) = (None, (0..8).map(voter).collect());
            let (from, call) = (Peer::Caller(999_999), Call(0));
            let (caller, ask) = (stage.voter(1), Ask::Heartbeat(beat));
            let message = Message::Request { call, caller, within: ms(0), ask };
            stage.hand(0, Input::Message { from, message });
        }
        stage.pass(ms(300));
    }
    stage.until(config(0, 3).failover() * 4, |stage| stage.leaders(X) == [0]);
}

/// A founder is dead. A newcomer registers, gets a vote, and dies as well.
#[test]
fn dead_newcomer_takes_no_quorum() {
    let mut stage = with_two_more(Admission::Auto);
    [2, 3, 4].into_iter().for_each(|node| stage.kill(node));
    (0..2).for_each(|node| stage.nodes[node].again = true);
    stage.pass(ms(60_000));
    assert_eq!(stage.leaders(X).len(), 1, "two of the three founders are there");
}

/// A voter without a vote names the highest possible counter.
#[test]
fn a_stranger_uses_up_no_counters() {
    let mut stage = Stage::founded(3);
    let Caller::Voter(header) = stage.voter(1) else { unreachable!() };
    let mut sender = header.sender.clone();
    (sender.id, sender.identity) = (id(9), Identity(9));
    let caller = Caller::Voter(Header { sender, ..header });
    let top = ballot(Ballot::COUNTER_MAX, 9);
    let Ask::Cast(mut vote) = cast(&stage, 1, &top, 1) else { unreachable!() };
    vote.voter_id = id(9);
    (0..3).for_each(|node| {
        stage.ask(node, caller.clone(), Ask::Cast(vote.clone())).unwrap();
    });
    stage.elect(0, config(0, 3).failover() * 4);
}

/// n0 hears the numbers of all but n4, and the results of all but n4, before it has counted.
#[test]
fn a_winner_that_has_not_counted_counts_itself() {
    let mut stage = Stage::founded(5);
    stage.cut = vec![(4, 0)];
    stage.elect(0, ms(4_000));
    stage.pass(ms(2_000));
    stage.kill(3);
    stage.pass(ms(30_000));
    assert_eq!(stage.told(0, |event| matches!(event, Event::Ended(_))), 0, "three of five");
}

/// n1 wins while its promise to n0 still runs, because it has not heard the release. Once the
/// promise is over, n1 endorses itself, but its write fails. n1 then claims no more than the
/// promises of others.
#[test]
fn claim_needs_written_endorsement() {
    let mut stage = Stage::founded(5);
    stage.elect(0, ms(4_000));
    stage.pass(ms(3_000));
    stage.cut = vec![(0, 1)];
    stage.pass(ms(1_500));
    stage.campaign(1, X);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(100));
    stage.ask(2, Caller::Operator, Ask::Start).unwrap();
    stage.until(ms(1_500), |stage| stage.leaders(X) == [1]);
    stage.cut = vec![(3, 1), (4, 1)];
    stage.nodes[1].full = true;
    for _ in 0..300 {
        stage.pass(ms(10));
        let raised = stage.nodes[1].own.raises.last().map(|(_, until)| *until);
        if let Standing::Leading { until, .. } = stage.standing(1, X) {
            assert_eq!(Some(until), raised, "never raised");
        }
    }
}

/// n2 is added, and no voter informs n2. Then the leader dies.
#[test]
fn uninformed_new_member_takes_part() {
    let mut stage = Stage::led_by_founders(2, 3, |config| config);
    stage.start(2);
    stage.register(2, 1);
    stage.pass(ms(3_000));
    stage.cut = vec![(0, 2)];
    assert_eq!(change(&mut stage, Change::Add(id(2))), Some(Answer::Done));
    stage.pass(ms(10));
    stage.kill(0);
    stage.elect(1, ms(60_000));
}

/// An operator removes a running voter, but the leader adds voters by itself.
#[test]
fn removed_member_stays_out() {
    let mut stage = with_two_more(Admission::Auto);
    stage.pass(ms(10_000));
    assert_eq!(stage.electorate(0).members.len(), 5);
    // The voter still answers, so the leader would add it again at once.
    let answer = change(&mut stage, Change::Remove(id(4)));
    assert_eq!(answer, Some(Answer::Refused(Unchanged::Returns.into())));
    stage.kill(4);
    stage.pass(ms(1_500));
    assert_eq!(change(&mut stage, Change::Remove(id(4))), Some(Answer::Done));
    stage.pass(ms(10_000));
    assert!(stage.electorate(0).member(&id(4)).is_none());
}

/// n2 loses its directory and is removed before its new run answers: the leader refuses to add n2
/// with the lost identity. In the second case all of this happens between two heartbeats.
#[test]
fn lost_directory_is_added_on_answer() {
    for (silent, out) in [(1_500, 1_500), (0, 50)] {
        let mut stage = Stage::led(3);
        stage.kill(2);
        stage.nodes[2].disk = Memory::begin(Identity(9 << 96));
        stage.pass(ms(silent));
        assert_eq!(change(&mut stage, Change::Remove(id(2))), Some(Answer::Done));
        stage.pass(ms(out));
        let refused = Some(Answer::Refused(Refusal::UnknownVoter));
        assert_eq!(change(&mut stage, Change::Add(id(2))), refused);
        stage.start(2);
        stage.pass(ms(3_000));
        assert_eq!(change(&mut stage, Change::Add(id(2))), Some(Answer::Done));
        let member = stage.electorate(0).member(&id(2)).cloned();
        assert_eq!(member.map(|it| it.identity), Some(stage.memory(2).identity));
    }
}

/// New voters register, one after the other, and each of them dies.
#[test]
fn dead_voters_leave_room() {
    let settings = |node: usize| {
        let own = config(node, 3);
        let founding = if node < 3 { own.founding.clone() } else { LATER };
        Config { voters: 6, forget_after: ms(10_000), founding, ..own }
    };
    let mut stage = Stage::with((0..12).map(settings).collect());
    (0..3).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    for node in 3..12 {
        stage.start(node);
        let caller = stage.voter(node);
        let register = Ask::Register(dto(node, Role::None));
        let answer = stage.ask(0, caller, register);
        assert!(matches!(answer, Some(Answer::Status(_))), "n{node}: {answer:?}");
        stage.pass(ms(5_000));
        stage.kill(node);
        stage.pass(ms(30_000));
    }
    let dropped = |event: &OwnEvent| matches!(event, OwnEvent::Dropped { .. });
    assert!(stage.told_own(0, dropped) > 0);
}

/// n2 casts its number in a ballot. n0 casts in the same ballot, with a lower electorate.
#[test]
fn number_counts_for_ballots_electorate() {
    let mut stage = Stage::led(3);
    let low = ElectorateId { counter: 0, change: 0 };
    [0, 2].into_iter().for_each(|node| stage.kill(node));
    stage.pass(ms(5_000));
    [0, 2].into_iter().for_each(|node| stage.start(node));
    stage.partition(&[1]);
    let own = cast(&stage, 2, &ballot(99, 2), 1);
    let caller = stage.voter(2);
    assert!(matches!(stage.ask(1, caller, own), Some(Answer::Cast(_))));
    let Ask::Cast(mut lower) = cast(&stage, 0, &ballot(99, 2), i64::MAX) else { unreachable!() };
    lower.electorate.id = low;
    let caller = stage.voter(0);
    let answer = stage.ask(1, caller, Ask::Cast(lower));
    assert!(matches!(answer, Some(Answer::Refused(_))), "{answer:?}");
}

/// n0 resigns, and n2 does not hear of that. n0 campaigns again and withdraws: the withdrawal
/// releases nothing.
#[test]
fn withdrawal_releases_no_earlier_leadership() {
    let mut stage = Stage::founded(3);
    stage.elect(0, ms(3_000));
    stage.pass(ms(2_000));
    stage.partition(&[2]);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(100));
    assert!(stage.status(2).free.is_none(), "n2 is bound");
    assert_eq!(stage.told(0, |event| matches!(event, Event::Released)), 0);
    stage.pass(ms(5_000));
    assert!(stage.told(0, |event| matches!(event, Event::Released)) > 0);
}

/// n3 and n0 restart, and n3 registers again. Then a late request of n3's earlier run arrives at
/// n0.
#[test]
fn later_run_is_no_lost_directory() {
    let mut stage = with_two_more(Admission::Operator);
    stage.pass(ms(1_000));
    let late = stage.voter(3);
    for node in [3, 0] {
        stage.kill(node);
        stage.start(node);
    }
    stage.register(3, 0);
    stage.ask(0, late.clone(), Ask::Status { suspect: None }).unwrap();
    // n3 hears of its other run, and does not take that for a lost directory.
    stage.pass(ms(3_000));
    let lost = |event: &OwnEvent| *event == OwnEvent::Breach(Breach::LostDirectory);
    assert_eq!(stage.told_own(3, lost), 0);
    let refused = crate::stage::refusal(stage.ask(0, late, Ask::Status { suspect: None }));
    assert_eq!(refused, Refusal::EarlierRun { who: id(3) });
}

/// The last request of n0 to this voter that matches. The request has no answer yet.
fn open(stage: &Stage, to: usize, like: impl Fn(&Ask) -> bool) -> (usize, Call) {
    let (at, _, call, _) = stage.asked(0, like).into_iter().rfind(|(_, of, ..)| *of == to).unwrap();
    assert!(stage.now.since(at) < 2 * stage.delay, "it is answered");
    (to, call)
}

/// A voter answers a heartbeat of n0 with the highest possible counter.
fn hears_the_last_counter(by: usize) -> Stage {
    let mut stage = with_two_more(Admission::Operator);
    stage.delay = ms(30);
    let is_beat = |ask: &Ask| matches!(ask, Ask::Heartbeat(_));
    let beats = stage.asked(0, is_beat).len();
    stage.until(ms(2_000), |stage| stage.asked(0, is_beat).len() > beats);
    let (asked, header) = (open(&stage, by, is_beat), stage.header(by));
    let refusal = Refusal::Endorsed { counter: Ballot::COUNTER_MAX };
    stage.reply(0, asked, header, Answer::Refused(refusal));
    stage.command(0, X, Command::Resign);
    stage.pass(ms(1_000));
    stage.campaign(0, X);
    stage.pass(ms(20_000));
    stage
}

#[test]
fn answers_without_vote_use_no_counters() {
    let stage = hears_the_last_counter(3);
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn exhausted_counter_is_reported_once() {
    let stage = hears_the_last_counter(1);
    let over = Breach::NoCounterLeft { highest: Ballot::COUNTER_MAX };
    assert_eq!(stage.told_own(0, |event| *event == OwnEvent::Breach(over.clone())), 1);
}

/// n0 asks whether the others are free, and hears that it was removed.
#[test]
fn removed_voter_starts_no_ballot() {
    let mut stage = Stage::founded(4);
    stage.delay = ms(30);
    let is_poll = |ask: &Ask| matches!(ask, Ask::Status { .. });
    let before = stage.asked(0, is_poll).len();
    stage.campaign(0, X);
    stage.until(ms(3_000), |stage| stage.asked(0, is_poll).len() > before);
    let out = Electorate {
        id: ElectorateId { counter: 1, change: 1 },
        ..stage.electorate(0).without(&id(0))
    };
    for by in [1, 2] {
        let status = StatusDto { electorate: Some(out.clone()), ..stage.status(by) };
        assert!(status.free.is_some());
        let (asked, header) = (open(&stage, by, is_poll), stage.header(by));
        stage.reply(0, asked, header, Answer::Status(status));
    }
    assert_eq!(stage.electorate(0), out);
    let draws = |event: &OwnEvent| matches!(event, OwnEvent::Drawing { .. });
    assert_eq!(stage.told_own(0, draws), 0);
}
