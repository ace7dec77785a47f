//! Leading: renewals, rivals, and the end of a lease (rulings 2, 3, 4, 5 and 8).

use std::time::Duration;

use tenure_core::allcall::{
    Body, Command, Config, Digest, Event, Ignored, LeaderClaim, OnConflict, OwnEvent, Packet,
};
use tenure_core::{End, Loss};

use crate::stage::{Says, Stage, X, call, config, ms, rival};

const NOTHING: Duration = Duration::ZERO;

/// Two participants that do not hear each other both lead.
fn two_sides(on_conflict: OnConflict) -> Stage {
    let configs = (0..2).map(|node| Config { on_conflict, ..config(node) }).collect();
    let mut stage = Stage::with(configs);
    stage.isolate_all();
    for node in 0..2 {
        stage.contend(node);
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
            // The participant that hears the other has heard a greater claim, and is beaten for
            // that term.
            assert_eq!(stage.leaders(X), [cut.1], "{on_conflict} {cut:?}");
        }
    }
}

/// A leader hears the other leader's call while its own renewal is on its way, and so forgets the
/// renewal. The other leader may have heard the renewal.
#[test]
fn failed_renewal_leaves_one_leader() {
    for on_conflict in [OnConflict::Yield, OnConflict::ServeOut] {
        for (renews, heard) in [(0, true), (0, false), (1, true), (1, false)] {
            let mut stage = two_sides(on_conflict);
            let until = |stage: &Stage| {
                let said = stage.said(renews);
                said.into_iter().rev().find_map(|packet| packet.body.claim()).unwrap().until
            };
            stage.delay = ms(100);
            // Wait until just before the leader's renewing call.
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

/// Two leaders call at almost the same time: `early` calls just before the other leader. The other
/// leader's claim ends later.
fn two_callers_at_once(early: usize) -> Stage {
    let serves_out = |node| Config { on_conflict: OnConflict::ServeOut, ..config(node) };
    let mut stage = Stage::with((0..2).map(serves_out).collect());
    stage.delay = ms(5);
    stage.isolate_all();
    stage.contend(early);
    stage.pass(ms(1));
    stage.contend(1 - early);
    stage.pass(ms(15_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    stage
}

/// A leader hears, before each of its own calls, the call of a beaten leader that serves out. Its
/// renewals still count.
#[test]
fn beaten_rival_stops_no_renewal() {
    for early in [0, 1] {
        let mut stage = two_callers_at_once(early);
        stage.heal();
        for _ in 0..300 {
            stage.pass(ms(100));
            assert!(!stage.leaders(X).is_empty(), "{early}: both have ended");
        }
        // The beaten leader has ended, and does not campaign again.
        assert_eq!(stage.leaders(X), [1 - early]);
        assert_eq!(stage.ended(early, X), Some(&End::Lost(Loss::Superseded)));
    }
}

/// The leader `early` does not hear the other leader, and renews for ever. The other leader hears
/// the smaller claim of `early` before each of its own calls. If it ignored this claim, it would
/// renew for ever, too.
#[test]
fn unaware_rival_stops_renewals() {
    for early in [0, 1] {
        let mut stage = two_callers_at_once(early);
        stage.cut = vec![(1 - early, early)];
        stage.pass(ms(30_000));
        assert_eq!(stage.leaders(X), [early]);
    }
}

#[test]
fn serving_out_leader_stops_later() {
    let mut stage = two_sides(OnConflict::ServeOut);
    stage.heal();
    stage.pass(ms(2_000));
    assert_eq!(stage.leaders(X), [0, 1]);
    stage.pass(ms(10_000));
    assert_eq!(stage.leaders(X).len(), 1);
}

/// A beaten leader goes on when its rival resigns: its own claim is the greatest again.
#[test]
fn beaten_leader_survives_rival_resignation() {
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

/// Waits until the leader stops. Returns the span from its stop to the published E, by its wall
/// clock.
fn margin(stage: &mut Stage, node: usize) -> Duration {
    let claim = |stage: &Stage| {
        let said = stage.said(node);
        said.into_iter().rev().find_map(|packet| packet.body.claim().cloned()).unwrap()
    };
    stage.until(ms(25_000), |stage| !stage.leaders(X).contains(&node));
    claim(stage).until.since(stage.wall(node))
}

/// A leader that stops renewing stops at E − K − H.
#[test]
fn leader_stops_before_lease_end() {
    let mut stage = Stage::new(2);
    stage.contend(1);
    stage.pass(ms(15_000));
    stage.contend(0);
    let margin = margin(&mut stage, 1);
    assert!(margin > ms(1_990) && margin < ms(2_020), "{margin:?}");
    // A leader that is cut off stops at the same time.
    let mut stage = Stage::led(1);
    stage.cut_off(0);
    let margin = self::margin(&mut stage, 0);
    assert!(margin > ms(1_990) && margin < ms(2_020), "{margin:?}");
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
}

#[test]
fn named_successor_goes_first() {
    let mut stage = Stage::new(3);
    stage.contend(2);
    stage.pass(ms(15_000));
    // The leader does not hear participant 0, and names participant 1 as its successor.
    stage.cut = vec![(0, 2)];
    [0, 1].into_iter().for_each(|node| stage.contend(node));
    stage.until(ms(25_000), |stage| stage.leaders(X) != [2]);
    stage.pass(ms(1_100));
    assert_eq!(stage.leaders(X), [1]);
    assert_eq!(stage.overlap(), NOTHING);
}

#[test]
fn relayed_claim_beats_no_leader() {
    let mut stage = Stage::led(2);
    let stranger = stage.stranger("elsewhere", 0);
    let gossip = stage.stranger("gossip", 9);
    let claim = rival(&stage, &stranger, ms(10_500)).body.claim().cloned();
    let relayed = call(&stage, &gossip, false, claim);
    stage.deliver(0, relayed);
    stage.pass(ms(1_000));
    assert_eq!(stage.leaders(X), [0]);
    // A first-hand claim beats the leader.
    let claim = rival(&stage, &stranger, ms(10_500));
    stage.deliver(0, claim);
    assert!(stage.leaders(X).is_empty());
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Superseded)));
    let beaten = |event: &Event| matches!(event, Event::Own(OwnEvent::Beaten { .. }));
    assert_eq!(stage.told(0, beaten), 1);
}

/// A relay names a later E of a leader that has died. The follower waits only until the E that the
/// leader itself has sent.
#[test]
fn relayed_claim_moves_no_end() {
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
fn first_heard_claim_wins() {
    let mut stage = Stage::new(1);
    stage.delay = ms(100);
    stage.contend(0);
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
fn renewal_after_another_claim_is_forgotten() {
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
    // The leader renews again a heartbeat later.
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn impossible_claim_is_dropped() {
    let mut stage = Stage::led(1);
    let stranger = stage.stranger("fast", 0);
    let claim = rival(&stage, &stranger, ms(12_001));
    stage.deliver(0, claim);
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(stage.ignored(0, Ignored::TooFar), 1);
    // A right clock can be 2K ahead of another one, so E may be at most now + L + 2K.
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

/// Both candidates claim before either has heard the other. The later candidate resigns. If the
/// earlier candidate also yielded, neither would lead.
#[test]
fn two_standing_candidates_elect_one() {
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
    // Now the stranger has heard its own claim, so it leads by a greater claim.
    entry(&mut claim, Digest(1));
    stage.deliver(0, claim);
    assert!(stage.leaders(X).is_empty());
}

/// A relay sends a later E of another leader, whose renewal failed. The claim that the leader
/// itself sends still counts as first-hand.
#[test]
fn relayed_claim_hides_no_first_hand() {
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
