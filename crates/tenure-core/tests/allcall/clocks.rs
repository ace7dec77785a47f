//! Wall clocks that are wrong, or step (rulings 3 and 4).

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_core::allcall::{Callers, Config, Event, OwnEvent};
use tenure_core::{End, Loss, Waiting};

use crate::stage::{Stage, X, config, ms};

/// All clocks agree, so that none is off: somebody has set them all back.
#[test]
fn a_clock_that_is_set_back_lengthens_no_lease() {
    let mut stage = Stage::led(2);
    stage.nodes.iter_mut().for_each(|node| node.ahead = -8_000);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    let set_back = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockSetBack { .. }));
    assert!(stage.told(0, set_back) > 0);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    assert_eq!(stage.leaders(X), [1]);
}

/// Neither end moves: not the handle's, and not what others wait for.
#[test]
fn a_step_in_the_middle_of_a_term_moves_nothing_that_was_fixed() {
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

/// The others drop its claims, and it would lead beside them for ever.
#[test]
fn one_whose_clock_is_off_does_not_go_on() {
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
        // Set right, it takes part again.
        stage.nodes[0].ahead = 0;
        stage.pass(ms(40_000));
        assert_eq!(stage.leaders(X), [0], "{off}");
        assert_eq!(stage.told(0, |event| *event == Event::Own(OwnEvent::ClockRight)), 1);
    }
}

/// Of two clocks that have differed from the beginning nobody knows which is off.
#[test]
fn two_whose_clocks_differ_say_so_and_go_on() {
    let mut stage = Stage::new(2);
    stage.nodes[1].ahead = 4_000;
    (0..2).for_each(|node| stage.join(node));
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(30_000));
    for node in [0, 1] {
        let told = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockOff { .. }));
        assert_eq!(stage.told(node, told), 1);
    }
    assert!(stage.leaders(X).contains(&0));
}

/// Steps either way, of the leader or of another, small and large ones beyond the skew.
const STEPS: [i64; 6] = [-60_000, -8_000, -2_600, 2_600, 8_000, 60_000];

/// The instants of a term at which something may go wrong: around a round's call, its answers, its
/// end, and the first renewal, which is due half a lease after the grant.
fn instants() -> impl Iterator<Item = u64> {
    (0..8).flat_map(|beat| [0, 3, 130, 400, 999].map(|part| beat * 1_000 + part))
}

/// Whatever steps, and whenever it does: there are never two leaders, and the one whose clock has
/// moved leads no more until it is right again. Says how long two led.
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

/// The others drop its claim, and it would lead beside them for the rest of its lease.
#[test]
fn a_clock_that_steps_after_the_answers_renews_nothing() {
    for stepped in [0, 1] {
        assert_eq!(steps(3, stepped), Duration::ZERO, "{stepped}");
    }
}

/// Of two clocks that differ it is the one that has moved.
#[test]
fn of_two_the_one_whose_clock_has_stepped_does_not_go_on() {
    for stepped in [0, 1] {
        assert_eq!(steps(2, stepped), Duration::ZERO, "{stepped}");
    }
}

/// Wall clocks run by a thousandth faster than CLOCK_BOOTTIME, and one of them is a minute ahead.
#[test]
fn of_two_the_one_that_is_off_stays_so_while_boot_time_drifts() {
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

/// A round that nobody answered shows nothing while others are there.
#[test]
fn a_clock_that_has_stepped_is_not_right_because_answers_are_lost() {
    let mut stage = Stage::led(3);
    stage.pass(ms(900));
    stage.nodes[0].ahead = 60_000;
    // Its calls arrive, and nothing comes back.
    stage.cut.extend([(1, 0), (2, 0)]);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// What a wrong clock took for over is waited for once it is right.
#[test]
fn a_claim_that_a_wrong_clock_heard_is_believed_as_long_as_the_right_one_says() {
    for at in [400, 1_400, 2_400, 3_400] {
        let mut stage = Stage::led(2);
        stage.nodes.iter_mut().for_each(|node| node.again = true);
        stage.pass(ms(at));
        stage.nodes[0].ahead = 8_000;
        stage.pass(ms(45_000));
        assert_eq!(stage.leaders(X), [1], "{at}");
        // Its leader renewed a second ago.
        stage.nodes[0].ahead = 0;
        stage.pass(ms(45_000));
        assert_eq!(stage.overlap(), Duration::ZERO, "{at}");
        assert_eq!(stage.leaders(X), [0], "{at}");
    }
}

/// One that is alone leads, whatever its clock shows, and gives way when it has met others.
#[test]
fn one_that_is_alone_leads_whatever_its_clock_shows() {
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

/// Clocks within K of true time, and a holder that is suspended in the middle.
#[test]
fn clocks_within_the_skew_are_never_too_far_apart() {
    for (holder, other) in [(-1_000, 1_000), (1_000, -1_000), (1_000, 1_000)] {
        let mut stage = Stage::new(2);
        (stage.nodes[0].ahead, stage.nodes[1].ahead) = (holder, other);
        (0..2).for_each(|node| stage.join(node));
        (0..2).for_each(|node| stage.campaign(node, X));
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

/// Three, connected and without loss. One of them is stopped between its own call and the answers,
/// for longer than a lease, and its clock steps meanwhile. It must not take the pause for a silence
/// of the others, nor the round for valid. Says how long two led.
fn stopped_and_stepped(step: i64, delay: Duration) -> Duration {
    let mut stage = Stage::led(3);
    stage.delay = delay;
    stage.pass(ms(5_000));
    stage.own.log.clear();
    let calls = stage.until(ms(1_500), |stage| stage.calls(2) > 0);
    assert!(calls < ms(1_500));
    // Its own call is back, and nobody has answered yet.
    stage.pass(delay + delay / 2 - ms(5));
    stage.nodes[2].stopped = true;
    stage.pass(ms(15_000));
    stage.nodes[2].ahead = step;
    stage.go_on(2);
    stage.pass(ms(30_000));
    stage.overlap()
}

#[test]
fn a_clock_that_steps_during_a_pause_is_not_taken_for_right() {
    for step in [60_000, -60_000] {
        assert_eq!(stopped_and_stepped(0, ms(100)), Duration::ZERO, "without a step");
        assert_eq!(stopped_and_stepped(step, ms(100)), Duration::ZERO, "{step}");
    }
}

/// Few callers. Of two whose clocks have been right all the time the one that does not call steps.
#[test]
fn one_that_need_not_call_notices_that_its_clock_has_stepped() {
    let callers = Callers::Few(NonZeroU16::MIN);
    let configs = (0..2).map(|node| Config { callers, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.join(0);
    stage.campaign(0, X);
    stage.pass(ms(15_000));
    stage.join(1);
    stage.campaign(1, X);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.nodes[1].ahead = 60_000;
    stage.pass(ms(60_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}
