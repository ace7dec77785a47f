//! Packets of the participants as golden texts: a story to each `conversations/*.txt`. `cargo xtask
//! bless --only allcall` rewrites the part below the line `---` of each text.

use tenure_core::allcall::Command;
use tenure_testkit::conversations::recorded;

use crate::stage::{Stage, X, ms};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/allcall/conversations");

fn golden(name: &str, mut stage: Stage) {
    recorded(FOLDER, name, &stage.told_so_far());
}

#[test]
fn first_election() {
    let mut stage = Stage::new(2);
    stage.tell();
    stage.contend_together(2);
    stage.quietly(ms(11_000));
    stage.pass(ms(3_100));
    golden("first_election", stage);
}

#[test]
fn a_better_one_joins() {
    let mut stage = Stage::new(2);
    stage.contend(1);
    stage.pass(ms(14_500));
    stage.tell();
    stage.contend(0);
    stage.pass(ms(1_000));
    stage.quietly(ms(9_900));
    stage.pass(ms(2_800));
    stage.quietly(ms(2_500));
    stage.until(ms(9_000), |stage| stage.leaders(X) == [0]);
    golden("a_better_one_joins", stage);
}

#[test]
fn heal() {
    let mut stage = Stage::new(2);
    stage.isolate_all();
    for node in 0..2 {
        stage.contend(node);
        stage.pass(ms(300));
    }
    stage.pass(ms(15_000));
    stage.tell();
    stage.pass(ms(1_000));
    stage.heal();
    stage.pass(ms(2_000));
    golden("heal", stage);
}

#[test]
fn resignation() {
    let mut stage = Stage::led(2);
    stage.tell();
    stage.pass(ms(300));
    stage.command(0, X, Command::Resign);
    stage.pass(ms(1_500));
    golden("resignation", stage);
}

#[test]
fn cut_off() {
    let mut stage = Stage::led(2);
    stage.cut_off(0);
    stage.tell();
    stage.pass(ms(2_100));
    stage.quietly(ms(3_500));
    stage.until(ms(3_000), |stage| stage.leaders(X).is_empty());
    stage.quietly(ms(1_500));
    stage.until(ms(9_000), |stage| stage.leaders(X) == [1]);
    golden("cut_off", stage);
}
