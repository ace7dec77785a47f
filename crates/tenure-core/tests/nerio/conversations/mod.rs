//! Golden conversations of Nerio: a story to each `*.txt` beside this file, which people review.
//! `legend.md` says how to read them. `cargo xtask bless --only nerio` writes the recorded lines
//! anew, and leaves the lines of authors alone.

mod record;
mod short;
mod talk;

use self::talk::Talk;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nerio/conversations");

#[test]
fn first_election() {
    let mut talk = Talk::new();
    talk.start("a");
    talk.quietly().start("b c d");
    talk.campaign("d");
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.standing();
    talk.golden("first_election");
}

#[test]
fn renewal() {
    let mut talk = Talk::led("a b c d", 3);
    talk.run(2);
    talk.run(730);
    talk.lose("request", "d", "a");
    talk.lose("request", "d", "b");
    talk.run(780);
    talk.standing();
    talk.golden("renewal");
}

#[test]
fn fence_round() {
    let mut talk = Talk::led("a b c d", 8);
    talk.quietly().resign("d");
    talk.quietly().run(8);
    talk.restart("d");
    talk.campaign("d");
    talk.run(8);
    talk.standing();
    talk.golden("fence_round");
}

#[test]
fn split_vote() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c d e f");
    talk.delay("d", "b", 3);
    talk.delay("d", "c", 3);
    talk.delay("e", "a", 3);
    talk.delay("e", "c", 3);
    talk.delay("f", "a", 3);
    talk.delay("f", "b", 3);
    talk.campaign("d");
    talk.campaign("e");
    talk.campaign("f");
    talk.run(12);
    talk.quietly().run(400);
    talk.standing();
    talk.golden("split_vote");
}

#[test]
fn hand_over() {
    let mut talk = Talk::led("a b c d e", 650);
    talk.campaign("e");
    talk.run(2);
    talk.quietly().run(100);
    talk.resign("d");
    talk.deliver();
    talk.deliver();
    talk.standing();
    talk.golden("hand_over");
}

#[test]
fn transfer() {
    let mut talk = Talk::led("a b c d e f", 8);
    talk.quietly().campaign_with("e", 9);
    talk.quietly().campaign("f");
    talk.quietly().run(150);
    talk.transfer("d", "f");
    talk.run(4);
    talk.quietly().run(20);
    talk.standing();
    talk.transfer("f", "x");
    talk.quietly().run(300);
    talk.standing();
    talk.golden("transfer");
}

#[test]
fn waiting_queue() {
    let mut talk = Talk::led("a b c d e f g", 8);
    talk.quietly().campaign_with("e", 1);
    talk.quietly().run(5);
    talk.quietly().campaign_with("f", 3);
    talk.quietly().run(5);
    talk.quietly().campaign_with("g", 2);
    talk.quietly().run(450);
    talk.standing();
    talk.resign("d");
    talk.deliver();
    talk.quietly().run(300);
    talk.quietly().resign("f");
    talk.quietly().run(300);
    talk.quietly().resign("g");
    talk.quietly().run(300);
    talk.standing();
    talk.golden("waiting_queue");
}

#[test]
fn leader_crash() {
    let mut talk = Talk::new();
    talk.quietly().start_at_rate("a", 110);
    talk.quietly().start("b");
    talk.quietly().start_at_rate("c", 90);
    talk.quietly().start("d e");
    talk.quietly().campaign("d");
    talk.quietly().run(8);
    talk.quietly().campaign("e");
    talk.quietly().run(8);
    talk.standing();
    talk.crash("d");
    talk.quietly().run(2_385);
    talk.run(4);
    talk.quietly().run(3);
    talk.run(5);
    talk.quietly().run(229);
    talk.run(8);
    talk.quietly().run(350);
    talk.standing();
    talk.golden("leader_crash");
}

#[test]
fn leader_partition() {
    let mut talk = Talk::new();
    talk.quietly().start_at_rate("a b c", 110);
    talk.quietly().start_at_rate("d", 90);
    talk.quietly().start("e");
    talk.quietly().campaign("d");
    talk.quietly().run(8);
    talk.quietly().campaign("e");
    talk.quietly().run(8);
    talk.cut_off("d");
    talk.standing();
    talk.quietly().run(2_380);
    talk.run(3);
    talk.quietly().run(90);
    talk.heal();
    talk.run(170);
    talk.standing();
    talk.golden("leader_partition");
}

#[test]
fn grantor_crash() {
    let mut talk = Talk::led("a b c d e", 8);
    talk.quietly().campaign("e");
    talk.quietly().run(8);
    talk.crash("a");
    talk.run(20);
    talk.restart("a");
    talk.standing();
    talk.run(75);
    talk.quietly().run(650);
    talk.standing();
    talk.golden("grantor_crash");
}

#[test]
fn quarantine() {
    let mut talk = Talk::led("a b c d", 100);
    talk.reboot("a");
    talk.quietly().run(610);
    talk.run(20);
    talk.quietly().run(4_640);
    talk.run(10);
    talk.run(440);
    talk.standing();
    talk.quietly().start("o");
    talk.observe("o", 100);
    talk.quietly().run(10);
    talk.golden("quarantine");
}

#[test]
fn lost_disk() {
    let mut talk = Talk::led("a b c d", 100);
    talk.lose_disk("a");
    talk.quietly().run(610);
    talk.run(20);
    talk.quietly().run(4_640);
    talk.run(20);
    talk.run(450);
    talk.standing();
    talk.golden("lost_disk");
}

#[test]
fn failed_write() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c d");
    talk.disk_fails("a");
    talk.campaign("d");
    talk.run(4);
    talk.disk_works("a");
    talk.quietly().run(750);
    talk.quietly().run(600);
    talk.run(150);
    talk.standing();
    talk.golden("failed_write");
}

#[test]
fn late_release() {
    let mut talk = Talk::led("a b c d e", 8);
    talk.hold("release", "d", "a");
    talk.resign("d");
    talk.run(2);
    talk.campaign("d");
    talk.quietly().run(5);
    talk.run(60);
    talk.quietly().run(690);
    talk.standing();
    talk.arrive();
    talk.run(1);
    talk.quietly().campaign("e");
    talk.run(2);
    talk.standing();
    talk.hold("request", "e", "a");
    talk.quietly().run(100);
    talk.resign("e");
    talk.run(2);
    talk.arrive();
    talk.golden("late_release");
}

#[test]
fn verification() {
    let mut talk = Talk::promising(200);
    talk.quietly().start("a b c d e f");
    talk.quietly().campaign("d");
    talk.quietly().run(8);
    talk.quietly().campaign("e");
    talk.quietly().run(80);
    talk.verify("f", "d");
    talk.run(2);
    talk.resign("d");
    talk.verify("f", "d");
    talk.run(2);
    talk.quietly().run(195);
    talk.run(4);
    talk.quietly().run(20);
    talk.standing();
    talk.golden("verification");
}

#[test]
fn lost_messages() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c d");
    talk.repeat("request", "d", "a");
    talk.repeat("granted", "a", "d");
    talk.hold("granted", "b", "d");
    talk.lose("granted", "c", "d");
    talk.campaign("d");
    talk.run(2);
    talk.run(110);
    talk.arrive();
    talk.standing();
    talk.golden("lost_messages");
}

#[test]
fn observer() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c d o");
    talk.quietly().run(20);
    talk.observe("o", 300);
    talk.deliver();
    talk.deliver();
    talk.quietly().campaign("d");
    talk.quietly().run(400);
    talk.cut("o", "a");
    talk.quietly().run(600);
    talk.cut("o", "b");
    talk.quietly().run(3_000);
    talk.heal();
    talk.quietly().run(300);
    talk.quietly().resign("d");
    talk.quietly().run(300);
    talk.standing();
    talk.golden("observer");
}

#[test]
fn name_shared() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c");
    talk.quietly().start("d");
    talk.quietly().start_as("d2", "d");
    talk.quietly().campaign("d");
    talk.quietly().run(8);
    talk.campaign("d2");
    talk.run(2);
    talk.quietly().run(710);
    talk.run(6);
    talk.run(90);
    talk.resign("d2");
    talk.run(2);
    talk.standing();
    talk.golden("name_shared");
}

#[test]
fn short_line() {
    let mut talk = Talk::new();
    talk.quietly().start("a b c");
    talk.start_listing("d", "a,c");
    talk.campaign("d");
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.deliver();
    talk.golden("short_line");
}

#[test]
fn texts_have_stories_and_a_legend() {
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        assert!(include_str!("mod.rs").contains(&format!("golden(\"{name}\")")), "{name}");
        assert!(std::fs::read_to_string(&path).unwrap().contains("legend.md"), "{name}");
    }
}
