//! Leases from promises (V6, V7).

use std::time::Duration;

use tenure_core::voter::{Answer, Ask, BeatenDto, Caller, Config, Leadership, Refusal};
use tenure_core::{End, Loss, Time};

use crate::stage::{Stage, X, acknowledged, ballot, cast, config, leads, ms, refusal};

/// A network far apart: a message takes 100 ms.
fn far() -> Stage {
    let mut stage = Stage::founded(3);
    stage.delay = ms(100);
    stage.elect(0, ms(3_000));
    stage
}

fn counted(stage: &Stage) -> Duration {
    let config = &stage.nodes[0].config;
    config.counted(config.lease())
}

#[test]
fn an_endorsement_counts_from_the_winners_own_cast() {
    let stage = far();
    let (sent, ..) = stage.asked(0, |ask| matches!(ask, Ask::Cast(_)))[0];
    let (raised, until) = stage.nodes[0].own.raises[0];
    let spent = stage.nodes[0].own.raises[0].0.since(Time::ZERO);
    assert!(spent > Duration::ZERO);
    // The clock of n0 shows true time.
    let since = stage.clock(0).since(raised);
    let won = stage.now.before(since);
    assert_eq!(until.since(raised), counted(&stage) - won.since(sent));
}

/// Each answer arrives 200 ms after the send of its request.
#[test]
fn an_acknowledgement_counts_from_its_request() {
    let mut stage = far();
    stage.pass(ms(5_000));
    let most = counted(&stage) - ms(200);
    let raises = &stage.nodes[0].own.raises;
    assert!(raises.len() > 4);
    assert!(raises.iter().skip(1).all(|(at, until)| until.since(*at) <= most));
}

#[test]
fn drift_shortens_a_promise() {
    let mut stage = far();
    stage.pass(ms(5_000));
    let lease = stage.nodes[0].config.lease();
    assert!(counted(&stage) < lease);
    let raises = &stage.nodes[0].own.raises;
    assert!(raises.iter().skip(1).all(|(at, until)| until.since(*at) < lease - ms(200) - ms(5)));
}

#[test]
fn an_answer_carries_what_is_held() {
    let mut stage = Stage::new(3);
    stage.nodes[1].config.lease_max = Some(ms(2_000));
    (0..3).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    let (caller, beat) =
        (stage.voter(0), leads(&stage, 0, 9_000, &ballot(9, 0), stage.electorate(0)));
    let Some(Answer::Heartbeat(BeatenDto { promise: Some(ack), .. })) = stage.ask(1, caller, beat)
    else {
        panic!("not acknowledged");
    };
    assert_eq!(ack.promise.span, ms(2_000));
    stage.pass(ms(1_990));
    assert!(stage.status(1).free.is_none());
    stage.pass(ms(20));
    assert!(stage.status(1).free.is_some());
}

#[test]
fn lapsed_leadership_stays_over() {
    let mut stage = Stage::led(3);
    stage.partition(&[0]);
    stage.pass(ms(5_000));
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    stage.cut.clear();
    stage.pass(ms(5_000));
    assert!(!stage.own.two_led && stage.leaders(X).len() == 1 && stage.leaders(X) != [0]);
}

/// The endorsement comes 900 ms after a heartbeat, and binds for its whole length.
#[test]
fn a_promise_counts_from_when_its_request_arrived() {
    let mut stage = Stage::founded(3);
    stage.pass(ms(900));
    stage.partition(&[0]);
    for (by, number) in [(1, Some(5)), (2, None)] {
        let (caller, vote) = (stage.voter(by), cast(&stage, by, &ballot(9, 1), number));
        stage.ask(0, caller, vote).unwrap();
    }
    let lease = stage.nodes[0].config.lease();
    stage.pass(lease - ms(50));
    assert!(stage.status(0).free.is_none());
    stage.pass(ms(51));
    assert!(stage.status(0).free.is_some());
}

/// A leader that is cut off, and its open heartbeat to n1.
fn cut_off() -> (Stage, tenure_core::voter::Call, u64, Leadership) {
    let mut stage = Stage::led(3);
    stage.partition(&[0]);
    stage.own.log.clear();
    stage.until(ms(1_200), |stage| {
        stage.own.log.iter().any(|(_, from, to, ..)| (*from, *to) == (0, 1))
    });
    let asked = stage.asked(0, |ask| matches!(ask, Ask::Heartbeat(_)));
    let (_, _, call, ask) = asked.into_iter().find(|(_, to, ..)| *to == 1).unwrap();
    let Ask::Heartbeat(beat) = ask else { unreachable!() };
    (stage, call, beat.seq, beat.lease.unwrap().leadership)
}

#[test]
fn answer_counts_for_named_leadership() {
    let (mut stage, call, seq, leadership) = cut_off();
    let raises = stage.nodes[0].own.raises.len();
    let mut other = leadership.clone();
    other.ballot.counter -= 1;
    let (header, ack) = (stage.header(1), acknowledged(&stage, 1, seq, &other));
    stage.reply(0, (1, call), header, ack);
    assert_eq!(stage.nodes[0].own.raises.len(), raises);
    // An answer for the present leadership counts.
    let (mut stage, call, seq, leadership) = cut_off();
    let (header, ack) = (stage.header(1), acknowledged(&stage, 1, seq, &leadership));
    stage.reply(0, (1, call), header, ack);
    assert_eq!(stage.nodes[0].own.raises.len(), raises + 1);
}

/// Both followers answer that they promise ten times the lease. A single answer of that kind would
/// change nothing: the leader's promise to itself would be the second largest.
#[test]
fn promises_count_up_to_the_lease() {
    let (mut stage, ..) = cut_off();
    let before = stage.nodes[0].own.raises.len();
    for (_, to, call, ask) in stage.asked(0, |ask| matches!(ask, Ask::Heartbeat(_))) {
        let Ask::Heartbeat(beat) = ask else { unreachable!() };
        let (seq, leadership) = (beat.seq, beat.lease.unwrap().leadership);
        let Answer::Heartbeat(mut beaten) = acknowledged(&stage, to, seq, &leadership) else {
            unreachable!()
        };
        if let Some(ack) = &mut beaten.promise {
            ack.promise.span *= 10;
        }
        stage.reply(0, (to, call), stage.header(to), Answer::Heartbeat(beaten));
    }
    let raises = &stage.nodes[0].own.raises;
    assert!(raises.len() > before, "both answers count");
    let (at, until) = raises[raises.len() - 1];
    assert!(until.since(at) <= counted(&stage), "{:?}", until.since(at));
}

#[test]
fn answer_counts_for_asked_voter() {
    let (mut stage, call, seq, leadership) = cut_off();
    let raises = stage.nodes[0].own.raises.len();
    let (header, ack) = (stage.header(2), acknowledged(&stage, 2, seq, &leadership));
    stage.reply(0, (1, call), header, ack);
    assert_eq!(stage.nodes[0].own.raises.len(), raises);
}

#[test]
fn an_answer_after_its_timeout_changes_nothing() {
    let (mut stage, call, seq, leadership) = cut_off();
    let raises = stage.nodes[0].own.raises.len();
    stage.pass(ms(301));
    let (header, ack) = (stage.header(1), acknowledged(&stage, 1, seq, &leadership));
    stage.reply(0, (1, call), header, ack);
    assert_eq!(stage.nodes[0].own.raises.len(), raises);
}

#[test]
fn another_leader_is_acknowledged_when_no_promise_runs() {
    let mut stage = Stage::led(3);
    let (caller, beat) =
        (stage.voter(2), leads(&stage, 2, 9_000, &ballot(99, 2), stage.electorate(2)));
    let refused = refusal(stage.ask(1, caller, beat));
    assert!(matches!(refused, Refusal::Promised { .. }), "{refused}");
    [0, 2].into_iter().for_each(|node| stage.kill(node));
    stage.pass(ms(5_000));
    let header = |stage: &mut Stage| {
        stage.start(2);
        stage.voter(2)
    };
    let caller = header(&mut stage);
    let beat = leads(&stage, 2, 9_001, &ballot(99, 2), stage.electorate(2));
    let answer = stage.ask(1, caller, beat);
    assert!(matches!(answer, Some(Answer::Heartbeat(BeatenDto { promise: Some(_), .. }))));
}

#[test]
fn acknowledgement_is_durable() {
    let mut stage = Stage::founded(3);
    let (caller, beat) =
        (stage.voter(2), leads(&stage, 2, 9_000, &ballot(9, 2), stage.electorate(2)));
    stage.ask(1, caller, beat).unwrap();
    assert_eq!(stage.nodes[1].disk.counter(), 9);
}

/// The text counts only the other voters: then both halves of four would have a quorum.
#[test]
fn neither_half_of_four_leads() {
    let mut stage = Stage::led(4);
    (0..4).for_each(|node| stage.nodes[node].again = true);
    stage.partition(&[0, 1]);
    stage.pass(ms(60_000));
    assert!(!stage.own.two_led && stage.leaders(X).is_empty());
    stage.cut.clear();
    let most = stage.nodes[0].config.failover() * 3;
    stage.until(most, |stage| stage.leaders(X).len() == 1);
}

/// A restarted voter knows no other voter. By itself it is no quorum of its electorate.
#[test]
fn a_quorum_is_one_of_the_electorate() {
    let mut stage = Stage::led(3);
    stage.partition(&[2]);
    stage.kill(2);
    stage.start(2);
    stage.campaign(2, X);
    stage.pass(ms(60_000));
    assert_eq!(stage.leaders(X), [0]);
    assert!(!stage.own.two_led);
}

#[test]
fn a_heartbeat_that_is_not_later_is_ignored() {
    let mut stage = Stage::founded(3);
    let (caller, beat) =
        (stage.voter(2), leads(&stage, 2, 9_000, &ballot(9, 2), stage.electorate(2)));
    stage.ask(1, caller.clone(), beat.clone()).unwrap();
    assert_eq!(refusal(stage.ask(1, caller, beat)), Refusal::OldHeartbeat);
}

#[test]
fn quorum_of_acknowledgements_settles_leader() {
    let mut stage = Stage::founded(3);
    stage.delay = ms(50);
    stage.campaign(0, X);
    let settled =
        |stage: &Stage| stage.told(0, |event| matches!(event, tenure_core::voter::Event::Settled));
    stage.until(ms(3_000), |stage| stage.leaders(X) == [0]);
    assert_eq!(settled(&stage), 0);
    stage.pass(ms(101));
    assert_eq!(settled(&stage), 1);
    let status = stage.status(1);
    let leader = status.leader.unwrap();
    assert_eq!(leader.leadership.leader, stage.who(0));
    let caller = Caller::Operator;
    assert!(matches!(refusal(stage.ask(1, caller, Ask::Start)), Refusal::Leads(_)));
}

/// Heartbeats are long. n2 is free, and polls the others from time to time. When n0 dies, n2 leads
/// within the bound.
#[test]
fn long_heartbeats_keep_the_bound() {
    let (h, t) = (10_000, 300);
    let slow = |node| Config {
        heartbeat: ms(h),
        request_timeout: ms(t),
        cast_timeout: ms(2 * t),
        result_timeout: ms(2 * t),
        ..config(node, 3)
    };
    let beats = |stage: &Stage| stage.asked(0, |ask| matches!(ask, Ask::Heartbeat(_))).len();
    for phase in 0..12 {
        let mut stage = Stage::with((0..3).map(slow).collect());
        (0..3).for_each(|node| stage.start(node));
        stage.pass(ms(6 * h));
        stage.campaign(0, X);
        stage.until(ms(20 * h), |stage| stage.leaders(X) == [0]);
        stage.partition(&[2]);
        stage.pass(ms(6 * h + phase * h / 12));
        stage.campaign(2, X);
        stage.pass(ms(6 * h));
        // n1 has just promised once more, and n2 waits only for the end of this promise.
        let before = beats(&stage);
        stage.until(ms(2 * h), |stage| beats(stage) > before);
        stage.kill(0);
        stage.cut.clear();
        let most = stage.nodes[2].config.failover();
        stage.until(most, |stage| stage.leaders(X) == [2]);
    }
}
