//! A bus that loses, delays, repeats and holds back packets, and that strangers use (rulings 6, 8
//! and 9).

use std::time::Duration;

use tenure_core::allcall::{
    Answered, Body, Config, Digest, Entry, Event, Ignored, OwnEvent, Packet, Reply, Round,
};
use tenure_core::{Event as Common, Waiting};

use crate::stage::{Says, Stage, X, call, config, ms, name, rival};

/// A packet takes longer than a round.
#[test]
fn earlier_own_call_proves_nothing() {
    let mut stage = Stage::new(1);
    stage.delay = ms(1_200);
    stage.contend(0);
    stage.pass(ms(60_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    assert_eq!(stage.told(0, |event| matches!(event, Common::Elected { .. })), 0);
    assert!(stage.ignored(0, Ignored::NotOurs) > 10);
}

#[test]
fn a_void_round_elects_nobody() {
    let mut stage = Stage::with(vec![Config { rejoin_wait: false, ..config(0) }]);
    stage.cut = vec![(0, 0)];
    stage.contend(0);
    stage.pass(ms(40_000));
    assert!(stage.calls(0) > 20);
    assert!(stage.said(0).iter().all(|packet| packet.body.claim().is_none()));
}

#[test]
fn unheard_claim_wins_no_leadership() {
    let mut stage = Stage::new(1);
    stage.own.loses = |_, _, packet| packet.body.claim().is_some();
    stage.contend(0);
    stage.pass(ms(20_000));
    assert!(stage.leaders(X).is_empty());
    let resigned = Event::Own(OwnEvent::NotConfirmed { renewal: false });
    assert!(stage.told(0, |event| *event == resigned) > 0);
    assert!(stage.said(0).iter().any(|packet| matches!(packet.body, Body::Resign(_))));
}

/// A reply to a closed round does not show that its sender is alive.
#[test]
fn a_late_reply_shows_nobody() {
    let mut stage = Stage::with(vec![config(1)]);
    stage.contend(0);
    stage.pass(ms(15_000));
    let better = stage.stranger("better", 0);
    for _ in 0..20 {
        let round = match stage.last(0, |body| matches!(body, Body::Call(_))).body {
            Body::Call(call) => Round(call.round.0 - 2),
            _ => unreachable!(),
        };
        let answers = vec![Answered { caller: stage.who(0), round }];
        let entry = Entry {
            election: name(X),
            eligible: true,
            digest: Digest(0),
            claim: None,
            tombstones: Vec::new(),
        };
        let mut header = better.clone();
        header.sent = stage.wall(0);
        let body = Body::Reply(Reply { answers, entries: vec![entry] });
        stage.deliver(0, Packet { header, body });
        stage.pass(ms(1_000));
    }
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.ignored(0, Ignored::Late), 20);
}

/// A client holds packets back, and publishes them long afterwards.
#[test]
fn held_back_messages_are_not_believed() {
    let mut stage = Stage::led(2);
    (stage.nodes[0].own.holds_back, stage.nodes[0].again) = (true, true);
    stage.until(ms(40_000), |stage| stage.leaders(X) == [1]);
    assert_eq!(stage.overlap(), Duration::ZERO);
    stage.pass(ms(1_000_000));
    let held = stage.let_go(0);
    assert!(held >= 1_000, "{held}");
    stage.pass(ms(500));
    assert_eq!(stage.leaders(X), [1], "nothing of that is true any more");
    assert!(stage.ignored(0, Ignored::NotOurs) > 900);
    stage.pass(ms(30_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    assert_eq!(stage.leaders(X).len(), 1);
}

#[test]
fn everything_twice_and_in_another_order_changes_nothing() {
    let mut stage = Stage::led(3);
    let said: Vec<Packet> = stage.own.log.iter().map(|(_, _, packet)| packet.clone()).collect();
    for packet in said.iter().rev().take(200) {
        (0..3).for_each(|node| stage.deliver(node, packet.clone()));
    }
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

#[test]
fn malformed_packets_are_counted_only() {
    let mut stage = Stage::led(2);
    let stranger = stage.stranger("stranger", 0);
    let good = rival(&stage, &stranger, ms(10_000));
    let mut foreign = good.clone();
    foreign.header.cluster = "d".parse().unwrap();
    let mut twice = good.clone();
    let mut of_another_rank = good.clone();
    let mut termless = good.clone();
    let mut roundless = good.clone();
    if let Body::Call(call) = &mut twice.body {
        call.entries.push(call.entries[0].clone());
    }
    of_another_rank.header.rank.number = 3;
    for (packet, change) in [(&mut termless, 0), (&mut roundless, 1)] {
        let Body::Call(call) = &mut packet.body else { unreachable!() };
        match (change, &mut call.entries[0].claim) {
            (0, Some(claim)) => claim.term = 0,
            _ => call.round = Round(0),
        }
    }
    for bad in [twice, of_another_rank, termless, roundless] {
        stage.deliver(0, bad);
    }
    assert_eq!(stage.ignored(0, Ignored::Malformed), 4);
    stage.deliver(0, foreign);
    assert_eq!(stage.ignored(0, Ignored::OtherCluster), 1);
    let mut of_other_times = good;
    of_other_times.header.times.lease = ms(11_000);
    stage.deliver(0, of_other_times);
    assert_eq!(stage.ignored(0, Ignored::OtherTimes), 1);
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn lost_connection_ends_leadership_at_deadline() {
    let mut stage = Stage::led(2);
    stage.link_down(0);
    stage.own.log.clear();
    let took = stage.until(ms(9_000), |stage| stage.leaders(X).is_empty());
    assert!(took > ms(1_500), "{took:?}");
    assert_eq!(stage.said(0).len(), 0, "nothing is published meanwhile");
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X), [1]);
    stage.campaign(0, X);
    let waits = |event: &Event| matches!(event, Common::Waiting(Waiting::Connecting { .. }));
    assert_eq!(stage.told(0, waits), 1);
    assert_eq!(stage.overlap(), Duration::ZERO);
}

/// Messages of more participants than a process remembers are counted and forgotten.
#[test]
fn a_flood_of_strangers_is_bounded() {
    let mut stage = Stage::led(1);
    for n in 0..20_000 {
        let mut stranger = stage.stranger(&format!("s{n}"), 50_000);
        stranger.sender.incarnation = n;
        let packet = call(&stage, &stranger, true, None);
        stage.deliver(0, packet);
    }
    assert!(stage.ignored(0, Ignored::Full) > 18_000);
    assert!(format!("{:?}", stage.nodes[0].core).len() < 1_000_000);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    assert!(format!("{:?}", stage.nodes[0].core).len() < 50_000);
}

/// A participant hears its own call, and is stopped for longer than a lease. Its server drops all
/// packets of that time. The round of that call then elects no leader.
#[test]
fn a_round_from_before_a_pause_elects_nobody() {
    let mut stage = Stage::led(2);
    stage.own.log.clear();
    stage.until(ms(1_500), |stage| stage.calls(1) > 0);
    stage.pass(ms(5));
    stage.nodes[1].stopped = true;
    stage.cut.push((0, 1));
    stage.pass(ms(15_000));
    stage.heal();
    stage.go_on(1);
    stage.pass(ms(20_000));
    assert_eq!(stage.overlap(), Duration::ZERO);
    assert_eq!(stage.leaders(X), [0]);
}
