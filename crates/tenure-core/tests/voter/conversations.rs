//! Messages of voters as golden texts: a story to each `conversations/*.txt`. `cargo xtask bless
//! --only voter` rewrites the part below the line `---` of each text.

use tenure_core::voter::Command;
use tenure_testkit::conversations::recorded;

use crate::stage::{Stage, X, ms};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/voter/conversations");

fn golden(name: &str, mut stage: Stage) {
    recorded(FOLDER, name, &stage.told_so_far());
}

#[test]
fn founding_and_first_election() {
    let mut stage = Stage::new(2);
    stage.delay = ms(20);
    stage.tell();
    (0..2).for_each(|node| stage.start(node));
    (0..2).for_each(|node| stage.campaign(node, X));
    stage.until(ms(6_000), |stage| stage.leaders(X).len() == 1);
    stage.pass(ms(100));
    golden("founding_and_first_election", stage);
}

#[test]
fn a_leader_is_lost() {
    let mut stage = Stage::led(3);
    stage.pass(ms(400));
    stage.delay = ms(20);
    stage.tell();
    stage.kill(0);
    stage.quietly(ms(4_000));
    stage.until(ms(6_000), |stage| stage.leaders(X).len() == 1);
    stage.pass(ms(60));
    golden("a_leader_is_lost", stage);
}

#[test]
fn resignation() {
    let mut stage = Stage::led(3);
    stage.delay = ms(20);
    stage.tell();
    stage.command(0, X, Command::Resign);
    stage.until(ms(6_000), |stage| stage.leaders(X).len() == 1);
    stage.pass(ms(60));
    golden("resignation", stage);
}
