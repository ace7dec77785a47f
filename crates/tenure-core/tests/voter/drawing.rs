//! Casting and endorsing (V3, V4, V5).

use tenure_core::voter::{
    Answer, Ask, Breach, Command, Config, Electorate, ElectorateId, Event, OwnEvent, Refusal,
};

use crate::condition::waits;
use crate::stage::{Stage, X, ballot, cast, config, ms, refusal, result};

#[test]
fn left_ballot_is_not_rejoined() {
    let mut stage = Stage::founded(3);
    let (lower, higher) = (ballot(9, 1), ballot(9, 2));
    let from = |stage: &Stage, by, ballot| (stage.voter(by), cast(stage, by, ballot, 5));
    let (caller, vote) = from(&stage, 1, &lower);
    assert!(matches!(stage.ask(0, caller.clone(), vote.clone()), Some(Answer::Cast(_))));
    let (other, its) = from(&stage, 2, &higher);
    assert!(matches!(stage.ask(0, other, its), Some(Answer::Cast(_))));
    assert_eq!(refusal(stage.ask(0, caller, vote)), Refusal::Left);
}

#[test]
fn a_number_stays_as_it_was_cast() {
    let mut stage = Stage::founded(3);
    let ballot = ballot(9, 1);
    let caller = stage.voter(1);
    let (first, second) = (cast(&stage, 1, &ballot, 5), cast(&stage, 1, &ballot, 7));
    stage.ask(0, caller.clone(), first).unwrap();
    assert!(matches!(refusal(stage.ask(0, caller, second)), Refusal::Malformed(_)));
    let breach = Breach::Equivocation { id: crate::stage::id(1), ballot: ballot.clone() };
    let equivocation = |event: &OwnEvent| *event == OwnEvent::Breach(breach.clone());
    assert_eq!(stage.told_own(0, equivocation), 1);
}

#[test]
fn running_promise_forbids_endorsement() {
    let mut stage = Stage::led(3);
    let before = stage.memory(1).counter();
    let vote = cast(&stage, 2, &ballot(99, 2), i64::MAX);
    let caller = stage.voter(2);
    assert!(
        matches!(stage.ask(1, caller, vote), Some(Answer::Cast(_))),
        "casting promises nothing"
    );
    stage.pass(ms(1_500));
    assert_eq!(stage.memory(1).counter(), before);
    assert!(!stage.own.two_led);
}

/// The ballots (9, n1) and (9, n2) have the same counter.
#[test]
fn each_counter_is_endorsed_once() {
    let mut stage = Stage::founded(3);
    endorse(&mut stage, 9);
    let (caller, vote) = (stage.voter(2), cast(&stage, 2, &ballot(9, 2), 8));
    assert_eq!(refusal(stage.ask(0, caller, vote)), Refusal::Endorsed { counter: 9 });
}

/// n0 endorses n1 in a ballot that n1 starts.
fn endorse(stage: &mut Stage, counter: u64) {
    let ballot = ballot(counter, 1);
    for (by, number) in [(1, Some(5)), (2, None)] {
        let (caller, vote) = (stage.voter(by), cast(stage, by, &ballot, number));
        stage.ask(0, caller, vote).unwrap();
    }
    assert_eq!(stage.memory(0).counter(), counter);
}

#[test]
fn endorsement_is_durable() {
    let mut stage = Stage::founded(3);
    endorse(&mut stage, 9);
    assert_eq!(stage.nodes[0].disk.counter(), 9);
    assert_eq!(stage.asked(0, |ask| matches!(ask, Ask::Result(_))).len(), 2);
}

#[test]
fn unwritten_endorsement_is_not_sent() {
    let mut stage = Stage::founded(3);
    stage.nodes[0].full = true;
    let ballot = ballot(9, 1);
    for (by, number) in [(1, Some(5)), (2, None)] {
        let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot, number));
        stage.ask(0, caller, vote);
    }
    assert_eq!(stage.memory(0).counter(), 0);
    assert!(stage.asked(0, |ask| matches!(ask, Ask::Result(_))).is_empty());
}

#[test]
fn a_tie_is_drawn_again_and_endorses_nobody() {
    let mut stage = Stage::founded(3);
    let ballot = ballot(9, 1);
    for by in [1, 2] {
        let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot, -5));
        stage.ask(0, caller, vote).unwrap();
    }
    assert_eq!(stage.told_own(0, |event| matches!(event, OwnEvent::Tie { .. })), 1);
    let recast = tenure_core::voter::Ballot { attempt: 1, ..ballot.clone() };
    let again = |event: &OwnEvent| *event == OwnEvent::Drawing { ballot: recast.clone() };
    assert_eq!(stage.told_own(0, again), 1);
    assert_eq!(stage.memory(0).counter(), 0);
}

/// n0 hears of a later electorate while it draws. Then there is a tie.
#[test]
fn tie_keeps_the_later_electorate() {
    let mut stage = Stage::founded(5);
    let ballot = ballot(9, 1);
    for by in [1, 2] {
        let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot, -5));
        stage.ask(0, caller, vote).unwrap();
    }
    let founded = stage.electorate(0);
    let later = Electorate { id: ElectorateId { counter: 8, change: 0 }, ..founded };
    for (_, to, call, _) in stage.asked(0, |ask| matches!(ask, Ask::Cast(_))) {
        if to > 2 {
            let answer = Answer::Refused(Refusal::OldElectorate(later.clone()));
            stage.reply(0, (to, call), stage.header(to), answer);
        }
    }
    assert_eq!(stage.told_own(0, |event| matches!(event, OwnEvent::Tie { .. })), 1);
    assert_eq!(stage.electorate(0), later);
    stage.pass(ms(3_000));
    let again =
        |event: &OwnEvent| matches!(event, OwnEvent::Drawing { ballot } if ballot.attempt > 0);
    assert_eq!(stage.told_own(0, again), 0);
}

#[test]
fn higher_ballot_voids_late_results() {
    let mut stage = Stage::founded(3);
    stage.partition(&[0]);
    stage.campaign(0, X);
    let (lower, higher) = (ballot(9, 1), ballot(9, 2));
    let (caller, vote) = (stage.voter(1), cast(&stage, 1, &lower, None));
    stage.ask(0, caller, vote).unwrap();
    let (caller, vote) = (stage.voter(2), cast(&stage, 2, &higher, None));
    stage.ask(0, caller, vote).unwrap();
    for by in [1, 2] {
        let (caller, result) = (stage.voter(by), result(&stage, by, &lower, 0));
        assert_eq!(stage.ask(0, caller, result), Some(Answer::Counted { open: false }));
    }
    assert!(stage.leaders(X).is_empty());
}

/// n0 promises itself 650 ms from its own vote on, and a ballot goes on for 1.2 s. The result of n1
/// comes before the end of that promise, or after the end.
#[test]
fn results_after_e_elect_nobody() {
    let brief = |node| Config {
        heartbeat: ms(400),
        tolerance: 6,
        request_timeout: ms(100),
        lease_max: Some(ms(650)),
        ..config(node, 3)
    };
    for (late, wins) in [(ms(600), 1), (ms(700), 0)] {
        let mut stage = Stage::with((0..3).map(brief).collect());
        (0..3).for_each(|node| stage.start(node));
        stage.pass(ms(5_000));
        stage.partition(&[0]);
        stage.campaign(0, X);
        let ballot = ballot(9, 1);
        let (caller, vote) = (stage.voter(1), cast(&stage, 1, &ballot, None));
        stage.ask(0, caller, vote).unwrap();
        stage.pass(late);
        let (caller, result) = (stage.voter(1), result(&stage, 1, &ballot, 0));
        assert_eq!(stage.ask(0, caller, result), Some(Answer::Counted { open: true }));
        let elected = stage.told(0, |event| matches!(event, Event::Elected { .. }));
        assert_eq!(elected, wins, "after {late:?}");
    }
}

/// The number −1 wins against the lowest number.
#[test]
fn numbers_are_signed() {
    let mut stage = Stage::founded(3);
    let ballot = ballot(9, 1);
    for (by, number) in [(1, i64::MIN), (2, -1)] {
        let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot, number));
        stage.ask(0, caller, vote).unwrap();
    }
    let results = stage.asked(0, |ask| matches!(ask, Ask::Result(_)));
    let Ask::Result(result) = &results[0].3 else { unreachable!() };
    assert_eq!(result.new_leader, stage.who(2));
    assert_eq!(result.votes.len(), 3);
}

/// Two crashed voters of five do not block a certificate, but three do.
#[test]
fn a_quorum_that_agrees_is_enough() {
    let mut stage = Stage::founded(5);
    [3, 4].into_iter().for_each(|node| stage.kill(node));
    stage.elect(1, ms(4_000));
    let mut stage = Stage::founded(5);
    [2, 3, 4].into_iter().for_each(|node| stage.kill(node));
    stage.campaign(1, X);
    stage.pass(ms(30_000));
    assert!(stage.leaders(X).is_empty());
}

/// A voter that has endorsed a candidate is free again once the candidate has given the ballot up.
#[test]
fn vain_endorsement_is_released() {
    let mut stage = Stage::founded(3);
    endorse(&mut stage, 9);
    assert!(stage.status(0).free.is_none());
    // n1 does not campaign, so its ballot ends without a leader.
    stage.pass(ms(1_250));
    assert!(stage.status(0).free.is_some());
}

/// Five voters draw, with four degrees of freedom: a fair draw exceeds 18.47 once in a thousand.
#[test]
fn the_draw_is_fair() {
    let long = std::env::var_os("TESTS_LONG").is_some();
    let elections = if long { 10_000 } else { 1_000 };
    let mut stage = Stage::founded(5);
    for node in 0..5 {
        stage.nodes[node].again = true;
        stage.campaign(node, X);
    }
    let mut wins = [0_u32; 5];
    for _ in 0..elections {
        stage.until(ms(8_000), |stage| stage.leaders(X).len() == 1);
        let leader = stage.leaders(X)[0];
        wins[leader] += 1;
        stage.own.log.clear();
        stage.command(leader, X, Command::Resign);
    }
    let expected = f64::from(elections) / 5.0;
    let chi_square: f64 =
        wins.iter().map(|wins| (f64::from(*wins) - expected).powi(2) / expected).sum();
    assert!(chi_square < 18.47, "{wins:?}: {chi_square}");
    assert!(!stage.own.two_led);
}

/// n0 answers, but its own calls reach no voter. If n0 won, it would lead for one lease without
/// acknowledgements. The others lead instead.
#[test]
fn deaf_voter_draws_no_number() {
    let mut stage = Stage::founded(3);
    stage.own.uncalled = vec![(0, 1), (0, 2)];
    (0..3).for_each(|node| stage.campaign(node, X));
    // By then the answers that n0 got before the cut are outdated.
    stage.pass(ms(10_000));
    stage.nodes[0].own.raises.clear();
    for _ in 0..12 {
        stage.until(ms(12_000), |stage| !stage.leaders(X).is_empty());
        let leader = stage.leaders(X)[0];
        stage.command(leader, X, Command::Resign);
        stage.pass(ms(10));
        stage.campaign(leader, X);
    }
    assert!(stage.nodes[0].own.raises.is_empty(), "it leads on the votes of others");
    stage.own.uncalled.clear();
    stage.until(ms(10_000), |stage| !stage.leaders(X).is_empty());
}

/// The calls of n1 and n2 do not reach the only candidate, and the candidate reports that.
#[test]
fn uncalled_candidate_reports_it() {
    let mut stage = Stage::founded(3);
    stage.own.uncalled = vec![(1, 0), (2, 0)];
    stage.pass(ms(10_000));
    stage.campaign(0, X);
    stage.pass(ms(30_000));
    assert!(stage.leaders(X).is_empty());
    let why = "it answers, but has not called this voter for 4s: it cannot reach http://n0, or the \
               certificate there has another name, or this voter refuses its requests (see the \
               log)";
    assert_eq!(waits(&stage, 0), format!("refused by n1: {why}; n2: {why}"));
    stage.own.uncalled.clear();
    stage.until(ms(10_000), |stage| stage.leaders(X) == [0]);
}
