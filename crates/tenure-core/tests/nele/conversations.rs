//! Messages of processes and their ledger as golden texts: a story to each `conversations/*.txt`.
//! `cargo xtask bless --only nele` rewrites the part below the line `---` of each text.

use tenure_core::nele::{Command, Mode};
use tenure_testkit::conversations::recorded;

use crate::stage::{Stage, X, ms};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nele/conversations");

fn golden(name: &str, mut stage: Stage) {
    recorded(FOLDER, name, &stage.told_so_far());
}

#[test]
fn a_claim_and_its_grace_period() {
    let mut stage = Stage::new(1, Mode::AtMostOne);
    stage.tell();
    stage.campaign(0, X);
    stage.pass(ms(20));
    stage.assign(0, &[0]);
    stage.pass(ms(600));
    stage.quietly(ms(3_200));
    stage.until(ms(1_000), |stage| stage.leaders(X) == [0]);
    stage.pass(ms(200));
    golden("a_claim_and_its_grace_period", stage);
}

/// The owner reads another process's claim before it hears of its loss.
#[test]
fn a_foreign_claim() {
    let mut stage = Stage::led(2, Mode::AtMostOne);
    stage.tell();
    stage.assign(1, &[0]);
    stage.pass(ms(520));
    stage.quietly(ms(3_300));
    stage.until(ms(1_000), |stage| stage.leaders(X) == [1]);
    golden("a_foreign_claim", stage);
}

#[test]
fn revoked_and_led_on() {
    let mut stage = Stage::led(2, Mode::AtLeastOne);
    stage.tell();
    stage.revoke(0, &[0]);
    stage.assign(1, &[0]);
    stage.pass(ms(600));
    stage.quietly(ms(22_800));
    stage.until(ms(10_000), |stage| stage.leaders(X) == [1]);
    golden("revoked_and_led_on", stage);
}

#[test]
fn lost_and_given_back() {
    let mut stage = Stage::led(2, Mode::AtMostOne);
    stage.stand(0, "x/1", &[1]);
    stage.pass(ms(6_000));
    stage.tell();
    stage.revoke(0, &[1]);
    stage.pass(ms(10));
    stage.lose(0, &[0]);
    stage.pass(ms(10));
    golden("lost_and_given_back", stage);
}

#[test]
fn resignation() {
    let mut stage = Stage::led(1, Mode::AtMostOne);
    stage.tell();
    stage.command(0, X, Command::Resign);
    stage.pass(ms(50));
    golden("resignation", stage);
}
