//! Comparing a conversation with its file, and writing it when that is asked for.

use std::path::PathBuf;

use similar::TextDiff;

use crate::directive::{Deed, Directive};
use crate::script::{Line, Script};
use crate::stage::Stage;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/conversations/{name}.txt"))
}

/// Plays the story of this name and compares.
pub fn check(name: &str) {
    let path = path(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let found = perform(&text)
        .unwrap_or_else(|(line, what)| panic!("{}:{line}: {what}", path.display()))
        .to_string();
    if found == text {
        return;
    }
    if blessing() {
        return std::fs::write(&path, found).unwrap();
    }
    panic!("{}", difference(name, &text, &found));
}

/// The script with what the cores did under each directive, or the line that could not be
/// performed and why not.
pub fn perform(text: &str) -> Result<Script, (usize, String)> {
    let mut script = Script::parse(text)?;
    let mut stage = None;
    let mut last = 1;
    for line in &mut script.lines {
        let Line::Directive { number, text, recorded } = line else { continue };
        last = *number;
        let wrong = |what| (last, what);
        let Directive { deed, quietly } = text.parse().map_err(wrong)?;
        match (&mut stage, deed) {
            (None, Deed::Cluster(setup)) => stage = Some(Stage::new(&setup).map_err(wrong)?),
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

/// Whether golden texts are to be written. Never in CI, where nobody would read them.
fn blessing() -> bool {
    let bless = std::env::var_os("TENURE_BLESS").is_some();
    let ci = std::env::var_os("CI").is_some();
    assert!(!(bless && ci), "TENURE_BLESS is refused in CI: golden texts are reviewed by people");
    bless
}

fn difference(name: &str, text: &str, found: &str) -> String {
    let (before, after) = (format!("{name}.txt"), "what the cores did".to_owned());
    let diff = TextDiff::from_lines(text, found);
    let diff = diff.unified_diff().context_radius(4).header(&before, &after).to_string();
    format!("\n{diff}\nReview this. If it is meant: cargo xtask bless\n")
}
