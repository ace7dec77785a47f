//! Ends before their leases: tombstones and hand-overs (rulings 2 and 7).

use std::time::Duration;

use tenure_core::allcall::{Body, Command, Event};
use tenure_core::{End, Loss, View};

use crate::stage::{Says, Stage, X, ms};

/// Within a heartbeat and two delays of the stop.
const SOON: Duration = Duration::from_millis(1_003);

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_clean_stop_is_followed_within_a_heartbeat() {
    for phase in [0, 250, 500, 999] {
        let mut stage = Stage::led(2);
        stage.pass(ms(phase));
        stage.command(0, X, Command::Resign);
        assert_eq!(stage.ended(0), Some(&End::Lost(Loss::Resigned)));
        stage.kill(0);
        stage.pass(SOON);
        assert_eq!(stage.leaders(X), [1], "{phase}");
        assert_eq!(stage.overlap(), Duration::ZERO);
    }
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_claim_that_comes_after_its_tombstone_revives_nothing() {
    let mut stage = Stage::led(2);
    let mut stale = stage.last(0, |body| matches!(body, Body::Call(_)));
    if let Body::Call(call) = &mut stale.body {
        call.round.0 += 1;
    }
    stage.command(0, X, Command::Resign);
    stage.kill(0);
    stage.pass(ms(5));
    stage.deliver(1, stale);
    stage.pass(SOON);
    assert_eq!(stage.leaders(X), [1]);
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_resignation_that_the_best_one_missed_reaches_it_through_others() {
    let mut stage = Stage::led(3);
    stage.loses = |_, to, packet| to == 1 && matches!(packet.body, Body::Resign(_));
    stage.command(0, X, Command::Resign);
    stage.kill(0);
    stage.pass(SOON + ms(1_000));
    assert_eq!(stage.leaders(X), [1]);
}

#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_hand_over_that_is_repeated_ends_no_later_term() {
    let mut stage = Stage::led(2);
    stage.kill(1);
    stage.command(0, X, Command::Resign);
    let hand_over = stage.last(0, |body| matches!(body, Body::Resign(_)));
    stage.campaign(0, X);
    stage.join(1);
    stage.campaign(1, X);
    stage.observe(1, X);
    stage.pass(ms(4_000));
    assert_eq!(stage.leaders(X), [0], "in its second term");
    assert_eq!(&*stage.view(1).unwrap().leader().unwrap().id, "n0");
    stage.deliver(1, hand_over);
    assert_eq!(&*stage.view(1).unwrap().leader().unwrap().id, "n0");
}

#[cfg_attr(not(tenure_planted), test)]
fn one_that_contends_again_leads_again() {
    let mut stage = Stage::led(1);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    // It has listened all the time: a round in which it is announced, and one to elect it.
    stage.pass(ms(2_100));
    assert_eq!(stage.leaders(X), [0]);
    let said = stage.said(0);
    let claim = said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap();
    assert_eq!(claim.term, 2);
}

#[cfg_attr(not(tenure_planted), test)]
fn a_campaign_that_is_withdrawn_ends_quietly() {
    let mut stage = Stage::led(2);
    stage.log.clear();
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.ended(1), Some(&End::Withdrawn));
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1);
    assert!(stage.log.is_empty());
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1, "again does nothing");
}

/// Nothing is left of an election that is over for long.
#[cfg_attr(not(tenure_planted), test)]
fn an_election_is_forgotten() {
    let mut stage = Stage::led(1);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(20_000));
    stage.log.clear();
    stage.pass(ms(20_000));
    assert!(stage.log.is_empty());
    stage.observe(0, X);
    stage.pass(ms(2_000));
    assert_eq!(stage.view(0), Some(&View::Vacant));
    assert_eq!(stage.calls(0), 0, "an asker never calls");
}
