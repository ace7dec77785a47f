//! Whatever happens to three processes and their clocks: of one role at most one leads in
//! `at_most_one`, fences grow, and in the end somebody leads (guarantees (a), (b) and (d)).

use std::time::Duration;

use tenure_core::nele::{Config, Kind, Mode, Said};
use tenure_testkit::Rng;

use crate::stage::{Stage, X, config, ms};

const NODES: usize = 3;
/// As far as clocks are off, in parts of a thousand.
const OFF: i64 = 50;

/// Who owns partition 0 as the coordinator has it, and what each process was told.
struct Coordinator {
    owner: usize,
    told: [bool; NODES],
}

fn stage(rng: &mut Rng, mode: Mode) -> Stage {
    let mut stage = Stage::with(
        (0..NODES)
            .map(|node| {
                let drift = "0.05".parse().unwrap();
                let mut of = Config { drift, ..config(node, mode) };
                of.takeover = match mode {
                    Mode::AtLeastOne => of.handover() + ms(1),
                    Mode::AtMostOne => of.takeover,
                };
                of
            })
            .collect(),
    );
    for node in 0..NODES {
        stage.nodes[node].clock.run_fast(rng.within(0..2 * OFF as u64 + 1) as i64 - OFF);
        stage.nodes[node].again = true;
        stage.campaign(node, X);
        stage.assign(node, &[]);
    }
    stage
}

impl Coordinator {
    /// The partition goes to another one; the old one is told before, later, or not at all.
    fn rebalance(&mut self, rng: &mut Rng, stage: &mut Stage) {
        let before = self.owner;
        self.owner = rng.index(NODES);
        if self.told[before] && !stage.nodes[before].stopped {
            match rng.within(0..4) {
                0 => stage.revoke(before, &[0]),
                1 => stage.lose(before, &[0]),
                _ => {}
            }
            self.told[before] = rng.once_in(2);
        }
        self.tell(stage);
    }

    fn tell(&mut self, stage: &mut Stage) {
        if !stage.nodes[self.owner].stopped {
            stage.assign(self.owner, &[0]);
            self.told[self.owner] = true;
        }
    }
}

fn disturb(rng: &mut Rng, stage: &mut Stage, coordinator: &mut Coordinator) {
    let node = rng.index(NODES);
    let stopped = stage.nodes[node].stopped;
    match rng.within(0..14) {
        0..=3 => coordinator.rebalance(rng, stage),
        4 | 5 if stopped => stage.go_on(node),
        4 | 5 => stage.nodes[node].stopped = true,
        6 if stage.nodes[node].own.holds_back => stage.let_go(node),
        6 => stage.nodes[node].own.holds_back = true,
        7 => (stage.delay, stage.own.lag) = (ms(rng.within(1..1_500)), ms(rng.within(1..3_000))),
        8 => (stage.delay, stage.own.lag) = (ms(rng.within(1..20)), ms(rng.within(0..20))),
        9 => stage.cut_off(node, rng.once_in(2)),
        10 => stage.skip(node, 0),
        11 if rng.once_in(3) && !stopped => {
            stage.restart(node);
            stage.nodes[node].again = true;
            stage.campaign(node, X);
            stage.assign(node, &[]);
        }
        12 if !stopped => stage.leave(node, rng.once_in(2), true),
        13 => {
            let mut claim = stage.stranger(Kind::Claim);
            if rng.once_in(2) {
                claim.group = "h".parse().unwrap();
            }
            stage.append(0, Said::Entry(claim));
        }
        _ => stage.nodes[node].own.cannot_write ^= !stopped,
    }
}

/// One run of ten minutes, then peace.
fn run(seed: u64, mode: Mode) -> Stage {
    let mut rng = Rng::new(seed);
    let mut stage = stage(&mut rng, mode);
    let mut coordinator = Coordinator { owner: 0, told: [true, false, false] };
    coordinator.tell(&mut stage);
    for _ in 0..80 {
        disturb(&mut rng, &mut stage, &mut coordinator);
        stage.pass(ms(rng.within(0..15_000)));
    }
    (stage.delay, stage.own.lag) = (ms(5), Duration::ZERO);
    for node in 0..NODES {
        stage.go_on(node);
        stage.cut_off(node, false);
        stage.nodes[node].own.cannot_write = false;
        stage.let_go(node);
    }
    stage.pass(ms(10_000));
    for node in 0..NODES {
        stage.lose(node, &[0]);
    }
    stage.pass(ms(1_000));
    stage.assign(1, &[0]);
    stage.pass(ms(60_000));
    stage
}

#[test]
fn at_most_one_leads_whatever_happens() {
    let mut led = 0;
    for seed in 0..60 {
        let stage = run(seed, Mode::AtMostOne);
        assert_eq!(stage.overlap(), Duration::ZERO, "seed {seed}");
        assert_eq!(stage.leaders(X), [1], "seed {seed}");
        led += stage.elected();
    }
    assert!(led > 300, "only {led} leaderships");
}

#[test]
fn at_least_one_leads_in_the_end_whatever_happens() {
    for seed in 0..20 {
        let stage = run(seed, Mode::AtLeastOne);
        assert_eq!(stage.leaders(X), [1], "seed {seed}");
    }
}
