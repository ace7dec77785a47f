//! Ends before their leases: tombstones and hand-overs (rulings 2 and 7).

use std::num::NonZeroU16;
use std::time::Duration;

use tenure_core::allcall::{Body, Callers, Command, Config, Event};
use tenure_core::{End, Loss, View};

use crate::stage::{Says, Stage, X, config, ms};

/// Within a heartbeat and two delays of the stop.
const SOON: Duration = Duration::from_millis(1_003);

#[test]
fn a_clean_stop_is_followed_within_a_heartbeat() {
    for phase in [0, 250, 500, 999] {
        let mut stage = Stage::led(2);
        stage.pass(ms(phase));
        stage.command(0, X, Command::Resign);
        assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Resigned)));
        stage.kill(0);
        stage.pass(SOON);
        assert_eq!(stage.leaders(X), [1], "{phase}");
        assert_eq!(stage.overlap(), Duration::ZERO);
    }
}

#[test]
fn a_claim_that_comes_after_its_tombstone_revives_nothing() {
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

#[test]
fn a_resignation_that_the_best_one_missed_reaches_it_through_others() {
    let mut stage = Stage::led(3);
    stage.own.loses = |_, to, packet| to == 1 && matches!(packet.body, Body::Resign(_));
    stage.command(0, X, Command::Resign);
    stage.kill(0);
    stage.pass(SOON + ms(1_000));
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn a_hand_over_that_is_repeated_ends_no_later_term() {
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
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
    stage.deliver(1, hand_over);
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
}

#[test]
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

#[test]
fn a_campaign_that_is_withdrawn_ends_quietly() {
    let mut stage = Stage::led(2);
    stage.own.log.clear();
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.ended(1, X), Some(&End::Withdrawn));
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1);
    assert!(stage.own.log.is_empty());
    stage.command(1, X, Command::Resign);
    assert_eq!(stage.told(1, |event| *event == Event::Released), 1, "again does nothing");
}

/// Nothing is left of an election that is over for long.
#[test]
fn an_election_is_forgotten() {
    let mut stage = Stage::led(1);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(20_000));
    stage.own.log.clear();
    stage.pass(ms(20_000));
    assert!(stage.own.log.is_empty());
    stage.observe(0, X);
    // It listens anew.
    stage.pass(ms(12_000));
    assert_eq!(stage.view(0, X), Some(&View::Vacant));
    assert_eq!(stage.calls(0), 0, "an asker never calls");
}

/// Two servers, nothing is lost, everything takes 51 ms at most, clocks are right. A leader gives
/// up and campaigns again at once. With the announcement of the term that it has ended it would
/// stand at its next beat, and the other one at its own, and each would hear its own claim first.
#[test]
fn one_that_campaigns_again_is_announced_again_first() {
    let mut stage = Stage::new(2);
    stage.own.route = ms(50);
    (0..2).for_each(|node| stage.join(node));
    (0..2).for_each(|node| stage.campaign(node, X));
    // In the middle of a round, whose calls are answered.
    stage.pass(ms(15_500));
    assert_eq!(stage.leaders(X), [0]);
    stage.command(0, X, Command::Resign);
    stage.campaign(0, X);
    stage.pass(ms(10_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// The better one gives up again and again before it leads, and campaigns anew, as one does that
/// asks for the lead with a deadline.
#[test]
fn one_that_gives_up_and_campaigns_again_keeps_nobody_from_leading() {
    for (every, pause) in [(500, 0), (300, 0), (500, 100), (700, 300), (1_000, 0), (900, 450)] {
        let mut stage = Stage::new(2);
        (0..2).for_each(|node| stage.join(node));
        (0..2).for_each(|node| stage.campaign(node, X));
        stage.pass(ms(11_000));
        for _ in 0..12_000 / every {
            if !stage.leaders(X).is_empty() {
                break;
            }
            stage.command(0, X, Command::Resign);
            stage.pass(ms(pause));
            stage.campaign(0, X);
            stage.pass(ms(every - pause));
        }
        assert_eq!(stage.leaders(X).len(), 1, "{every} {pause}");
    }
    // Nor where all do so.
    for (nodes, every) in [(1, 500), (1, 300), (2, 500), (2, 900)] {
        let mut stage = Stage::new(nodes);
        (0..nodes).for_each(|node| stage.join(node));
        (0..nodes).for_each(|node| stage.campaign(node, X));
        stage.pass(ms(11_200));
        for _ in 0..12_000 / every {
            if !stage.leaders(X).is_empty() {
                break;
            }
            for node in 0..nodes {
                stage.command(node, X, Command::Resign);
                stage.campaign(node, X);
            }
            stage.pass(ms(every));
        }
        assert_eq!(stage.leaders(X).len(), 1, "{nodes} {every}");
    }
}

/// Twenty, of which each leader stops cleanly as soon as it leads, as when a deployment is rolled.
/// A lease of 30 s: all tombstones are carried at the same time, and there is room for 16.
#[test]
fn every_clean_stop_is_heard_however_many_there_are() {
    let lease = ms(30_000);
    let configs = (0..20).map(|node| Config { lease, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    for node in 0..20 {
        stage.join(node);
        stage.campaign(node, X);
    }
    stage.pass(ms(34_000));
    for node in 0..19 {
        let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [node]);
        // Looked at every 5 ms.
        assert!(took <= ms(1_010), "{node} leads {took:?} after the one before it has stopped");
        stage.command(node, X, Command::Resign);
    }
}

/// The next in line has ended before, and nobody was told: it counts for 2.5 H.
#[test]
fn one_that_has_left_is_waited_for_while_it_counts_as_present() {
    let mut stage = Stage::led(3);
    stage.command(1, X, Command::Resign);
    stage.kill(1);
    stage.pass(ms(1));
    stage.command(0, X, Command::Resign);
    let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [2]);
    // And then for the end of a round.
    assert!(took > ms(1_500) && took <= ms(3_510), "{took:?}");
}

/// With few callers, of which none is left: one beat until the next one calls, a round in which it
/// becomes eligible, and one in which it is announced.
#[test]
fn after_the_only_caller_the_next_one_calls_for_two_rounds_first() {
    let callers = Callers::Few(NonZeroU16::MIN);
    let configs = (0..3).map(|node| Config { callers, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    (0..3).for_each(|node| stage.join(node));
    (0..3).for_each(|node| stage.campaign(node, X));
    stage.pass(ms(30_500));
    assert_eq!(stage.leaders(X), [0]);
    stage.command(0, X, Command::Resign);
    let took = stage.until(ms(60_000), |stage| stage.leaders(X) == [1]);
    assert!(took > ms(2_000) && took <= ms(3_010), "{took:?}");
}

#[test]
fn released_is_told_when_others_know() {
    let mut stage = Stage::led(2);
    stage.observe(1, X);
    stage.pass(ms(500));
    // What it publishes waits in its client.
    stage.nodes[0].own.holds_back = true;
    stage.command(0, X, Command::Resign);
    stage.pass(ms(100));
    let follows = stage.view(1, X).and_then(|view| view.leader()).is_some();
    let released = stage.told(0, |event| *event == Event::Released);
    assert!(follows && released == 0, "others follow it still");
    stage.let_go(0);
    stage.pass(ms(5));
    assert!(stage.view(1, X).and_then(|view| view.leader()).is_none());
    assert_eq!(stage.told(0, |event| *event == Event::Released), 1);
}

/// One that cannot tell others is released when its lease has run out.
#[test]
fn released_is_told_when_the_lease_has_run_out() {
    let mut stage = Stage::led(2);
    stage.cut_off(0);
    stage.command(0, X, Command::Resign);
    // It was granted or renewed at most half a lease and a heartbeat ago.
    stage.pass(ms(3_900));
    assert_eq!(stage.told(0, |event| *event == Event::Released), 0);
    stage.pass(ms(6_200));
    assert_eq!(stage.told(0, |event| *event == Event::Released), 1);
}
