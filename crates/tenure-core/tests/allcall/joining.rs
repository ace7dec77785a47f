//! Participants that join, or come back, listen first (rulings 1, 6, 8 and 9).

use std::time::Duration;

use tenure_core::allcall::{Body, Command, Config, Event, OwnEvent};
use tenure_core::{End, Waiting};

use crate::stage::{Says, Stage, X, call, config, ms};

const LISTENS: Duration = Duration::from_secs(11);

/// The author of the text later published code. In this story that code has two leaders for about
/// 8 s.
#[test]
fn better_newcomer_leads_after_the_lease() {
    let mut stage = Stage::new(2);
    stage.contend(1);
    // Start the better participant just before the leader renews.
    stage.pass(LISTENS + ms(5_800));
    assert_eq!(stage.leaders(X), [1]);
    stage.contend(0);
    stage.pass(3 * LISTENS);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Participant 1 leads, and the other no longer hears it.
fn silent_leader() -> Stage {
    let mut stage = Stage::new(2);
    stage.contend(1);
    stage.pass(LISTENS + ms(3_500));
    stage.own.loses = |from, to, _| from == 1 && to != 1;
    stage
}

#[test]
fn newcomer_waits_for_unheard_leaders() {
    let mut stage = silent_leader();
    stage.contend(0);
    stage.pass(ms(7_000));
    assert_eq!(stage.leaders(X), [1]);
    let waits = |event: &Event| matches!(event, Event::Waiting(Waiting::Listening { .. }));
    assert_eq!(stage.told(0, waits), 1);
}

#[test]
fn each_election_has_its_wait() {
    let mut stage = silent_leader();
    stage.join(0);
    stage.campaign(0, "y");
    stage.pass(LISTENS + ms(5_000));
    assert_eq!(stage.leaders("y"), [0]);
    // A process that has long been running campaigns in another election.
    stage.campaign(0, X);
    stage.pass(ms(7_000));
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn a_newcomer_with_other_times_refuses_to_start() {
    let lease = Duration::from_secs(12);
    let mut stage = Stage::with(vec![config(0), Config { lease, ..config(1) }]);
    stage.contend(0);
    stage.pass(LISTENS + ms(4_000));
    stage.contend(1);
    stage.pass(ms(2_000));
    let Some(End::Refused { why }) = stage.ended(1, X) else { panic!("{:?}", stage.ended(1, X)) };
    assert!(why.contains("lease 10s") && why.contains("lease 12s"), "{why}");
    stage.campaign(1, X);
    assert!(matches!(stage.ended(1, X), Some(End::Refused { .. })));
    stage.pass(3 * LISTENS);
    assert_eq!(stage.leaders(X), [0]);
    let other = |event: &Event| matches!(event, Event::Own(OwnEvent::OtherTimes { .. }));
    assert_eq!(stage.told(0, other), 0, "the one that was there first goes on");
}

/// A newcomer also observes, so its rounds are valid while it listens. The newcomer hears a
/// participant with other times at the end of its wait, and decides 1.5 H later.
#[test]
fn undecided_newcomer_does_not_lead() {
    let mut stage = Stage::with(vec![config(0), Config { lease: ms(11_900), ..config(1) }]);
    stage.contend(0);
    stage.pass(ms(15_312));
    stage.partition(&[0]);
    stage.join(1);
    stage.observe(1, X);
    stage.campaign(1, X);
    // The newcomer listens for 12.9 s. The first call that reaches it comes just before the end of
    // that time.
    stage.pass(ms(12_200));
    stage.heal();
    stage.pass(ms(1_888));
    assert_eq!((stage.calls(1) > 0, stage.ended(1, X)), (true, None));
    assert_eq!(stage.leaders(X), [0]);
    stage.pass(ms(1_000));
    assert!(matches!(stage.ended(1, X), Some(End::Refused { .. })), "{:?}", stage.ended(1, X));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Both participants start at once. The first has the shorter lease, so its wait is over a second
/// earlier.
#[test]
fn first_newcomer_decides_the_times() {
    let lease = Duration::from_secs(11);
    let mut stage = Stage::with(vec![config(0), Config { lease, ..config(1) }]);
    (0..2).for_each(|node| stage.contend(node));
    stage.pass(3 * LISTENS);
    assert!(matches!(stage.ended(1, X), Some(End::Refused { .. })), "{:?}", stage.ended(1, X));
    assert_eq!(stage.leaders(X), [0]);
}

/// Participant 0 has a lease of 10 s and leads. The others have a lease of 12 s and have not
/// started.
fn of_other_times(others: usize) -> Stage {
    let other = |node| Config { lease: Duration::from_secs(12), ..config(node) };
    let mut stage = Stage::with([config(0)].into_iter().chain((1..=others).map(other)).collect());
    stage.contend(0);
    stage.pass(LISTENS + ms(4_000));
    stage
}

fn told_of_other_times(stage: &Stage, node: usize) -> usize {
    let told =
        |event: &Event| matches!(event, Event::Own(OwnEvent::OtherTimes { refuses: false, .. }));
    stage.told(node, told)
}

/// All participants have new times. Then a stranger repeats a packet with the earlier times.
#[test]
fn old_packets_refuse_no_newcomer() {
    let mut stage = of_other_times(1);
    let old = stage.last(0, |body| matches!(body, Body::Call(_)));
    stage.kill(0);
    stage.pass(ms(60_000));
    stage.contend(1);
    stage.deliver(1, old);
    stage.pass(2 * LISTENS);
    assert_eq!(stage.ended(1, X), None);
    assert_eq!(stage.leaders(X), [1]);
}

/// The two sides of a partition have different times, and a newcomer starts after the heal.
#[test]
fn newcomer_joins_participants_with_its_times() {
    let mut stage = of_other_times(2);
    stage.partition(&[0]);
    stage.contend(1);
    stage.pass(2 * LISTENS);
    assert_eq!(stage.leaders(X), [0, 1]);
    stage.heal();
    stage.contend(2);
    stage.pass(2 * LISTENS);
    assert_eq!(stage.ended(2, X), None);
    for node in 0..3 {
        // Each participant reports the other times once.
        assert_eq!(told_of_other_times(&stage, node), 1, "{node}");
    }
    stage.kill(1);
    stage.pass(3 * LISTENS);
    assert_eq!(stage.leaders(X), [0, 2]);
}

#[test]
fn another_run_of_a_process_is_somebody_else() {
    let namesake = Config { id: "n0".parse().unwrap(), rank: Some(7), ..config(1) };
    let mut stage = Stage::with(vec![config(0), namesake]);
    stage.contend(0);
    stage.pass(LISTENS + ms(4_000));
    stage.contend(1);
    stage.pass(3 * LISTENS);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

#[test]
fn claim_of_earlier_run_delays_successor() {
    let mut stage = Stage::led(2);
    stage.kill(0);
    stage.restart(0, config(0), 99 << 96);
    stage.campaign(0, X);
    stage.pass(ms(8_000));
    assert!(stage.leaders(X).is_empty());
    stage.pass(ms(7_000));
    assert_eq!(stage.leaders(X).len(), 1);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Each of two candidates with one name, or with one rank, reports that once to its operator.
#[test]
fn the_same_name_or_rank_is_told() {
    let namesake = Config { id: "n0".parse().unwrap(), rank: Some(7), ..config(1) };
    let peer = Config { rank: Some(0), ..config(1) };
    for (other, told) in [(config(1), [0, 0]), (namesake, [1, 0]), (peer, [0, 1])] {
        let mut stage = Stage::with(vec![config(0), other]);
        [0, 1].into_iter().for_each(|node| stage.contend(node));
        stage.pass(3 * LISTENS);
        let name = |event: &Event| matches!(event, Event::Own(OwnEvent::SameName { .. }));
        let rank = |event: &Event| matches!(event, Event::Own(OwnEvent::SameRank { .. }));
        for node in [0, 1] {
            assert_eq!([stage.told(node, name), stage.told(node, rank)], told);
        }
    }
}

fn eligible(stage: &Stage, node: usize) -> bool {
    match stage.last(node, |body| matches!(body, Body::Call(_))).body {
        Body::Call(call) => call.entries[0].eligible,
        _ => unreachable!(),
    }
}

#[test]
fn void_round_holds_candidate_off() {
    let mut stage = Stage::led(2);
    assert!(eligible(&stage, 1));
    stage.cut_off(1);
    stage.pass(ms(2_500));
    let void = |event: &Event| matches!(event, Event::Own(OwnEvent::Void { .. }));
    assert_eq!(stage.told(1, void), 1, "of several in a row the first");
    stage.heal();
    stage.pass(ms(8_000));
    assert!(!eligible(&stage, 1));
    stage.pass(ms(6_000));
    assert!(eligible(&stage, 1));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn without_rejoin_wait_one_round_suffices() {
    let configs = (0..2).map(|node| Config { rejoin_wait: false, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.contend_together(2);
    stage.pass(ms(15_000));
    stage.cut_off(1);
    stage.pass(ms(2_500));
    stage.heal();
    stage.pass(ms(3_000));
    assert!(eligible(&stage, 1));
}

#[test]
fn a_reconnection_keeps_who_one_is() {
    let mut stage = Stage::led(2);
    let before = stage.last(0, |_| true).header;
    let round = |stage: &Stage| match stage.last(0, |body| matches!(body, Body::Call(_))).body {
        Body::Call(call) => call.round,
        _ => unreachable!(),
    };
    let last = round(&stage);
    stage.link_down(0);
    stage.pass(ms(1_000));
    stage.link_up(0);
    stage.pass(ms(1_500));
    let after = stage.last(0, |_| true).header;
    assert_eq!((after.rank, after.sender), (before.rank, before.sender));
    assert!(round(&stage) > last);
    assert_eq!(stage.leaders(X), [0], "a leader leads until its deadline");
}

/// The best candidate says that it is eligible, and never claims.
#[test]
fn second_best_stands_after_the_best() {
    let mut stage = Stage::with(vec![config(1), config(2)]);
    stage.contend_together(2);
    stage.pass(LISTENS + ms(500));
    let best = stage.stranger("best", 0);
    let mut led = Vec::new();
    for _ in 0..8 {
        let packet = call(&stage, &best, true, None);
        (0..2).for_each(|node| stage.deliver(node, packet.clone()));
        stage.pass(ms(1_000));
        led.push(stage.leaders(X));
    }
    // The vacancy shows one heartbeat after the first full round. The second best stands 2H + 2K
    // later.
    let vacant: Vec<usize> = Vec::new();
    assert_eq!(led[..5], [(); 5].map(|()| vacant.clone()));
    assert_eq!(led[6], [0]);
    assert_eq!(stage.overlap(), Duration::ZERO);
    assert!(stage.said(0).iter().any(|packet| packet.body.claim().is_some()));
}

/// A void round restarts the wait, because the better candidate may have had a void round as well.
#[test]
fn void_round_restarts_the_wait() {
    let mut stage = Stage::with(vec![Config { rejoin_wait: false, ..config(1) }]);
    stage.contend(0);
    stage.pass(LISTENS + ms(500));
    let best = stage.stranger("best", 0);
    let mut led = Vec::new();
    for beat in 0..13 {
        // This process loses its call 3 s after its wait for the best candidate began.
        stage.cut = if beat == 4 { vec![(0, 0)] } else { Vec::new() };
        let packet = call(&stage, &best, true, None);
        stage.deliver(0, packet);
        stage.pass(ms(1_000));
        led.push(stage.leaders(X).len());
    }
    // This process is announced again 2 s after the lost call. 2H + 2K count from the end of that
    // round.
    assert_eq!(led[..11], [0; 11]);
    assert_eq!(led[12], 1);
}

/// Two participants at two servers join at once, and the only leader resigns while they listen. The
/// seat is then vacant for longer than 2H + 2K when they are ready. The second best still waits for
/// the best.
#[test]
fn two_ready_newcomers_elect_one() {
    let mut stage = Stage::new(3);
    stage.own.route = ms(50);
    stage.contend(2);
    stage.pass(ms(15_000));
    assert_eq!(stage.leaders(X), [2]);
    [0, 1].into_iter().for_each(|node| stage.contend(node));
    stage.pass(ms(2_000));
    stage.command(2, X, Command::Resign);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// The second best is ready first. Without a wait the second best would lead, and the claim of the
/// best would not beat it.
#[test]
fn second_best_waits_for_announced_best() {
    let mut stage = Stage::new(3);
    stage.contend(2);
    stage.pass(ms(15_000));
    for node in [1, 0] {
        stage.contend(node);
        stage.pass(Duration::from_micros(500));
    }
    stage.pass(ms(2_000));
    stage.command(2, X, Command::Resign);
    stage.pass(ms(13_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// The connection of a newcomer is lost at once, and comes back after L + K. The newcomer has heard
/// no packet, so it still is a newcomer.
#[test]
fn disconnected_listener_stays_a_newcomer() {
    let other = Config { lease: ms(20_000), ..config(1) };
    let mut stage = Stage::with(vec![config(0), other]);
    stage.contend(0);
    stage.pass(ms(30_100));
    stage.contend(1);
    stage.pass(ms(100));
    stage.link_down(1);
    stage.pass(ms(22_000));
    stage.link_up(1);
    stage.pass(ms(60_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    assert!(matches!(stage.ended(1, X), Some(End::Refused { .. })), "{:?}", stage.ended(1, X));
}

/// An interrupted wait begins anew, however short the interruption was.
#[test]
fn an_initial_wait_that_is_interrupted_begins_anew() {
    let configs = (0..2).map(|node| Config { rejoin_wait: false, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.contend(1);
    stage.pass(ms(100));
    stage.link_down(1);
    stage.pass(ms(11_000));
    stage.link_up(1);
    stage.own.log.clear();
    stage.pass(ms(10_000));
    assert_eq!(stage.calls(1), 0, "it has listened for 10.1 s in all, and L + K is 11 s");
}
