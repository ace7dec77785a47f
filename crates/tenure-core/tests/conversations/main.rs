//! Golden conversations: stories told by the real cores, as text that people review.
//!
//! Each `*.txt` beside this file is one story; `legend.md` says how to read and how to write
//! them. A difference is printed as a diff. `cargo xtask bless` writes what the cores do now:
//! read it before you keep it.

#![allow(clippy::unwrap_used, reason = "a stage is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]

mod clock;
mod directive;
#[path = "../story/disk.rs"]
mod disk;
mod golden;
mod network;
mod record;
mod script;
mod short;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;

use script::Script;

/// More than this nobody reads line by line.
const LINES_MAX: usize = 85;

macro_rules! conversations {
    ($($name:ident)*) => {
        const ALL: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            golden::check(stringify!($name));
        })*
    };
}

conversations! {
    first_election
    renewal
    fence_round
    split_vote
    hand_over
    transfer
    waiting_queue
    leader_crash
    leader_partition
    grantor_crash
    quarantine
    lost_disk
    failed_write
    late_release
    verification
    lost_messages
    observer
    name_shared
}

#[test]
fn every_story_is_played() {
    let files = std::fs::read_dir(golden::path("x").parent().unwrap()).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let texts = paths.filter(|path| path.extension().is_some_and(|ext| ext == "txt"));
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let found: BTreeSet<String> = texts.map(|path| stem(&path)).collect();
    let named = ALL.iter().map(ToString::to_string).collect();
    assert_eq!(found, named, "files on the left, the list in main.rs on the right");
}

#[test]
fn every_story_says_what_it_is_about_and_can_be_reviewed() {
    let mut titles = BTreeSet::new();
    for name in ALL {
        let text = std::fs::read_to_string(golden::path(name)).unwrap();
        let script = Script::parse(&text).unwrap_or_else(|(n, what)| panic!("{name}:{n}: {what}"));
        assert!(titles.insert(script.title), "{name}: the title of another story");
        let sentences = script.preface.matches('.').count();
        assert!(sentences >= 2, "{name}: say what happens, and what to look at");
        assert!(script.preface.contains("legend.md"), "{name}: say where the legend is");
        let lines = golden::perform(&text).unwrap().recorded();
        assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
    }
}

#[test]
fn what_cannot_be_performed_is_named_with_its_line() {
    let error = |lines: &str| golden::perform(&format!("# story\n> {lines}\n")).unwrap_err();
    assert_eq!(error("start a").0, 2);
    let begun = "cluster members=a,b,c\n> start a b c d\n";
    let wrong = |line: &str| error(&format!("{begun}> {line}"));
    for (line, what) in [
        ("march a", "there is no directive `march`"),
        ("cluster members=a", "the cluster is there already"),
        ("start a", "a has started before"),
        ("resign x", "nobody called x has started"),
        ("cut a-x", "nobody is called x"),
        ("deliver", "nothing is on its way"),
        ("arrive", "nothing is held"),
        ("restart d lost-disk", "d has no directory to lose"),
        ("lose request d>a", "no request went from d to a"),
        ("crash d\n> campaign d", "d does not run"),
        ("hold request d>a\n> campaign d", "held for ever: request db"),
    ] {
        let (number, found) = wrong(line);
        assert_eq!(number, 3 + line.matches('\n').count() + 1, "{line}");
        assert!(found.starts_with(what), "{line}: {found}");
    }
    let (number, found) = error("cluster members=a lease=1ms");
    assert_eq!((number, found.contains("1ms")), (2, true), "{found}");
}
