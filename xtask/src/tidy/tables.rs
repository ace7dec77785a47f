//! Tables that name functions and their files: each file exists, and has the items that its cell
//! names behind the file.
//!
//! A cell names a file by a link, or by a path below the folder of its column's protocol. On a page
//! about a source, each row has an answer, and the page names each test of its source.

use std::collections::BTreeSet;

use crate::tree::Tree;

/// The page of files and their functions, and the part of the page with these tables.
const MAP: &str = "ARCHITECTURE.md";
const PART: &str = "## Where is…?";

/// Folder of the pages on sources: one for each, with the name of its protocol.
const SEEDS: &str = "docs/seeds/";

/// Tests that show sentences of a source, below the folder of the core's tests.
const OF_SOURCE: [&str; 2] = ["source.rs", "paper/"];

/// The words of a row that has neither a function nor a ruling.
const ABSENT: &str = "not built";

/// The kinds of items that a cell may name.
const KINDS: [&str; 5] = ["fn", "struct", "enum", "trait", "impl"];

/// The files that a cell names, each with the names behind it.
type Files<'a> = Vec<(String, Vec<&'a str>)>;

/// A row of a table: the index of its line, the line, and the files of each cell.
type Row<'a> = (usize, &'a str, Vec<Files<'a>>);

pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in &tree.texts {
        let protocol = path.strip_prefix(SEEDS).and_then(|name| name.strip_suffix(".md"));
        let lines = text.lines().enumerate();
        let rows = match protocol {
            Some(_) => rows(path, lines),
            None if path == MAP => {
                let part = lines.skip_while(|(_, line)| *line != PART).skip(1);
                rows(path, part.take_while(|(_, line)| !line.starts_with("## ")))
            }
            None => continue,
        };
        for (index, row, cells) in &rows {
            let files = cells.iter().flatten();
            let said = files.flat_map(|(file, names)| missing(tree, file, names));
            let silent = (protocol.is_some() && !answers(row, cells)).then(|| {
                format!("no answer: name a function and a test, a page's ruling, or `{ABSENT}`")
            });
            complaints
                .extend(said.chain(silent).map(|said| format!("{path}:{}: {said}", index + 1)));
        }
        complaints.extend(protocol.into_iter().flat_map(|protocol| unnamed(tree, path, protocol)));
    }
    complaints
}

/// The rows of the tables in these lines, without headings.
fn rows<'a>(page: &str, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut folders = Vec::new();
    for (index, line) in lines {
        let Some(row) = line.strip_prefix('|') else {
            folders.clear();
            continue;
        };
        let cells = row.split('|').map(str::trim);
        if folders.is_empty() {
            folders = cells.map(folder).collect();
        } else if !row.starts_with('-') {
            let cells = cells.zip(&folders).map(|(cell, folder)| files(page, cell, folder));
            rows.push((index, line, cells.collect()));
        }
    }
    rows
}

/// Whether a row names functions in one cell and tests in another, or a page with a ruling, or
/// contains [`ABSENT`].
fn answers(row: &str, cells: &[Files<'_>]) -> bool {
    let name = |files: &&Files<'_>| files.iter().any(|(_, names)| !names.is_empty());
    cells.iter().filter(name).count() > 1 || row.contains(".md") || row.contains(ABSENT)
}

/// The folder of the protocol that a column's heading names. The heading may be a plural: `voters`.
fn folder(heading: &str) -> String {
    let name = heading.to_lowercase();
    format!("crates/tenure-core/src/{}/", name.strip_suffix('s').unwrap_or(&name))
}

fn files<'a>(page: &str, cell: &'a str, folder: &str) -> Files<'a> {
    let mut files: Files<'_> = Vec::new();
    let mut follows_file = false;
    let pieces: Vec<&str> = cell.split('`').collect();
    for code in pieces.windows(2).skip(1).step_by(2) {
        let [code, behind] = code else { continue };
        if let Some(target) = behind.strip_prefix("](") {
            let target = target.split([')', '#']).next().unwrap_or_default();
            follows_file = target.ends_with(".rs");
            if follows_file {
                files.push((from_root(page, target), Vec::new()));
            }
        } else if code.ends_with(".rs") {
            let other = behind.strip_prefix(" of ").and_then(|name| name.split(' ').next());
            let folder = other.map_or(folder.to_owned(), |name| format!("crates/{name}/src/"));
            follows_file = true;
            files.push((folder + code, Vec::new()));
        } else if let Some((_, names)) = files.last_mut().filter(|_| follows_file) {
            names.push(code);
        }
    }
    files
}

/// The path from the root of a link's target.
pub(super) fn from_root(page: &str, target: &str) -> String {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Complains about a file that does not exist, and about items that the file does not have.
fn missing(tree: &Tree, file: &str, names: &[&str]) -> Vec<String> {
    let Some(text) = tree.texts.get(file) else {
        return vec![format!("no file `{file}`: name the one that has this now")];
    };
    let absent = names.iter().filter(|name| !has(text, name));
    absent.map(|name| format!("no `{name}` in `{file}`: name what does this now")).collect()
}

/// Whether the text declares the item. In a name with `::`, the last part is the item.
fn has(text: &str, name: &str) -> bool {
    let name = name.rsplit("::").next().unwrap_or(name);
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    KINDS.iter().any(|kind| {
        let item = format!("{kind} {name}");
        text.match_indices(&item).any(|(at, _)| !text[at + item.len()..].starts_with(is_word))
    })
}

/// Tests of the protocol's source that the page does not name.
fn unnamed(tree: &Tree, page: &str, protocol: &str) -> Vec<String> {
    let folder = format!("crates/tenure-core/tests/{protocol}/");
    let named: BTreeSet<&str> = tree.text(page).split('`').collect();
    let mut complaints = Vec::new();
    for (path, text) in &tree.texts {
        let of_source = path
            .strip_prefix(&folder)
            .is_some_and(|path| OF_SOURCE.iter().any(|begin| path.starts_with(begin)));
        let tests = text.split("#[test]").skip(1).filter(|_| of_source);
        let tests = tests.filter_map(|test| test.split_once("fn ")?.1.split('(').next());
        complaints.extend(tests.filter(|test| !named.contains(test)).map(|test| {
            format!("{page}: does not name the test `{test}` of {path}: add it to a row")
        }));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_name_files_and_items() {
        let cell = "of `x` by [`b.rs`](../b.rs) `f`, `T::g`; `c/d.rs` of tenure-x `h`; `e.rs`; \
                    [`rule`](d.md) `i`";
        let expected = [
            ("docs/b.rs".to_owned(), vec!["f", "T::g"]),
            ("crates/tenure-x/src/c/d.rs".to_owned(), vec!["h"]),
            ("crates/tenure-core/src/beacon/e.rs".to_owned(), vec![]),
        ];
        assert_eq!(files("docs/seeds/a.md", cell, &folder("Beacons")), expected);
    }

    #[test]
    fn items_are_found_as_whole_words() {
        let text = "fn one_more() {}\nfn other<T>() {}\nimpl Drop for Cell {}\nstruct Seal;\n";
        let found = ["other", "Cell::other", "Drop for Cell", "Seal"];
        assert!(found.iter().all(|name| has(text, name)));
        assert!(["one", "Cell", "T", "more"].iter().all(|name| !has(text, name)));
    }
}
