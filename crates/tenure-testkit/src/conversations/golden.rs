//! Comparing a conversation with its file, and writing it when that is asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::cast::Cast;
use super::directive::{Deed, Directive};
use super::script::{Line, Script};
use super::stage::{Stage, vocabulary};

/// More than this nobody reads line by line.
const LINES_MAX: usize = 85;

fn path<C: Cast>(name: &str) -> PathBuf {
    Path::new(C::FOLDER).join(format!("{name}.txt"))
}

/// Plays the story of this name and compares.
pub fn check<C: Cast>(name: &str) {
    let path = path::<C>(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let found = play::<C>(&text)
        .unwrap_or_else(|(line, what)| panic!("{}:{line}: {what}", path.display()))
        .to_string();
    compare(&path, name, &text, found);
}

/// Compares what was recorded with what stands below the line `---` of the file of this name;
/// above it its author says what happens and what to look at. For stories that are no scripts.
pub fn recorded(folder: &str, name: &str, record: &str) {
    let path = Path::new(folder).join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (preface, _) = text.split_once("\n---\n").unwrap_or_else(|| panic!("{name}: no ---"));
    assert!(preface.matches('.').count() >= 2, "{name}: say what happens, and what to look at");
    let lines = record.lines().count();
    assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
    compare(&path, name, &text, format!("{preface}\n---\n{record}"));
}

fn compare(path: &Path, name: &str, text: &str, found: String) {
    if found == text {
        return;
    }
    if blessing() {
        return std::fs::write(path, found).unwrap();
    }
    panic!("{}", difference(name, text, &found));
}

/// The script with what the cores did under each directive, or the line that could not be
/// performed and why not.
fn play<C: Cast>(text: &str) -> Result<Script, (usize, String)> {
    let mut script = Script::parse(text)?;
    let mut stage = None;
    let mut last = 1;
    for line in &mut script.lines {
        let Line::Directive { number, text, recorded } = line else { continue };
        last = *number;
        let wrong = |what| (last, what);
        let Directive { deed, quietly } =
            Directive::parse(text, vocabulary::<C>()).map_err(wrong)?;
        match (&mut stage, deed) {
            (None, Deed::Cluster(words)) => stage = Some(Stage::<C>::new(words).map_err(wrong)?),
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

/// Why a story cannot be performed, and the line.
///
/// # Panics
///
/// If it can.
#[must_use]
pub fn refusal<C: Cast>(text: &str) -> (usize, String) {
    play::<C>(text).map(drop).unwrap_err()
}

/// Checks that every story in the folder is among `all`, says its subject and can be reviewed.
pub fn every_story_can_be_reviewed<C: Cast>(all: &[&str]) {
    let files = std::fs::read_dir(C::FOLDER).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.extension().is_some_and(|ext| ext == "txt"));
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let found: BTreeSet<String> = texts.map(stem).collect();
    let named = all.iter().map(ToString::to_string).collect();
    assert_eq!(found, named, "files on the left, the stories that are played on the right");
    let mut titles = BTreeSet::new();
    for name in all {
        let text = std::fs::read_to_string(path::<C>(name)).unwrap();
        let script = Script::parse(&text).unwrap_or_else(|(n, what)| panic!("{name}:{n}: {what}"));
        assert!(titles.insert(script.title), "{name}: the title of another story");
        let sentences = script.preface.matches('.').count();
        assert!(sentences >= 2, "{name}: say what happens, and what to look at");
        assert!(script.preface.contains("legend.md"), "{name}: say where the legend is");
        let lines = play::<C>(&text).unwrap().recorded();
        assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
    }
}

/// Whether golden texts are to be written. Never in CI, where nobody would read them.
fn blessing() -> bool {
    let bless = std::env::var_os("TENURE_BLESS").is_some();
    let ci = std::env::var_os("CI").is_some();
    assert!(!(bless && ci), "TENURE_BLESS is refused in CI: golden texts are reviewed by people");
    bless
}

fn difference(name: &str, text: &str, found: &str) -> String {
    let before = format!("{name}.txt");
    let after = "what the cores did".to_owned();
    let diff = TextDiff::from_lines(text, found);
    let diff = diff.unified_diff().context_radius(4).header(&before, &after).to_string();
    format!("\n{diff}\nReview this. If it is meant: cargo xtask bless\n")
}
