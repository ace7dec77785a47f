//! Leading: renewals, rivals, and the end of a lease (rulings 2, 3, 4, 5 and 8).

use std::time::Duration;

use tenure_core::allcall::{
    Body, Command, Config, Digest, Event, Ignored, LeaderClaim, OnConflict, OwnEvent, Packet,
};
use tenure_core::{End, Loss};

use crate::stage::{Says, Stage, X, call, config, ms, rival};

const NOTHING: Duration = Duration::ZERO;

/// Both lead, and neither hears the other.
fn two_sides(on_conflict: OnConflict) -> Stage {
    let configs = (0..2).map(|node| Config { on_conflict, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.isolate_all();
    for node in 0..2 {
        stage.join(node);
        stage.campaign(node, X);
        stage.pass(ms(300));
    }
    stage.pass(ms(15_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    stage
}

#[test]
fn a_one_way_link_leaves_one_leader() {
    for on_conflict in [OnConflict::Yield, OnConflict::ServeOut] {
        for cut in [(0, 1), (1, 0)] {
            let mut stage = two_sides(on_conflict);
            stage.cut = vec![cut];
            stage.pass(ms(30_000));
            // The one that hears has found a later E than its own, and is beaten for that term.
            assert_eq!(stage.leaders(X), [cut.1], "{on_conflict} {cut:?}");
        }
    }
}

/// After the heal one hears the other's call while its own renewal is on its way: that is
/// forgotten, and others may have heard it all the same.
#[test]
fn of_two_one_goes_on_although_it_could_not_renew() {
    for on_conflict in [OnConflict::Yield, OnConflict::ServeOut] {
        for (renews, heard) in [(0, true), (0, false), (1, true), (1, false)] {
            let mut stage = two_sides(on_conflict);
            let until = |stage: &Stage| {
                let said = stage.said(renews);
                said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap().until
            };
            stage.delay = ms(100);
            // Just before the call with which it renews, or just after it.
            let before = until(&stage);
            let waits = if renews == 0 { ms(2_405) } else { ms(2_705) };
            stage.pass(waits);
            assert_eq!(until(&stage), before);
            if heard {
                stage.heal();
            }
            stage.pass(ms(10));
            assert!(until(&stage) > before);
            stage.heal();
            let both = stage.overlap();
            let other = stage.last(1 - renews, |body| matches!(body, Body::Call(_)));
            stage.deliver(renews, other);
            let forgotten = Event::Own(OwnEvent::NotConfirmed { renewal: true });
            assert_eq!(stage.told(renews, |event| *event == forgotten), 1);
            let most = match on_conflict {
                OnConflict::Yield => ms(1_100),
                OnConflict::ServeOut => ms(10_000),
            };
            stage.pass(most);
            assert!(stage.overlap() <= both + most);
            assert_eq!(stage.leaders(X), [renews], "{on_conflict} {heard}");
        }
    }
}

#[test]
fn a_leader_that_serves_out_does_not_stop_at_once() {
    let mut stage = two_sides(OnConflict::ServeOut);
    stage.heal();
    stage.pass(ms(2_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X).len(), 1);
}

/// It would end as superseded when nobody else leads any more.
#[test]
fn one_that_was_beaten_goes_on_when_the_other_resigns() {
    let mut stage = two_sides(OnConflict::ServeOut);
    stage.heal();
    stage.pass(ms(2_000));
    let beaten = |node: &usize| {
        let is = |event: &Event| matches!(event, Event::Own(OwnEvent::Beaten { .. }));
        stage.told(*node, is) > 0
    };
    let beaten: Vec<_> = (0..2).filter(beaten).collect();
    let [beaten] = *beaten else { panic!("{beaten:?} were beaten") };
    stage.command(1 - beaten, X, Command::Resign);
    for _ in 0..300 {
        stage.pass(ms(100));
        assert_eq!(stage.leaders(X), [beaten]);
    }
    assert_eq!(stage.told(beaten, |event| matches!(event, Event::Ended(_))), 0);
}

/// E as it was published last, and by how much the leader stopped before it by its own clock.
fn margin(stage: &mut Stage, node: usize) -> Duration {
    let claim = |stage: &Stage| {
        let said = stage.said(node);
        said.into_iter().rev().find_map(|packet| packet.body.claim().cloned()).unwrap()
    };
    stage.until(ms(25_000), |stage| !stage.leaders(X).contains(&node));
    claim(stage).until.since(stage.wall(node))
}

/// E − K − H: no later, and not so early that a renewal would come too late.
#[test]
fn a_leader_that_does_not_renew_stops_before_the_end_of_its_lease() {
    let mut stage = Stage::new(2);
    stage.join(1);
    stage.campaign(1, X);
    stage.pass(ms(15_000));
    stage.join(0);
    stage.campaign(0, X);
    let margin = margin(&mut stage, 1);
    assert!(margin > ms(1_990) && margin < ms(2_020), "{margin:?}");
    // And one that is cut off.
    let mut stage = Stage::led(1);
    stage.cut_off(0);
    let margin = self::margin(&mut stage, 0);
    assert!(margin > ms(1_990) && margin < ms(2_020), "{margin:?}");
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
}

#[test]
fn the_one_that_a_leader_hands_over_to_goes_first() {
    let mut stage = Stage::new(3);
    stage.join(2);
    stage.campaign(2, X);
    stage.pass(ms(15_000));
    // The best is not heard by the leader, which names the other one.
    stage.cut = vec![(0, 2)];
    for node in [0, 1] {
        stage.join(node);
        stage.campaign(node, X);
    }
    stage.until(ms(25_000), |stage| stage.leaders(X) != [2]);
    stage.pass(ms(1_100));
    assert_eq!(stage.leaders(X), [1]);
    assert_eq!(stage.overlap(), NOTHING);
}

#[test]
fn what_others_relay_beats_nobody() {
    let mut stage = Stage::led(2);
    let stranger = stage.stranger("elsewhere", 0);
    let gossip = stage.stranger("gossip", 9);
    let claim = rival(&stage, &stranger, ms(10_500)).body.claim().cloned();
    let relayed = call(&stage, &gossip, false, claim);
    stage.deliver(0, relayed);
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders(X), [0]);
    // First-hand it does.
    let claim = rival(&stage, &stranger, ms(10_500));
    stage.deliver(0, claim);
    assert!(stage.leaders(X).is_empty());
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Superseded)));
    let beaten = |event: &Event| matches!(event, Event::Own(OwnEvent::Beaten { .. }));
    assert_eq!(stage.told(0, beaten), 1);
}

/// A renewal that its leader forgot, and that somebody else has heard.
#[test]
fn what_others_relay_moves_no_end_that_was_heard_first_hand() {
    let mut stage = Stage::led(2);
    let gossip = stage.stranger("gossip", 9);
    let said = stage.said(0);
    let known = said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap().clone();
    stage.kill(0);
    stage.pass(ms(2_000));
    let claim = LeaderClaim { until: stage.wall(1).after(ms(12_000)), ..known };
    let relayed = call(&stage, &gossip, false, Some(claim));
    stage.deliver(1, relayed);
    stage.pass(ms(11_500));
    assert_eq!(stage.leaders(X), [1]);
}

#[test]
fn of_two_claims_the_one_that_is_heard_first_wins() {
    let mut stage = Stage::new(1);
    stage.delay = ms(100);
    stage.join(0);
    stage.campaign(0, X);
    stage.until(ms(20_000), |stage| stage.calls(0) == 3);
    let stranger = stage.stranger("first", 5);
    let claim = rival(&stage, &stranger, ms(10_000));
    stage.deliver(0, claim);
    stage.pass(ms(300));
    assert!(stage.leaders(X).is_empty());
    let resigned = Event::Own(OwnEvent::NotConfirmed { renewal: false });
    assert_eq!(stage.told(0, |event| *event == resigned), 1);
    assert_eq!(stage.ended(0, X), None, "the campaign goes on");
}

#[test]
fn a_renewal_before_which_another_claim_is_heard_is_forgotten() {
    let mut stage = Stage::led(1);
    stage.delay = ms(100);
    let claims = |stage: &Stage| {
        let said = stage.said(0);
        said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap().until
    };
    let first = claims(&stage);
    stage.until(ms(10_000), |stage| claims(stage) > first);
    let stranger = stage.stranger("worse", 5);
    let claim = rival(&stage, &stranger, ms(1_000));
    stage.deliver(0, claim);
    stage.pass(ms(300));
    let forgotten = Event::Own(OwnEvent::NotConfirmed { renewal: true });
    assert_eq!(stage.told(0, |event| *event == forgotten), 1);
    // It is made again a heartbeat later.
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn a_claim_that_no_right_clock_can_have_granted_is_dropped() {
    let mut stage = Stage::led(1);
    let stranger = stage.stranger("fast", 0);
    let claim = rival(&stage, &stranger, ms(12_001));
    stage.deliver(0, claim);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.ignored(0, Ignored::TooFar), 1);
    // L + 2K is the most that two right clocks allow.
    let claim = rival(&stage, &stranger, ms(12_000));
    stage.deliver(0, claim);
    assert!(stage.leaders(X).is_empty());
}

#[test]
fn a_process_believes_nobody_about_itself() {
    let mut stage = Stage::led(2);
    let gossip = stage.stranger("gossip", 9);
    let said = stage.said(0);
    let own = said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap().clone();
    let later = LeaderClaim { until: own.until.after(ms(1_000)), term: 7, ..own };
    let relayed = call(&stage, &gossip, false, Some(later));
    stage.deliver(0, relayed);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
}

/// Both claim before either has heard the other. The later one resigns; if the earlier one yielded
/// to what is being resigned, there would be no leader, and the same again a heartbeat later.
#[test]
fn of_two_that_stand_at_once_one_leads() {
    let mut stage = Stage::led(1);
    let stranger = stage.stranger("later", 5);
    let mut claim = rival(&stage, &stranger, ms(10_500));
    let entry = |packet: &mut Packet, digest| match &mut packet.body {
        Body::Call(call) => call.entries[0].digest = digest,
        _ => unreachable!(),
    };
    entry(&mut claim, Digest(0));
    stage.deliver(0, claim.clone());
    stage.pass(ms(500));
    assert_eq!(stage.leaders(X), [0]);
    // It has heard itself after all, because it had not heard this one.
    entry(&mut claim, Digest(1));
    stage.deliver(0, claim);
    assert!(stage.leaders(X).is_empty());
}

/// Another leads whose claim is greater. It has once tried to renew, and did not hear that;
/// somebody who did tells it on.
#[test]
fn what_others_relay_hides_nothing_that_its_leader_says_itself() {
    let mut stage = Stage::led(1);
    let (relay, other) = (stage.stranger("relay", 60), stage.stranger("other", 50));
    let own = |stage: &Stage| {
        stage.said(0).into_iter().rev().find_map(|packet| packet.body.claim().cloned()).unwrap()
    };
    let left = own(&stage).until.since(stage.wall(0));
    let first_hand = rival(&stage, &other, left + ms(300));
    let mut relayed = rival(&stage, &other, left + ms(3_000));
    relayed.header = relay;
    relayed.header.sent = stage.wall(0);
    stage.deliver(0, relayed);
    stage.deliver(0, first_hand);
    assert_eq!(stage.leaders(X), [0; 0], "it has heard the greater claim from its leader");
}
