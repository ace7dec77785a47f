//! Wall clocks that are wrong, or step (rulings 3 and 4).

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_core::allcall::{Callers, Config, Event, OwnEvent};
use tenure_core::{End, Loss, Waiting};

use crate::stage::{Stage, X, config, ms};

/// All clocks are set back together, so no clock is off.
#[test]
fn clock_set_back_lengthens_no_lease() {
    let mut stage = Stage::led(2);
    stage.nodes.iter_mut().for_each(|node| node.ahead = -8_000);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    let set_back = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockSetBack { .. }));
    assert!(stage.told(0, set_back) > 0);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    assert_eq!(stage.leaders(X), [1]);
}

/// A step of the clock moves neither the end of the leader's claim nor the end of the follower's
/// wait.
#[test]
fn clock_step_moves_no_fixed_end() {
    for step in [-900, 900] {
        for stepped in [0, 1] {
            let mut stage = Stage::led(2);
            stage.cut_off(0);
            stage.pass(ms(1_000));
            stage.nodes[stepped].ahead = step;
            stage.pass(ms(25_000));
            assert_eq!(stage.overlap(), Duration::ZERO, "{step} at {stepped}");
            assert_eq!(stage.leaders(X), [1], "{step} at {stepped}");
        }
    }
}

/// The others drop the leader's claims. If the leader did not stop, it would lead beside another
/// leader for ever.
#[test]
fn leader_with_wrong_clock_stops() {
    for off in [-5_000, 5_000] {
        let mut stage = Stage::led(3);
        stage.nodes[0].ahead = off;
        stage.pass(ms(30_000));
        assert_eq!(stage.leaders(X), [1], "{off}");
        let told =
            |event: &Event| matches!(event, Event::Own(OwnEvent::ClockOff { from: 2, of: 2 }));
        assert_eq!(stage.told(0, told), 1);
        stage.campaign(0, X);
        stage.pass(ms(3_000));
        let waits = |event: &Event| matches!(event, Event::Waiting(Waiting::Refused { .. }));
        assert_eq!(stage.told(0, waits), 1);
        // The former leader takes part again once its clock is right.
        stage.nodes[0].ahead = 0;
        stage.pass(ms(40_000));
        assert_eq!(stage.leaders(X), [0], "{off}");
        assert_eq!(stage.told(0, |event| *event == Event::Own(OwnEvent::ClockRight)), 1);
    }
}

/// Two clocks have always differed, and neither process knows which of them is wrong.
#[test]
fn two_differing_clocks_are_reported() {
    let mut stage = Stage::new(2);
    stage.nodes[1].ahead = 4_000;
    stage.contend_together(2);
    stage.pass(ms(30_000));
    for node in [0, 1] {
        let told = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockOff { .. }));
        assert_eq!(stage.told(node, told), 1);
    }
    assert!(stage.leaders(X).contains(&0));
}

/// Steps of a clock beyond the skew, in milliseconds: forwards and backwards, small and large.
const STEPS: [i64; 6] = [-60_000, -8_000, -2_600, 2_600, 8_000, 60_000];

/// The critical instants of a term, in milliseconds: around each call, its answers and the end of
/// its round, for eight rounds. The first renewal is among them.
fn instants() -> impl Iterator<Item = u64> {
    (0..8).flat_map(|beat| [0, 3, 130, 400, 999].map(|part| beat * 1_000 + part))
}

/// A clock steps at each of these instants. A participant with a wrong clock does not lead, and the
/// best participant leads again once its clock is right. Returns the time for which two led.
fn steps(nodes: usize, stepped: usize) -> Duration {
    let mut most = Duration::ZERO;
    for (step, at) in STEPS.into_iter().flat_map(|step| instants().map(move |at| (step, at))) {
        let mut stage = Stage::led(nodes);
        stage.nodes.iter_mut().for_each(|node| node.again = true);
        stage.pass(ms(at));
        stage.nodes[stepped].ahead = step;
        stage.pass(ms(45_000));
        most = most.max(stage.overlap());
        let (right, who) = (1 - stepped.min(1), stage.leaders(X));
        assert!(most > Duration::ZERO || who == [right], "{step} at {at}: {who:?}");
        stage.nodes[stepped].ahead = 0;
        stage.pass(ms(45_000));
        most = most.max(stage.overlap());
        assert!(most > Duration::ZERO || stage.leaders(X) == [0], "{step} at {at}");
    }
    most
}

/// The clock steps after the answers of a round. The others drop the leader's claim from then on,
/// so the leader must not renew.
#[test]
fn clock_step_after_answers_prevents_renewal() {
    for stepped in [0, 1] {
        assert_eq!(steps(3, stepped), Duration::ZERO, "{stepped}");
    }
}

/// Both clocks were right, so the clock that has moved is the wrong one.
#[test]
fn stepped_clock_of_two_stops() {
    for stepped in [0, 1] {
        assert_eq!(steps(2, stepped), Duration::ZERO, "{stepped}");
    }
}

/// Wall clocks run faster than CLOCK_BOOTTIME by a thousandth, and one of them is a minute ahead.
#[test]
fn wrong_clock_stays_off_under_drift() {
    for stepped in [0, 1] {
        let mut stage = Stage::led(2);
        stage.nodes.iter_mut().for_each(|node| node.again = true);
        stage.nodes[stepped].ahead = 60_000;
        for _ in 0..5_000 {
            stage.pass(ms(1_000));
            stage.nodes.iter_mut().for_each(|node| node.ahead += 1);
        }
        assert_eq!(stage.overlap(), Duration::ZERO, "{stepped}");
        assert_eq!(stage.leaders(X), [1 - stepped]);
    }
}

/// A round without answers does not show that a clock is right.
#[test]
fn lost_answers_prove_no_clock() {
    let mut stage = Stage::led(3);
    stage.pass(ms(900));
    stage.nodes[0].ahead = 60_000;
    // The calls of node 0 arrive, but no answer reaches node 0.
    stage.cut.extend([(1, 0), (2, 0)]);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// By its wrong clock a process believes that a live claim is over. Once its clock is right, the
/// process waits for the end of that claim.
#[test]
fn corrected_clock_extends_known_claim() {
    for at in [400, 1_400, 2_400, 3_400] {
        let mut stage = Stage::led(2);
        stage.nodes.iter_mut().for_each(|node| node.again = true);
        stage.pass(ms(at));
        stage.nodes[0].ahead = 8_000;
        stage.pass(ms(45_000));
        assert_eq!(stage.leaders(X), [1], "{at}");
        stage.nodes[0].ahead = 0;
        stage.pass(ms(45_000));
        assert_eq!(stage.overlap(), Duration::ZERO, "{at}");
        assert_eq!(stage.leaders(X), [0], "{at}");
    }
}

/// A process that hears no other leads by any clock, and gives way once it hears others.
#[test]
fn lonely_process_leads_by_any_clock() {
    for step in STEPS {
        let mut stage = Stage::led(2);
        stage.nodes.iter_mut().for_each(|node| node.again = true);
        stage.partition(&[0]);
        stage.nodes[0].ahead = step;
        stage.pass(ms(60_000));
        assert_eq!(stage.leaders(X), [0, 1], "{step}");
        stage.heal();
        stage.pass(ms(15_000));
        assert_eq!(stage.leaders(X), [1], "{step}");
        stage.nodes[0].ahead = 0;
        stage.pass(ms(45_000));
        assert_eq!(stage.leaders(X), [0], "{step}");
    }
}

/// Clocks are within K of true time, and the leader is suspended until its lease is over.
#[test]
fn clocks_within_skew_never_differ() {
    for (holder, other) in [(-1_000, 1_000), (1_000, -1_000), (1_000, 1_000)] {
        let mut stage = Stage::new(2);
        (stage.nodes[0].ahead, stage.nodes[1].ahead) = (holder, other);
        stage.contend_together(2);
        stage.pass(ms(16_000));
        assert_eq!(stage.leaders(X), [0]);
        stage.nodes[0].stopped = true;
        stage.pass(ms(20_000));
        assert_eq!(stage.leaders(X), [1], "it has slept over its end");
        stage.nodes[0].again = true;
        stage.go_on(0);
        stage.pass(ms(40_000));
        assert_eq!(stage.overlap(), Duration::ZERO);
        assert_eq!(stage.leaders(X), [0]);
    }
}

/// The clock of a participant steps while the participant is stopped, between its own call and the
/// answers. The participant must not take the silence for a lack of others, and its round is void.
/// Returns the time for which two led.
fn stopped_and_stepped(step: i64, delay: Duration) -> Duration {
    let mut stage = Stage::led(3);
    stage.delay = delay;
    stage.pass(ms(5_000));
    stage.own.log.clear();
    let calls = stage.until(ms(1_500), |stage| stage.calls(2) > 0);
    assert!(calls < ms(1_500));
    // The participant has heard its own call, but no answer yet.
    stage.pass(delay + delay / 2 - ms(5));
    stage.nodes[2].stopped = true;
    stage.pass(ms(15_000));
    stage.nodes[2].ahead = step;
    stage.go_on(2);
    stage.pass(ms(30_000));
    stage.overlap()
}

#[test]
fn clock_step_during_pause_is_noticed() {
    for step in [60_000, -60_000] {
        assert_eq!(stopped_and_stepped(0, ms(100)), Duration::ZERO, "without a step");
        assert_eq!(stopped_and_stepped(step, ms(100)), Duration::ZERO, "{step}");
    }
}

/// Both clocks were right, and only the leader calls. Then the clock of the silent participant
/// steps.
#[test]
fn silent_participant_notices_clock_step() {
    let callers = Callers::Few(NonZeroU16::MIN);
    let configs = (0..2).map(|node| Config { callers, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.contend(0);
    stage.pass(ms(15_000));
    stage.contend(1);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.nodes[1].ahead = 60_000;
    stage.pass(ms(60_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}
