//! Random runs: loss, cuts in one direction, drifting clocks, stops, restarts, writes that fail,
//! changes of the electorate. Never two leaders, and fences only increase.

use std::ops::Range;
use std::time::Duration;

use tenure_core::voter::{Ask, Caller, Change, Command, Config, Founding};
use tenure_testkit::Rng;

use crate::stage::{Stage, X, config, id, ms};

const FOUNDERS: usize = 3;
const NODES: usize = 5;

fn settings(node: usize) -> Config {
    let config = config(node, FOUNDERS);
    let founding = match node < FOUNDERS {
        true => config.founding.clone(),
        false => Founding::Expected(64),
    };
    // Clocks may be off by a tenth.
    Config { drift: "0.1".parse().unwrap(), founding, tolerance: 4, ..config }
}

fn node(rng: &mut Rng) -> usize {
    rng.within(0..NODES as u64) as usize
}

fn happen(stage: &mut Stage, rng: &mut Rng) {
    let one = node(rng);
    let up = stage.nodes[one].up && !stage.nodes[one].stopped;
    match rng.within(0..14) {
        0 => stage.cut.push((one, node(rng))),
        1 => {
            let part: Vec<_> = (0..NODES).filter(|_| rng.once_in(2)).collect();
            stage.partition(&part);
        }
        2..=5 => stage.cut.clear(),
        6 if up => stage.kill(one),
        7 if !stage.nodes[one].up => {
            stage.start(one);
            stage.campaign(one, X);
        }
        8 if up => stage.nodes[one].stopped = true,
        9 if stage.nodes[one].up && stage.nodes[one].stopped => stage.go_on(one),
        10 => stage.nodes[one].full = rng.once_in(3),
        11 if up => {
            let change = match rng.once_in(2) {
                true => Change::Add(id(node(rng))),
                false => Change::Remove(id(node(rng))),
            };
            stage.ask(one, Caller::Operator, Ask::Change(change));
        }
        12 if up => drop(stage.ask(one, Caller::Operator, Ask::Start)),
        13 if up => {
            stage.command(one, X, Command::Resign);
            stage.campaign(one, X);
        }
        _ => {}
    }
}

fn run(seed: u64) -> usize {
    let mut rng = Rng::new(seed);
    let mut stage = Stage::with((0..NODES).map(settings).collect());
    if std::env::var_os("TENURE_TELL").is_some() {
        stage.tell();
    }
    for one in 0..NODES {
        let fast: Range<u64> = 0..201;
        stage.nodes[one].clock.run_fast(rng.within(fast) as i64 - 100);
        stage.nodes[one].again = true;
    }
    for one in 0..NODES {
        stage.start(one);
        stage.campaign(one, X);
    }
    for one in FOUNDERS..NODES {
        let dto = crate::stage::dto(one, tenure_core::voter::Role::None);
        stage.ask(0, Caller::Operator, Ask::Register(dto));
    }
    for _ in 0..60 {
        stage.delay = Duration::from_millis(rng.within(1..140));
        stage.pass(ms(rng.within(0..3_000)));
        happen(&mut stage, &mut rng);
        assert!(!stage.own.two_led, "seed {seed}: two leaders {:?}", stage.leaders(X));
    }
    // Everything is repaired: a leader within a few failovers.
    stage.cut.clear();
    stage.delay = ms(20);
    for one in 0..NODES {
        stage.nodes[one].full = false;
        match (stage.nodes[one].up, stage.nodes[one].stopped) {
            (false, _) => {
                stage.start(one);
                stage.campaign(one, X);
            }
            (true, true) => stage.go_on(one),
            (true, false) => {}
        }
    }
    let most = stage.nodes[0].config.failover() * 8;
    let begin = stage.now;
    while stage.leaders(X).is_empty() {
        let within = stage.now.since(begin) < most;
        assert!(within, "seed {seed}: no leader within {most:?}\n{}", stage.told_so_far());
        stage.pass(ms(50));
    }
    assert!(!stage.own.two_led, "seed {seed}: two leaders");
    stage.own.fences.len()
}

#[test]
fn never_two_leaders_whatever_happens() {
    let runs = if std::env::var_os("TESTS_LONG").is_some() { 5_000 } else { 150 };
    let seed = std::env::var_os("TESTS_SEED");
    let first = seed.map_or(0, |seed| seed.to_str().unwrap().parse().unwrap());
    let raises: usize = (first..first + runs).map(run).sum();
    assert!(raises > 1_000, "only {raises} raises");
}
