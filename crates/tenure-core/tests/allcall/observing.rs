//! The views of observers: a leader, a vacancy, or unknown.

use tenure_core::allcall::{Body, Command, Config, Digest, Event, Ignored, Limits, OwnEvent};
use tenure_core::{View, Waiting};

use crate::stage::{Says, Stage, X, call, config, ms, rival};

/// Participant 0 leads, and participant 2 can observe.
fn observed() -> Stage {
    let mut stage = Stage::new(3);
    stage.contend(0);
    stage.pass(ms(15_000));
    stage.join(2);
    stage
}

#[test]
fn observer_hears_leader_within_round_trip() {
    let mut stage = observed();
    stage.observe(2, X);
    stage.pass(ms(5));
    let leader = stage.view(2, X).unwrap().leader().unwrap();
    assert_eq!((&*leader.id, leader.incarnation), ("n0", Some(1 << 96)));
    assert_eq!(leader.value.text(), "v");
    assert!(leader.heard.is_some() && leader.until.unwrap() > stage.now);
}

#[test]
fn an_asker_calls_nobody_and_answers_nobody() {
    let mut stage = observed();
    stage.observe(2, X);
    stage.own.log.clear();
    stage.pass(ms(30_000));
    let said = stage.said(2);
    assert!(said.len() >= 30 && said.iter().all(|packet| matches!(packet.body, Body::Ask(_))));
}

#[test]
fn whole_round_shows_vacancy() {
    let mut stage = Stage::new(1);
    stage.join(0);
    stage.observe(0, X);
    stage.pass(ms(999));
    assert_eq!(stage.view(0, X), None, "the round is not over");
    stage.pass(ms(1));
    assert!(matches!(stage.view(0, X), Some(View::Unknown { .. })), "a leader may be stopped");
    // An observer listens for L + K like a candidate: 11 s and the drift.
    stage.pass(ms(10_000));
    assert!(matches!(stage.view(0, X), Some(View::Unknown { .. })), "{:?}", stage.view(0, X));
    stage.pass(ms(1_020));
    assert_eq!(stage.view(0, X), Some(&View::Vacant));
}

/// A newcomer reports the vacancy once candidates that have listened state it.
#[test]
fn able_candidate_vouches_for_vacancy() {
    let mut stage = Stage::new(3);
    [0, 1].into_iter().for_each(|node| stage.contend(node));
    stage.pass(ms(9_500));
    stage.join(2);
    stage.observe(2, X);
    stage.pass(ms(1_400));
    assert!(matches!(stage.view(2, X), Some(View::Unknown { .. })), "{:?}", stage.view(2, X));
    let vacant = |event: &Event| matches!(event, Event::View(view) if **view == View::Vacant);
    stage.pass(ms(3_100));
    assert_eq!(stage.told(2, vacant), 1, "they have announced themselves, and then one stood");
    assert_eq!(&*stage.view(2, X).unwrap().leader().unwrap().id, "n0");
}

/// A candidate states that there is no leader, and then leads. The observer is cut off, and does
/// not hear of the leadership. The leader is stopped before the observer hears anything again.
#[test]
fn interruption_ends_statement_of_vacancy() {
    for disconnects in [true, false] {
        let mut stage = Stage::new(2);
        stage.contend(0);
        stage.pass(ms(11_300));
        stage.join(1);
        stage.observe(1, X);
        stage.pass(ms(950));
        match disconnects {
            true => stage.link_down(1),
            false => stage.cut_off(1),
        }
        stage.pass(ms(800));
        assert_eq!(stage.leaders(X), [0]);
        stage.nodes[0].stopped = true;
        stage.pass(ms(50));
        let before = vacancies(&stage, 1);
        match disconnects {
            true => stage.link_up(1),
            false => stage.heal(),
        }
        stage.pass(ms(2_500));
        assert_eq!(stage.leaders(X), [0]);
        assert_eq!(vacancies(&stage, 1), before, "disconnects: {disconnects}");
    }
}

/// The leader is stopped while its lease runs. Then an observer asks.
#[test]
fn a_leader_that_is_stopped_is_not_vacant() {
    for others in [false, true] {
        let asker = if others { 2 } else { 1 };
        let mut stage = Stage::new(asker + 1);
        stage.contend_together(asker);
        stage.pass(ms(15_000));
        stage.nodes[0].stopped = true;
        stage.join(asker);
        stage.observe(asker, X);
        let vacant = |event: &Event| matches!(event, Event::View(view) if **view == View::Vacant);
        stage.pass(ms(3_000));
        match others {
            true => assert_eq!(&*stage.view(asker, X).unwrap().leader().unwrap().id, "n0"),
            false => assert!(matches!(stage.view(asker, X), Some(View::Unknown { .. }))),
        }
        stage.pass(ms(2_000));
        assert_eq!(stage.told(asker, vacant), 0, "{others}");
    }
}

#[test]
fn void_rounds_leave_leader_unknown() {
    let mut stage = observed();
    stage.cut_off(2);
    stage.observe(2, X);
    stage.pass(ms(1_500));
    assert!(matches!(stage.view(2, X), Some(View::Unknown { .. })));
    stage.heal();
    stage.pass(ms(2_000));
    assert_eq!(&*stage.view(2, X).unwrap().leader().unwrap().id, "n0");
    // A leader that was heard is shown until its lease has ended by every clock.
    stage.cut_off(2);
    stage.pass(ms(3_000));
    assert!(stage.view(2, X).unwrap().leader().is_some());
    stage.pass(ms(12_000));
    assert!(matches!(stage.view(2, X), Some(View::Unknown { .. })));
    stage.link_down(2);
    stage.pass(ms(3_000));
    assert!(matches!(stage.view(2, X), Some(View::Unknown { .. })));
}

/// By the observer's wrong clock, each claim is over, or ends later than any right clock could
/// grant.
#[test]
fn wrong_clock_leaves_leader_unknown() {
    for off in [-60_000, 12_000, 60_000] {
        let mut stage = observed();
        stage.nodes[2].ahead = off;
        stage.observe(2, X);
        stage.pass(ms(20_000));
        assert!(
            matches!(stage.view(2, X), Some(View::Unknown { .. })),
            "{off}: {:?}",
            stage.view(2, X)
        );
        assert_eq!(
            stage.told(2, |event| matches!(event, Event::View(view) if **view == View::Vacant)),
            0
        );
        stage.nodes[2].ahead = 0;
        stage.pass(ms(1_500));
        assert!(stage.view(2, X).unwrap().leader().is_some(), "{off}");
        // The observer hears the resignation, and reports the vacancy in spite of its wrong clock.
        stage.nodes[2].ahead = off;
        stage.pass(ms(20_000));
        stage.command(0, X, Command::Resign);
        stage.pass(ms(1_500));
        assert_eq!(stage.view(2, X), Some(&View::Vacant), "{off}");
    }
}

fn vacancies(stage: &Stage, node: usize) -> usize {
    stage.told(node, |event| matches!(event, Event::View(view) if **view == View::Vacant))
}

/// A candidate follows a leader, but the observer has not heard the leader's claim.
#[test]
fn followed_leader_without_claim_is_unknown() {
    let mut observer = Stage::new(1);
    observer.join(0);
    observer.observe(0, X);
    observer.pass(ms(12_500));
    // The observer has listened for long enough, and has reported a vacancy.
    assert_eq!(vacancies(&observer, 0), 1);
    let follower = observer.stranger("follower", 5);
    let mut said = call(&observer, &follower, true, None);
    observer.deliver(0, said.clone());
    observer.pass(ms(2_000));
    assert!(matches!(observer.view(0, X), Some(View::Unknown { .. })), "{:?}", observer.view(0, X));
    // The candidate no longer follows a leader.
    if let Body::Call(call) = &mut said.body {
        (call.entries[0].digest, call.round.0) = (Digest::default(), call.round.0 + 1);
    }
    said.header.sent = observer.wall(0);
    observer.deliver(0, said);
    assert_eq!(observer.view(0, X), Some(&View::Vacant));
}

/// The observer's clock is wrong, so it believes no claim. A late resignation of the leader's
/// earlier term arrives.
#[test]
fn earlier_tombstone_makes_no_vacancy() {
    let mut stage = Stage::new(3);
    stage.contend(0);
    stage.pass(ms(15_000));
    stage.command(0, X, Command::Resign);
    let first = stage.last(0, |body| matches!(body, Body::Resign(_)));
    stage.campaign(0, X);
    stage.until(ms(5_000), |stage| stage.leaders(X) == [0]);
    stage.join(2);
    stage.nodes[2].ahead = 60_000;
    stage.observe(2, X);
    stage.pass(ms(15_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.deliver(2, first);
    assert_eq!(vacancies(&stage, 2), 0, "that was its first term");
}

/// The only leader has other times than the observer.
#[test]
fn other_times_leave_leader_unknown() {
    let heartbeat = ms(1_500);
    let lease = ms(20_000);
    let mut stage = Stage::with(vec![Config { heartbeat, lease, ..config(0) }, config(1)]);
    stage.partition(&[0]);
    for node in [0, 1] {
        stage.join(node);
    }
    stage.campaign(0, X);
    stage.pass(ms(30_000));
    assert_eq!(stage.leaders(X), [0]);
    stage.observe(1, X);
    stage.pass(ms(12_000));
    stage.heal();
    stage.pass(ms(3_000));
    let before = vacancies(&stage, 1);
    assert!(matches!(stage.view(1, X), Some(View::Unknown { .. })), "{:?}", stage.view(1, X));
    stage.pass(ms(30_000));
    assert_eq!(vacancies(&stage, 1), before);
    let told =
        |event: &Event| matches!(event, Event::Own(OwnEvent::OtherTimes { refuses: false, .. }));
    assert_eq!(stage.told(1, told), 1);
}

/// The candidate hears its own claim, and leads. Then it is stopped before others know of that.
#[test]
fn stopped_candidate_makes_no_vacancy() {
    let mut stage = Stage::new(2);
    for node in [0, 1] {
        stage.join(node);
    }
    stage.campaign(0, X);
    stage.observe(1, X);
    stage.until(ms(20_000), |stage| stage.leaders(X) == [0]);
    stage.nodes[0].stopped = true;
    let before = vacancies(&stage, 1);
    stage.pass(ms(7_900));
    assert_eq!(stage.leaders(X), [0]);
    assert_eq!(vacancies(&stage, 1), before);
    assert!(matches!(stage.view(1, X), Some(View::Unknown { .. })), "{:?}", stage.view(1, X));
    stage.pass(ms(10_000));
    assert_eq!(stage.view(1, X), Some(&View::Vacant));
}

/// By the observer's wrong clock each lease ends before its renewal.
#[test]
fn wrong_clock_makes_no_vacancy() {
    let mut stage = observed();
    stage.nodes[2].ahead = 7_000;
    stage.observe(2, X);
    stage.pass(ms(30_000));
    assert!(stage.told(2, |event| matches!(event, Event::View(_))) > 4, "leader, unknown, leader");
    assert_eq!(vacancies(&stage, 2), 0);
    stage.command(0, X, Command::Resign);
    stage.pass(ms(1_500));
    assert_eq!(stage.view(2, X), Some(&View::Vacant));
}

/// The observer no longer hears the leader. By the observer's wrong clock the lease ends between
/// two packets of a candidate that follows the leader.
#[test]
fn statement_outlives_wrong_lease_end() {
    for cut in (0..5_000).step_by(250) {
        let mut stage = Stage::new(3);
        (0..3).for_each(|node| stage.join(node));
        (0..2).for_each(|node| stage.campaign(node, X));
        stage.nodes[2].ahead = 7_000;
        stage.observe(2, X);
        stage.pass(ms(30_000 + cut));
        stage.cut = vec![(0, 2)];
        let before = vacancies(&stage, 2);
        stage.pass(ms(20_000));
        assert_eq!(stage.leaders(X), [0]);
        assert_eq!(vacancies(&stage, 2), before, "after {cut} ms");
        // The statements of followers delay no vacancy after the resignation.
        stage.cut.clear();
        stage.command(1, X, Command::Resign);
        stage.command(0, X, Command::Resign);
        stage.pass(ms(1_500));
        assert_eq!(stage.view(2, X), Some(&View::Vacant));
    }
}

/// A leader is stopped until another participant leads. When it goes on, it first reads old
/// packets.
#[test]
fn resumed_process_reports_no_past() {
    let mut stage = Stage::new(2);
    for node in [0, 1] {
        stage.join(node);
    }
    stage.campaign(1, X);
    stage.observe(1, X);
    stage.until(ms(20_000), |stage| stage.leaders(X) == [1]);
    stage.pass(ms(2_250));
    stage.nodes[1].stopped = true;
    stage.campaign(0, X);
    stage.until(ms(40_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(3_000));
    let before = vacancies(&stage, 1);
    stage.go_on(1);
    stage.pass(ms(3_000));
    assert_eq!(vacancies(&stage, 1), before);
    assert_eq!(&*stage.view(1, X).unwrap().leader().unwrap().id, "n0");
}

/// Followers still state that there is a leader. The former leader reports the vacancy at once.
#[test]
fn resigned_leader_reports_vacancy_at_once() {
    let mut stage = Stage::new(2);
    for node in [0, 1] {
        stage.join(node);
    }
    stage.campaign(0, X);
    [0, 1].into_iter().for_each(|node| stage.observe(node, X));
    stage.until(ms(20_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(3_300));
    assert!(stage.view(1, X).unwrap().leader().is_some());
    stage.command(0, X, Command::Resign);
    stage.pass(ms(100));
    assert_eq!(stage.view(0, X), Some(&View::Vacant));
}

#[test]
fn followed_leader_comes_first() {
    let mut stage = Stage::new(3);
    stage.isolate_all();
    for node in [0, 1] {
        stage.contend(node);
        stage.pass(ms(1_000));
    }
    stage.pass(ms(14_000));
    stage.join(2);
    stage.observe(2, X);
    // The observer hears both leaders, and the leaders do not hear each other.
    stage.cut.retain(|(from, to)| [*from, *to] == [0, 1] || [*from, *to] == [1, 0]);
    stage.pass(ms(1_500));
    let view = stage.view(2, X).unwrap();
    assert_eq!(&*view.leader().unwrap().id, "n1", "its lease ends later");
    let others: Vec<_> = view.others().iter().map(|leader| &*leader.id).collect();
    assert_eq!(others, ["n0"]);
    assert!(view.others()[0].heard.is_some());
    // A leader follows itself.
    stage.observe(0, X);
    assert_eq!(&*stage.view(0, X).unwrap().leader().unwrap().id, "n0");
}

/// A candidate that does not hear its own claim never leads.
#[test]
fn unconfirmed_claim_is_not_shown() {
    let mut stage = Stage::new(3);
    stage.own.loses = |from, to, packet| from == to && packet.body.claim().is_some();
    stage.join(2);
    stage.observe(2, X);
    stage.contend(0);
    stage.until(ms(20_000), |stage| stage.said(0).iter().any(|said| said.body.claim().is_some()));
    stage.pass(ms(20_000));
    let leader = |event: &Event| matches!(event, Event::View(view) if view.leader().is_some());
    assert_eq!(stage.told(2, leader), 0, "{:?}", stage.view(2, X));
    assert!(stage.leaders(X).is_empty());
    // The observer shows the leader once the leader has heard its own claim.
    stage.own.loses = |_, _, _| false;
    stage.until(ms(15_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(1_100));
    assert!(stage.view(2, X).unwrap().leader().is_some());
}

/// The leader renews its lease between the two views.
#[test]
fn view_shows_present_lease() {
    let mut stage = observed();
    for node in [0, 2] {
        stage.observe(node, X);
    }
    stage.pass(ms(5));
    let before = [0, 2].map(|node| stage.view(node, X).unwrap().clone());
    stage.pass(ms(5_000));
    for (before, node) in before.into_iter().zip([0, 2]) {
        let now = stage.view(node, X).unwrap();
        assert!(before.is_same(now));
        let [before, now] = [&before, now].map(|view| view.leader().unwrap());
        assert!(now.until > before.until && now.heard > before.heard, "{node}: {now}");
        // A view is repeated once in a heartbeat, and after each renewal.
        let views = stage.told(node, |event| matches!(event, Event::View(_)));
        assert!(views <= 8, "{node}: {views}");
    }
}

#[test]
fn a_new_observer_is_told_what_is_known() {
    let mut stage = observed();
    stage.observe(2, X);
    stage.pass(ms(5_000));
    let views = |stage: &Stage| stage.told(2, |event| matches!(event, Event::View(_)));
    let before = views(&stage);
    stage.observe(2, X);
    assert_eq!(views(&stage), before + 1);
    stage.command(2, X, Command::Unobserve);
    stage.own.log.clear();
    stage.pass(ms(5_000));
    assert_eq!(stage.said(2).len(), 0);
}

#[test]
fn there_is_room_for_so_many_elections() {
    let limits = Limits { elections: 2, ..Limits::default() };
    let mut stage = Stage::with(vec![Config { limits, ..config(0) }]);
    stage.join(0);
    stage.campaign(0, "a");
    stage.campaign(0, "a");
    assert_eq!(stage.ignored(0, Ignored::Command), 1);
    stage.observe(0, "b");
    stage.campaign(0, "c");
    stage.observe(0, "d");
    let refused = |event: &Event| matches!(event, Event::Ended(tenure_core::End::Refused { .. }));
    let not_observed = |event: &Event| matches!(event, Event::NotObserved { .. });
    assert_eq!((stage.told(0, refused), stage.told(0, not_observed)), (1, 1));
}

/// A candidate that stands has not heard its own claim, and may never lead.
#[test]
fn standing_candidate_is_no_leader() {
    let mut stage = Stage::new(1);
    stage.contend(0);
    stage.pass(ms(11_500));
    let stranger = stage.stranger("stands", 5);
    let mut packet = rival(&stage, &stranger, ms(10_000));
    if let Body::Call(call) = &mut packet.body {
        call.entries[0].digest = Digest::default();
    }
    stage.deliver(0, packet);
    stage.pass(ms(100));
    let told =
        |event: &Event| matches!(event, Event::Waiting(Waiting::Behind { leading: true, .. }));
    assert_eq!(stage.told(0, told), 0);
}
