//! Golden conversations: what the cores of a story do, as text that people review.
//!
//! A story has a file `*.txt` in the folder of its protocol. A difference is printed as a diff.
//! `cargo xtask bless` writes what the cores do now: read it before you keep it.

use std::path::Path;

use similar::TextDiff;

/// People do not read longer records line by line.
pub const LINES_MAX: usize = 85;

/// Compares a record with the text below the line `---` of the file of this name. The text above
/// the line is written by a person: it says what happens, and what to look at.
pub fn recorded(folder: &str, name: &str, record: &str) {
    let path = Path::new(folder).join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (preface, _) = text.split_once("\n---\n").unwrap_or_else(|| panic!("{name}: no ---"));
    assert!(preface.matches('.').count() >= 2, "{name}: say what happens, and what to look at");
    let lines = record.lines().count();
    assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
    compare(&path, &text, &format!("{preface}\n---\n{record}"));
}

/// Compares the text of a golden file with what the cores do now. During `cargo xtask bless` the
/// function replaces the text.
pub fn compare(path: &Path, text: &str, found: &str) {
    if found == text {
        return;
    }
    if blessing() {
        return std::fs::write(path, found).unwrap();
    }
    panic!("{}", difference(path, text, found));
}

/// Whether golden texts are to be written. CI never writes them: nobody would read them there.
fn blessing() -> bool {
    let bless = std::env::var_os("TENURE_BLESS").is_some();
    let ci = std::env::var_os("CI").is_some();
    assert!(!(bless && ci), "TENURE_BLESS is refused in CI: golden texts are reviewed by people");
    bless
}

fn difference(path: &Path, text: &str, found: &str) -> String {
    let before = path.file_name().unwrap_or_default().to_string_lossy();
    let after = "what the cores did".to_owned();
    let diff = TextDiff::from_lines(text, found);
    let diff = diff.unified_diff().context_radius(4).header(&before, &after).to_string();
    format!("\n{diff}\nReview this. If it is meant: cargo xtask bless\n")
}
