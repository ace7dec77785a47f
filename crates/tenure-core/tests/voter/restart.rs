//! Restarts, releases, and giving way (V8).

use tenure_core::voter::{Answer, Ask, Caller, Command, Event, Leadership, OwnEvent, Refusal};
use tenure_core::{End, Loss};

use crate::stage::{Stage, X, ballot, cast, leads, ms, refusal};

#[test]
fn restart_is_silent_for_longest_promise() {
    let mut stage = Stage::led(3);
    [0, 2].into_iter().for_each(|node| stage.kill(node));
    let promised = stage.clock(1);
    stage.kill(1);
    stage.start(1);
    let lease = stage.nodes[1].config.lease();
    stage.start(2);
    let caller = stage.voter(2);
    let beat = leads(&stage, 2, 9_000, &ballot(99, 2), stage.electorate(2));
    assert!(matches!(refusal(stage.ask(1, caller.clone(), beat)), Refusal::Quarantined { .. }));
    let vote = cast(&stage, 2, &ballot(99, 2), 1);
    assert!(matches!(refusal(stage.ask(1, caller, vote)), Refusal::Quarantined { .. }));
    stage.pass(lease - ms(1));
    assert!(stage.status(1).free.is_none());
    stage.pass(ms(2));
    assert!(stage.clock(1) > promised && stage.status(1).free.is_some());
}

/// During its silence a restarted voter does not acknowledge the present leader, either. After its
/// silence it does.
#[test]
fn the_sitting_leader_is_acknowledged_after_the_silence() {
    let mut stage = Stage::led(3);
    stage.kill(2);
    stage.pass(ms(500));
    stage.kill(1);
    stage.start(1);
    stage.until(ms(6_000), |stage| stage.leaders(X).is_empty());
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)), "one of three is no quorum");
    let mut stage = Stage::led(3);
    stage.kill(1);
    stage.start(1);
    stage.pass(ms(6_000));
    stage.kill(2);
    stage.pass(ms(20_000));
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn giving_way_releases_after_end() {
    let mut stage = Stage::led(3);
    stage.own.log.clear();
    assert_eq!(stage.ask(0, Caller::Operator, Ask::Start), Some(Answer::Started(None)));
    assert_eq!(stage.told_own(0, |event| *event == OwnEvent::GivesWay), 1);
    while stage.leaders(X) == [0] {
        assert!(stage.asked(0, |ask| matches!(ask, Ask::Release(_))).is_empty());
        stage.pass(ms(10));
    }
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Expired)));
    stage.until(ms(2_000), |stage| stage.leaders(X).len() == 1);
    assert!(!stage.own.two_led);
}

/// n0 leads by counter 5, releases, and leads by counter 9. Then the release of counter 5 arrives a
/// second time.
#[test]
fn a_release_frees_from_its_leadership_alone() {
    let mut stage = Stage::founded(3);
    stage.partition(&[1]);
    let caller = stage.voter(0);
    let electorate = stage.electorate(0);
    let led =
        |stage: &Stage, counter| Leadership { leader: stage.who(0), ballot: ballot(counter, 0) };
    let beat = leads(&stage, 0, 9_000, &ballot(5, 0), electorate.clone());
    stage.ask(1, caller.clone(), beat).unwrap();
    let release = Ask::Release(led(&stage, 5));
    assert_eq!(stage.ask(1, caller.clone(), release.clone()), Some(Answer::Done));
    assert!(stage.status(1).free.is_some());
    let beat = leads(&stage, 0, 9_001, &ballot(9, 0), electorate.clone());
    stage.ask(1, caller.clone(), beat).unwrap();
    stage.ask(1, caller.clone(), release).unwrap();
    assert!(stage.status(1).free.is_none());
    // A late heartbeat of the released leadership arrives.
    let beat = leads(&stage, 0, 9_002, &ballot(5, 0), electorate);
    refusal(stage.ask(1, caller, beat));
}

/// n0 leads by counter 5, and releases. Then a late heartbeat of the same leadership arrives.
#[test]
fn a_released_leadership_binds_nobody_again() {
    let mut stage = Stage::founded(3);
    stage.partition(&[1]);
    let (caller, electorate) = (stage.voter(0), stage.electorate(0));
    let leadership = Leadership { leader: stage.who(0), ballot: ballot(5, 0) };
    let beat = |stage: &Stage, seq| leads(stage, 0, seq, &ballot(5, 0), electorate.clone());
    let (first, late) = (beat(&stage, 9_000), beat(&stage, 9_001));
    stage.ask(1, caller.clone(), first).unwrap();
    assert!(stage.status(1).free.is_none());
    stage.ask(1, caller.clone(), Ask::Release(leadership)).unwrap();
    assert_eq!(refusal(stage.ask(1, caller, late)), Refusal::Released);
    assert!(stage.status(1).free.is_some());
}

#[test]
fn voters_release_only_their_own() {
    let mut stage = Stage::led(3);
    let leadership = stage.memory(1).endorsed.clone().unwrap();
    let caller = stage.voter(2);
    assert_eq!(refusal(stage.ask(1, caller, Ask::Release(leadership))), Refusal::NotAllowed);
    assert!(stage.status(1).free.is_none());
}

#[test]
fn a_leader_takes_part_in_no_other_ballot() {
    let mut stage = Stage::led(3);
    let (caller, vote) = (stage.voter(2), cast(&stage, 2, &ballot(99, 2), i64::MAX));
    assert!(matches!(refusal(stage.ask(0, caller, vote)), Refusal::Leads(_)));
}

/// The requests of n2 arrive, but no answer reaches n2.
#[test]
fn a_deaf_voter_raises_no_counter() {
    let mut stage = Stage::led(3);
    stage.cut = vec![(0, 2), (1, 2)];
    stage.own.log.clear();
    stage.pass(ms(30_000));
    assert!(stage.asked(2, |ask| matches!(ask, Ask::Cast(_))).is_empty());
    assert_eq!(stage.leaders(X), [0]);
}

#[test]
fn draw_follows_resignation_at_once() {
    let mut stage = Stage::led(3);
    stage.command(0, X, Command::Resign);
    assert_eq!(stage.ended(0, X), Some(&End::Lost(Loss::Resigned)));
    let spread = stage.nodes[1].config.spread;
    stage.until(spread + ms(50), |stage| stage.leaders(X).len() == 1);
    assert_ne!(stage.leaders(X), [0]);
    assert_eq!(stage.told(0, |event| matches!(event, Event::Released)), 1);
    assert!(!stage.own.two_led);
}

#[test]
fn a_leader_whose_write_fails_never_led() {
    let mut stage = Stage::founded(3);
    stage.delay = ms(20);
    stage.campaign(0, X);
    stage.until(ms(2_000), |stage| !stage.asked(0, |ask| matches!(ask, Ask::Result(_))).is_empty());
    stage.nodes[0].full = true;
    assert!(stage.leaders(X).is_empty());
    stage.pass(ms(10_000));
    assert!(stage.leaders(X).is_empty());
    assert_eq!(stage.told(0, |event| matches!(event, Event::Elected { .. })), 0);
    stage.nodes[0].full = false;
    stage.until(ms(10_000), |stage| stage.leaders(X) == [0]);
}
