//! Views of observers while no leader is known.

use std::time::Duration;

use tenure_core::View;
use tenure_core::voter::{Answer, Ask, Caller, Change, Command, Config, Mode};

use crate::stage::{Stage, X, config, id, ms};

fn observe(stage: &mut Stage, node: usize) {
    stage.command(node, X, Command::Observe { every: Duration::ZERO });
}

fn change(stage: &mut Stage, change: Change) {
    let answer = stage.ask(0, Caller::Operator, Ask::Change(change));
    assert_eq!(answer, Some(Answer::Done));
    stage.pass(ms(3_000));
}

/// n0 leads by the electorate of n0, n1 and n3. n1 knows only the electorate of n0, n1 and n2, in
/// which n1 and n2 would be a quorum.
#[test]
fn an_earlier_electorate_makes_no_vacancy() {
    let mut stage = Stage::led_by_founders(3, 4, |config| config);
    stage.start(3);
    stage.register(3, 0);
    stage.pass(ms(3_000));
    let apart = |one: usize| [0, 3].into_iter().flat_map(move |other| [(one, other), (other, one)]);
    stage.cut = apart(1).collect();
    change(&mut stage, Change::Add(id(3)));
    change(&mut stage, Change::Remove(id(2)));
    stage.cut.extend(apart(2));
    stage.pass(ms(10_000));
    observe(&mut stage, 1);
    for _ in 0..100 {
        stage.pass(ms(100));
        assert_eq!(stage.leaders(X), [0]);
        assert!(matches!(stage.view(1, X), Some(View::Unknown { .. })), "{:?}", stage.view(1, X));
    }
}

/// n0 leads by the promise of n2, and then by the promise of n1 instead. n1 was free at first, and
/// is bound again before n2 becomes free.
#[test]
fn free_one_after_the_other_makes_no_vacancy() {
    for phase in 0..10 {
        let mut stage = Stage::new(3);
        stage.start(2);
        stage.pass(ms(100 * phase));
        (0..2).for_each(|node| stage.start(node));
        stage.pass(ms(5_000));
        stage.elect(0, ms(3_000));
        stage.cut = vec![(0, 1)];
        stage.pass(ms(10_000));
        observe(&mut stage, 2);
        stage.nodes[0].stopped = true;
        stage.pass(ms(3_500));
        stage.cut = vec![(0, 2)];
        stage.go_on(0);
        for _ in 0..200 {
            stage.pass(ms(10));
            let leads = stage.leaders(X) == [0];
            assert!(!leads || stage.view(2, X) != Some(&View::Vacant), "{phase}");
        }
    }
}

/// n0 leads and n1 follows. n2 starts, and observes before it has asked any voter.
#[test]
fn newcomer_asks_before_reporting_vacancy() {
    let region = |node| Config { mode: Mode::Available, ..config(node, 3) };
    let mut stage = Stage::with((0..3).map(region).collect());
    stage.own.may_overlap = true;
    (0..2).for_each(|node| stage.start(node));
    stage.pass(ms(5_000));
    stage.elect(0, ms(9_000));
    stage.pass(ms(3_000));
    stage.start(2);
    observe(&mut stage, 2);
    let vacant = |stage: &Stage| stage.view(2, X) == Some(&View::Vacant);
    for _ in 0..500 {
        assert!(!vacant(&stage), "n0 leads");
        stage.pass(ms(10));
    }
    assert!(matches!(stage.view(2, X), Some(View::Leader(_))));
    stage.command(0, X, Command::Resign);
    stage.until(ms(5_000), vacant);
    // A lonely voter reports the vacancy at the time at which it would draw.
    let mut stage = Stage::with(vec![region(0)]);
    stage.start(0);
    observe(&mut stage, 0);
    assert!(matches!(stage.view(0, X), Some(View::Unknown { .. })));
    stage.until(region(0).silence() + ms(2_000), |stage| stage.view(0, X) == Some(&View::Vacant));
}

/// n2 has missed a change, and hears of it although no voter leads any more.
#[test]
fn outdated_voter_sees_vacancy() {
    let mut stage = Stage::led(4);
    (0..4).for_each(|node| stage.command(node, X, Command::Resign));
    stage.pass(ms(8_000));
    stage.elect(0, ms(8_000));
    stage.pass(ms(2_000));
    stage.partition(&[2]);
    change(&mut stage, Change::Remove(id(3)));
    stage.command(0, X, Command::Resign);
    stage.pass(ms(10_000));
    observe(&mut stage, 2);
    stage.cut.clear();
    stage.until(ms(5_000), |stage| stage.view(2, X) == Some(&View::Vacant));
    assert_eq!(stage.electorate(2), stage.electorate(0));
}
