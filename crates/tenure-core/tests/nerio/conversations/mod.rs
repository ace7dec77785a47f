//! Golden conversations of Nerio: stories told by real cores, each a `*.txt` beside this file, as
//! text that people review. `legend.md` says how to read and how to write them.

mod cast;
mod directive;
mod network;
mod record;
mod script;
mod short;
mod stage;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tenure_testkit::conversations::{LINES_MAX, compare};

use self::directive::{Deed, Directive};
use self::script::{Line, Script};
use self::stage::Stage;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nerio/conversations");

/// Plays the stories of these names, and sees that they are all in the folder.
macro_rules! conversations {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_story_can_be_reviewed() {
            can_be_reviewed(&[$(stringify!($name)),*]);
        }
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

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.txt"))
}

/// Plays the story of this name and compares.
fn check(name: &str) {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let found =
        play(&text).unwrap_or_else(|(line, what)| panic!("{}:{line}: {what}", path.display()));
    compare(&path, &text, &found.to_string());
}

/// The script with what the cores did under each directive, or the line that could not be
/// performed and why not.
fn play(text: &str) -> Result<Script, (usize, String)> {
    let mut script = Script::parse(text)?;
    let mut stage = None;
    let mut last = 1;
    for line in &mut script.lines {
        let Line::Directive { number, text, recorded } = line else { continue };
        last = *number;
        let wrong = |what| (last, what);
        let Directive { deed, quietly } = Directive::parse(text).map_err(wrong)?;
        match (&mut stage, deed) {
            (None, Deed::Cluster(words)) => stage = Some(Stage::new(words).map_err(wrong)?),
            (None, _) => return Err(wrong("the first directive is `cluster`".into())),
            (Some(stage), deed) => {
                let nothing = quietly && matches!(deed, Deed::Start { .. });
                stage.record.begin(quietly);
                let done = stage.perform(deed);
                *recorded = stage.record.end();
                if nothing {
                    recorded.clear();
                }
                done.map_err(|what| (last, format!("{what}\n{}", recorded.join("\n"))))?;
            }
        }
    }
    match stage {
        Some(stage) => stage.finish().map_err(|what| (last, what)).map(|()| script),
        None => Err((last, "there is no directive".into())),
    }
}

/// Checks that every story in the folder is among `all`, says its subject and can be reviewed.
fn can_be_reviewed(all: &[&str]) {
    let files = std::fs::read_dir(FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|ext| ext == "txt"));
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let found: BTreeSet<String> = texts.map(stem).collect();
    let named = all.iter().map(ToString::to_string).collect();
    assert_eq!(found, named, "files on the left, the stories that are played on the right");
    let mut titles = BTreeSet::new();
    for name in all {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let script = play(&text).unwrap_or_else(|(n, what)| panic!("{name}:{n}: {what}"));
        let lines = script.recorded();
        assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
        let sentences = script.preface.matches('.').count();
        assert!(sentences >= 2, "{name}: say what happens, and what to look at");
        assert!(script.preface.contains("legend.md"), "{name}: say where the legend is");
        assert!(titles.insert(script.title), "{name}: the title of another story");
    }
}

#[test]
fn refusals_name_their_line() {
    let error = |lines: &str| play(&format!("# story\n> {lines}\n")).map(drop).unwrap_err();
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
