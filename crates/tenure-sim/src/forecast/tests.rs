//! Compares forecasts with results worked out by hand.

use std::time::Duration;

use tenure_core::Drift;
use tenure_core::nerio::Config;

use super::answer::Findings;
use super::run::investigate;
use super::*;

const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Three nodes, a perfect network with round trips of 10 ms, and no faults.
fn question() -> Question {
    let config = Config::new("x".parse().unwrap(), Question::members(3).unwrap());
    let config = Config { drift: Drift::ZERO, ..config };
    Question {
        config: config.check().unwrap(),
        trips: RoundTrips::constant(MS * 10).unwrap(),
        loss: 0.0,
        crash_every: None,
        down: MS * 10_000,
        reboot_every: None,
        restart_every: None,
        pause_every: None,
        pause: MS * 1_000,
        hours: 1,
        drills: 0,
        seed: 7,
        target: 1.0,
        awake: false,
    }
}

fn with_lease(question: Question, lease: Duration) -> Question {
    let config = (*question.config).clone().with_lease(lease);
    Question { config: config.check().unwrap(), ..question }
}

fn found(question: &Question) -> Findings {
    question.check().unwrap();
    investigate(std::slice::from_ref(question), 2).unwrap().remove(0)
}

/// The dead leader's grants end half a round trip after its lease, and the ok of another node takes
/// half a round trip more.
#[test]
fn failovers_wait_for_the_lease() {
    let drills = found(&Question { drills: 400, ..question() }).drills;
    let crashes: Vec<_> = drills.iter().filter(|drill| drill.crash).collect();
    assert_eq!(crashes.len(), 400);
    let mut on_their_way = 0;
    for drill in &crashes {
        let more = drill.gap.checked_sub(drill.left).unwrap();
        if drill.renewed_before > MS * 1_240 && drill.gap > MS * 5_000 {
            // The dead leader had sent its next renewal, which lengthens its grants.
            assert!(drill.gap < MS * 5_011, "{drill:?}");
            on_their_way += 1;
            continue;
        }
        assert!((MS * 9..MS * 11).contains(&more), "{drill:?}");
    }
    assert!(on_their_way < 12, "{on_their_way}");
    // Renewals come after a quarter to a third of a lease, and crashes anywhere between two
    // renewals.
    let left = Spread::new(crashes.iter().map(|drill| drill.left).collect());
    let least = left.quantile(0.0);
    let mean = left.mean();
    let most = left.max();
    assert!(least > MS * 3_300 && least < MS * 3_450, "{least:?}");
    assert!(most > MS * 4_950 && most < MS * 4_991, "{most:?}");
    // On average a renewal comes after 7/24 of a lease, and a crash in the middle between two
    // renewals.
    let expected = MS * 4_990 - MS * 5_000 * 7 / 48;
    assert!(mean.abs_diff(expected) < MS * 80, "{mean:?} for {expected:?}");
}

/// The release takes half a round trip to the others; their oks take at most another whole round
/// trip.
#[test]
fn resignations_take_a_round_trip() {
    let drills = found(&Question { drills: 200, ..question() }).drills;
    let gaps = drill::spread(&drills, false);
    assert_eq!(gaps.count(), 200);
    assert!(gaps.quantile(0.0) >= MS * 5 && gaps.max() <= MS * 16, "{gaps:?}");
}

#[test]
fn availability_is_what_crashes_leave() {
    let often = Question { crash_every: Some(MINUTE * 10), hours: 30, ..question() };
    let often = Question { down: MS * 1_000, ..often };
    let figures = found(&often).figures;
    let crashes = figures.spread(Cause::Crash);
    // Expect 180 crashes of the leader, with a standard deviation of 13.
    assert!((140..220).contains(&crashes.count()), "{}", crashes.count());
    assert_eq!(crashes.count(), figures.vacancies.len());
    let gone = figures.vacant.as_secs_f64() / figures.time.as_secs_f64();
    let expected = crashes.count() as f64 * crashes.mean().as_secs_f64() / 108_000.0;
    assert!((gone / expected - 1.0).abs() < 1e-6, "{gone} for {expected}");
    assert!((MS * 4_000..MS * 4_500).contains(&crashes.mean()), "{:?}", crashes.mean());
    // Rarer crashes are taken from the drills, with the given rate.
    let rare = Question { crash_every: Some(MINUTE * 600), drills: 100, ..question() };
    let Findings { figures, drills, .. } = found(&rare);
    let expected = Availability::of(&rare, &figures, &drills).expected;
    let by_hand = 1.0 - drill::spread(&drills, true).mean().as_secs_f64() / 36_000.0;
    assert!((expected - by_hand).abs() < 1e-9, "{expected} for {by_hand}");
}

#[test]
fn needless_changes_rise_with_loss() {
    let base = Question { hours: 8, trips: RoundTrips::constant(MS * 100).unwrap(), ..question() };
    let seen = |loss: f64, lease: Duration| {
        let question = with_lease(Question { loss, ..base.clone() }, lease);
        let needless = Needless::of(&question, &found(&question).figures);
        assert!(needless.in_month_at_most > needless.in_month);
        needless.seen
    };
    let [none, some, many] = [0.0, 0.3, 0.45].map(|loss| seen(loss, MS * 2_000));
    assert!(none == 0 && some > 10 && many > 3 * some, "{none} {some} {many}");
    let longer = seen(0.45, MS * 5_000);
    assert!(longer * 3 < many, "{longer} {many}");
}

#[test]
fn sleeping_nodes_miss_nothing() {
    let bad = Question {
        hours: 24,
        loss: 0.45,
        trips: RoundTrips::quantiles(&[(50.0, MS * 20), (99.0, MS * 200)]).unwrap(),
        ..with_lease(question(), MS * 2_500)
    };
    let asleep = found(&bad).figures;
    let awake = found(&Question { awake: true, ..bad.clone() }).figures;
    assert!(awake.events * 2 > asleep.events * 3, "{} {}", awake.events, asleep.events);
    let close = |a: f64, b: f64, within: f64| (a / b - 1.0).abs() < within;
    let calls = (asleep.close_calls as f64, awake.close_calls as f64);
    assert!(calls.1 > 500.0 && close(calls.0, calls.1, 0.15), "{calls:?}");
    let vacant = (asleep.vacant.as_secs_f64(), awake.vacant.as_secs_f64());
    assert!(close(vacant.0, vacant.1, 0.15), "{vacant:?}");
    let mean = |figures: &Figures| figures.spread(Cause::Needless).mean().as_secs_f64();
    assert!(close(mean(&asleep), mean(&awake), 0.2), "{} {}", mean(&asleep), mean(&awake));
    assert!(close(asleep.messages_per_second(), awake.messages_per_second(), 0.02));
}

/// Every renewal is simulated, with a message to and from each node.
#[test]
fn every_renewal_is_run() {
    let figures = found(&Question { hours: 20, ..question() }).figures;
    assert_eq!(figures.time, MINUTE * 60 * 20);
    let least = 72_000 / 5 * 3;
    let most = 72_000 / 5 * 4;
    assert!((least..=most).contains(&figures.renewals), "{}", figures.renewals);
    assert!(figures.events > figures.renewals * 7, "{}", figures.events);
    assert_eq!(figures.attempts[0], figures.renewals);
    assert_eq!((figures.vacancies.len(), figures.close_calls), (0, 0));
    // Two waiting candidates ask two others four times a second, and get answers; the leader
    // renews.
    let renewals = figures.renewals as f64 / 72_000.0;
    let expected = 2.0 * 2.0 * 4.0 * 2.0 + renewals * 4.0;
    let found = figures.messages_per_second();
    assert!((found / expected - 1.0).abs() < 0.02, "{found} for {expected}");
}

#[test]
fn paused_leaders_are_replaced() {
    let stops = Question {
        pause_every: Some(MINUTE * 10),
        pause: MS * 4_000,
        hours: 20,
        ..with_lease(question(), MS * 2_000)
    };
    let figures = found(&stops).figures;
    let paused = figures.count(Cause::Pause);
    let all = figures.vacancies.len();
    assert!(paused > 30 && paused * 10 > all * 9, "{paused} of {all}");
}

#[test]
fn two_nodes_need_both() {
    let config = Config::new("x".parse().unwrap(), Question::members(2).unwrap());
    let two = Question {
        config: config.check().unwrap(),
        crash_every: Some(MINUTE * 20),
        down: MINUTE * 2,
        hours: 4,
        drills: 20,
        ..question()
    };
    let answer = forecast(&two, 2).unwrap();
    assert!(answer.availability.seen < 0.9, "{:?}", answer.availability);
    assert!(answer.figures.count(Cause::NoQuorum) > 5);
    assert!(answer.advice.notes.contains(&Note::NoSpare { nodes: 2 }));
    let better = answer.advice.better().unwrap();
    assert_eq!(better.nodes(), 3);
    assert!(better.availability.expected > answer.availability.expected);
}

#[test]
fn threads_change_no_answer() {
    let all = Question {
        // With these numbers each thread gets pieces of each kind.
        hours: 14,
        drills: 30,
        loss: 0.05,
        crash_every: Some(MINUTE * 30),
        restart_every: Some(MINUTE * 60),
        reboot_every: Some(MINUTE * 90),
        pause_every: Some(MINUTE * 20),
        trips: RoundTrips::quantiles(&[(50.0, MS), (99.0, MS * 30)]).unwrap(),
        ..question()
    };
    let questions = [all.clone(), with_lease(all.clone(), MS * 2_000)];
    let [one, three] = [1, 3].map(|threads| investigate(&questions, threads).unwrap());
    assert_eq!(one, three);
    let short = Question { hours: 1, ..all };
    let other = Question { seed: 8, ..short.clone() };
    let [short, other] = [short, other].map(|question| found(&question).figures);
    assert_ne!(format!("{short:?}"), format!("{other:?}"));
}

#[test]
fn advice_is_the_shortest_lease() {
    let calm = Question { drills: 20, ..question() };
    let answer = forecast(&calm, 2).unwrap();
    let better = answer.advice.better().unwrap();
    assert_eq!(better.config.lease, MS * 2_000);
    assert_eq!(answer.advice.trials[0].config.lease, MS * 2_000);
    assert!(better.crash.quantile(0.99) < answer.crash.quantile(0.5));
    assert_eq!(answer.advice.notes, [Note::NoPauses]);
    let best = forecast(&with_lease(calm, MS * 2_000), 2).unwrap();
    assert!(best.advice.better().is_none() && best.advice.best.is_some());
    // A network too bad for short leases needs longer leases.
    let bad = Question { hours: 8, loss: 0.4, drills: 20, ..question() };
    let bad = Question { trips: RoundTrips::constant(MS * 100).unwrap(), ..bad };
    let answer = forecast(&with_lease(bad, MS * 2_000), 2).unwrap();
    let estimate = |trial: &Trial| trial.needless.estimate();
    let [first, .., last] = &answer.advice.trials[..] else { panic!() };
    assert!(estimate(first) > 100.0 * estimate(last).max(1e-3), "{first:?} {last:?}");
    assert!(answer.advice.better().is_none_or(|better| better.config.lease > MS * 2_000));
    let measured = MS * 100;
    assert!(answer.advice.notes.contains(&Note::RoundTrip { set: MS * 10, measured }));
}

#[test]
fn refusals_name_both_numbers() {
    let wrong = Question { crash_every: Some(MS * 15_000), ..question() };
    assert_eq!(
        wrong.check().unwrap_err().to_string(),
        "a crash every 15s is too often for any node to lead; the shortest interval is 20s"
    );
    let slow = Question { trips: RoundTrips::constant(MS * 30_000).unwrap(), ..question() };
    assert!(matches!(forecast(&slow, 2), Err(Unanswerable::NobodyElected { .. })));
    let long = with_lease(Question { hours: 100_000, ..question() }, MS * 1_750);
    let Err(Unanswerable::TooMuch { enough, .. }) = long.check() else { panic!() };
    assert!(Question { hours: enough, ..long }.check().is_ok());
    assert!(Question { loss: 0.6, ..question() }.check().is_err());
    assert!(Question { hours: 0, ..question() }.check().is_err());
}
