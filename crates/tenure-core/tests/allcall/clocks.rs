//! Wall clocks that are wrong, or step (rulings 3 and 4).

use std::time::Duration;

use tenure_core::allcall::{Event, OwnEvent};
use tenure_core::{End, Loss, Waiting};

use crate::stage::{Stage, X, ms};

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_clock_that_is_set_back_lengthens_no_lease() {
    let mut stage = Stage::led(2);
    stage.nodes[0].ahead = -8_000;
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    let set_back = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockSetBack { .. }));
    assert!(stage.told(0, set_back) > 0);
    assert_eq!(stage.ended(0), Some(&End::Lost(Loss::Expired)));
    assert_eq!(stage.leaders(X), [1]);
}

/// Neither end moves: not the handle's, and not what others wait for.
#[cfg_attr(not(tenure_planted), test)]
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
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn one_whose_clock_is_off_does_not_go_on() {
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

/// Of two clocks nobody knows which is off.
#[cfg_attr(not(tenure_planted), test)]
fn two_whose_clocks_differ_say_so_and_go_on() {
    let mut stage = Stage::led(2);
    stage.nodes[1].ahead = 4_000;
    stage.pass(ms(30_000));
    for node in [0, 1] {
        let told = |event: &Event| matches!(event, Event::Own(OwnEvent::ClockOff { .. }));
        assert_eq!(stage.told(node, told), 1);
    }
    assert!(stage.leaders(X).contains(&0));
}

/// Clocks within K of true time, and a holder that is suspended in the middle.
#[cfg_attr(not(tenure_planted), test)]
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
