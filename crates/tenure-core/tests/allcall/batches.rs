//! Many elections of one process, and few callers (ruling 9).

use std::time::Duration;

use tenure_core::allcall::{Body, Call, Config, Event, OwnEvent, PACKET_BYTES_MAX};

use crate::stage::{Stage, X, config, ms};

fn elections() -> Vec<String> {
    (0..100).map(|n| format!("e{n:02}")).collect()
}

#[test]
fn lost_part_changes_nothing() {
    let mut stage = Stage::new(1);
    stage.own.payload = 16_384;
    stage.own.loses =
        |_, _, packet| matches!(&packet.body, Body::Call(Call { part, .. }) if part.number > 0);
    stage.join(0);
    elections().iter().for_each(|election| stage.campaign(0, election));
    stage.pass(ms(15_000));
    assert_eq!(stage.leaders("e00"), [0]);
    assert!(stage.leaders("e99").is_empty(), "its part did not come back");
}

#[test]
fn hundred_elections_share_call_and_reply() {
    let mut stage = Stage::new(2);
    for node in 0..2 {
        stage.join(node);
        elections().iter().for_each(|election| stage.campaign(node, election));
    }
    stage.pass(ms(15_000));
    assert!(elections().iter().all(|election| stage.leaders(election) == [0]));
    stage.own.log.clear();
    stage.pass(ms(10_000));
    assert_eq!((stage.calls(0), stage.calls(1)), (10, 10));
    assert_eq!((stage.replies(0), stage.replies(1)), (10, 10));
    // Replies repeat no claim that both participants know, except around the two renewals of these
    // ten seconds.
    let said = stage.own.log.iter().map(|(_, _, packet)| match &packet.body {
        Body::Reply(reply) => reply.entries.len(),
        _ => 0,
    });
    assert!(said.sum::<usize>() <= 2 * 2 * 100);
    assert!(stage.own.log.iter().all(|(_, _, packet)| packet.bytes() <= PACKET_BYTES_MAX));
}

#[test]
fn server_with_small_payload_is_unused() {
    let mut stage = Stage::new(1);
    stage.own.payload = 16_383;
    stage.contend(0);
    stage.pass(ms(30_000));
    assert!(stage.own.log.is_empty());
    let told = |event: &Event| matches!(event, Event::Own(OwnEvent::PayloadTooSmall { .. }));
    assert_eq!(stage.told(0, told), 1);
}

fn few(node: usize, few: &str) -> Config {
    Config { callers: few.parse().unwrap(), ..config(node) }
}

#[test]
fn best_candidates_call() {
    let mut stage = Stage::with((0..10).map(|node| few(node, "few:2")).collect());
    stage.contend_together(10);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.own.log.clear();
    stage.pass(ms(10_000));
    let calls: Vec<_> = (0..10).map(|node| stage.calls(node)).collect();
    assert_eq!(calls, [10, 10, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Both callers die at once.
    (0..2).for_each(|node| stage.kill(node));
    let took = stage.until(ms(15_000), |stage| stage.leaders(X) == [2]);
    assert!(took <= ms(15_000), "{took:?}");
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Every packet reaches all participants, so only few of 60 participants may speak.
#[test]
fn few_participants_speak() {
    let mut stage = Stage::with((0..60).map(|node| few(node, "few:3")).collect());
    for node in (0..60).rev() {
        stage.contend(node);
        stage.pass(ms(20));
    }
    // Without a leader, all participants begin to call within a heartbeat.
    stage.until(ms(12_000), |stage| !stage.own.log.is_empty());
    stage.pass(ms(1_000));
    let first = stage.own.log.len();
    assert!(first < 60 * 6, "{first} packets in the first heartbeat");
    stage.until(ms(5_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(5_000));
    stage.own.log.clear();
    stage.pass(ms(10_000));
    let (calls, replies) =
        (0..60).fold((0, 0), |(c, r), node| (c + stage.calls(node), r + stage.replies(node)));
    assert_eq!(calls, 30);
    assert!(replies <= 60, "{replies} replies to 30 calls");
}

/// The best candidate begins to call, and dies before it leads. The next candidate calls, and
/// leads.
#[test]
fn callers_that_are_dead_do_not_count() {
    let mut stage = Stage::with((0..3).map(|node| few(node, "few:1")).collect());
    stage.contend(2);
    stage.pass(ms(14_000));
    [0, 1].into_iter().for_each(|node| stage.contend(node));
    stage.until(ms(15_000), |stage| stage.calls(0) > 0);
    stage.pass(ms(10));
    stage.kill(0);
    stage.pass(ms(40_000));
    assert_eq!(stage.leaders(X), [1]);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// The only caller has a wrong clock, so it never leads. The others notice that, and call.
#[test]
fn callers_that_cannot_lead_do_not_count() {
    let mut stage = Stage::with((0..6).map(|node| few(node, "few:1")).collect());
    // The clock is off by more than 2K, but its calls do not look old.
    stage.nodes[0].ahead = 2_500;
    (0..6).for_each(|node| stage.contend(node));
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [1]);
    assert_eq!(stage.overlap(), Duration::ZERO);
}
