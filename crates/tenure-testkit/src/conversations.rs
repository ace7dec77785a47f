//! Golden conversations: the actions of the cores in a story, as text that people review.
//!
//! A story has a file `*.txt` in the folder of its protocol. A difference is printed as a diff.
//! `cargo xtask bless` writes the present actions of the cores: read the new text before you keep
//! it.

use std::path::{Path, PathBuf};

use similar::TextDiff;

/// The maximum number of lines of a record: people do not read longer records line by line.
const LINES_MAX: usize = 85;

/// Begins a part of an [`interleaved`] record.
const PART: &str = "> ";

/// Compares a record with the text below the line `---` of the file of this name. A person writes
/// the text above that line: it describes the story, and the lines to watch.
pub fn recorded(folder: &str, name: &str, record: &str) {
    let (path, text) = read(folder, name);
    let (preface, _) = text.split_once("\n---\n").unwrap_or_else(|| panic!("{name}: no ---"));
    check(name, preface, record.lines().count());
    compare(&path, &text, &format!("{preface}\n---\n{record}"));
}

/// Compares a record in parts with the file of this name. A part is a line that begins with `> `,
/// and the indented lines below it. All other lines of the file are its author's: they stay above
/// the first part, or below the part above them.
pub fn interleaved(folder: &str, name: &str, record: &str) {
    let (path, text) = read(folder, name);
    let preface: String = text.lines().take_while(|line| !line.starts_with(PART)).collect();
    check(name, &preface, record.lines().filter(|line| line.starts_with(' ')).count());
    compare(&path, &text, &interleave(&text, record));
}

/// Puts the author's lines of a file between the parts of a record.
fn interleave(text: &str, record: &str) -> String {
    let mut authors = vec![String::new()];
    for line in text.lines() {
        if line.starts_with(PART) {
            authors.push(String::new());
        } else if !line.starts_with(' ')
            && let Some(lines) = authors.last_mut()
        {
            *lines += &format!("{line}\n");
        }
    }
    let mut authors = authors.into_iter();
    let mut found = String::new();
    for line in record.lines() {
        if line.starts_with(PART) {
            found.extend(authors.next());
        }
        found += &format!("{line}\n");
    }
    found.extend(authors);
    found
}

/// Reads the file of a story.
fn read(folder: &str, name: &str) -> (PathBuf, String) {
    let path = Path::new(folder).join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (path, text)
}

/// Checks that people can review a record with this number of lines.
fn check(name: &str, preface: &str, lines: usize) {
    assert!(preface.matches('.').count() >= 2, "{name}: say what happens, and what to look at");
    assert!((1..=LINES_MAX).contains(&lines), "{name}: {lines} lines to review");
}

/// Compares the text of a golden file with the present record. During `cargo xtask bless` the
/// function replaces the text.
fn compare(path: &Path, text: &str, found: &str) {
    if found == text {
        return;
    }
    if blessing() {
        return std::fs::write(path, found).unwrap();
    }
    panic!("{}", difference(path, text, found));
}

/// Whether golden texts are to be written. CI never writes golden texts, because no person reads
/// them there.
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
