//! What a new protocol touches outside its own files is a list in `CONTRIBUTING.md`, exact and
//! short.
//!
//! The first protocol is the library's own and everybody's example, so it is not counted.

use std::collections::BTreeSet;

use super::tree::Tree;
use super::{Complaint, complaint};
use crate::protocols::{self, Protocol};

/// The page with the list: its rows are `` | `path` | what | `` below the heading.
const PAGE: &str = "CONTRIBUTING.md";
const HEADING: &str = "## What a protocol touches";

/// How long the list may be.
const MOST: usize = 8;

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let Some(page) = tree.text(PAGE) else { return Vec::new() };
    let Some(heading) = page.lines().position(|line| line == HEADING) else {
        return vec![complaint(PAGE, 1, format!("no `{HEADING}`"), "list the files there")];
    };
    let listed = listed(page, heading);
    let mut complaints = Vec::new();
    let mut touched = BTreeSet::new();
    for protocol in &protocols::ALL[1..] {
        for (path, text) in tree.texts().filter(|(path, _)| counts(path, protocol)) {
            let Some(line) = text.lines().position(|line| names(line, protocol)) else { continue };
            touched.insert(path);
            if !listed.contains(path) {
                let what = format!("names {}, and is not in the list of {PAGE}", protocol.name);
                let remedy = "ask a table instead, reword it, or put the file into the list";
                complaints.push(complaint(path, line + 1, what, remedy));
            }
        }
    }
    for path in listed.iter().filter(|path| !touched.contains(*path)) {
        let what = format!("lists `{path}`, which no protocol touches");
        complaints.push(complaint(PAGE, heading + 1, what, "take it out"));
    }
    if listed.len() > MOST {
        let what = format!("a protocol touches {} files, the limit is {MOST}", listed.len());
        complaints.push(complaint(PAGE, heading + 1, what, "make a table of what they repeat"));
    }
    complaints
}

fn listed(page: &str, heading: usize) -> BTreeSet<&str> {
    let below = page.lines().skip(heading + 1).take_while(|line| !line.starts_with("## "));
    below.filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0)).collect()
}

/// Files of the protocol's own carry its name in their path. Pages and what tools write say what
/// there is, and are not touched to add something that works.
fn counts(path: &str, protocol: &Protocol) -> bool {
    let is_page = path.ends_with(".md") || path.starts_with("docs/");
    let is_golden = path.ends_with(".txt") && path.contains("/tests/");
    !is_page && !is_golden && path != "Cargo.lock" && !names(path, protocol)
}

/// Whether a word of `text` is one of the protocol's. In snake case, in kebab case and in camel
/// case each part is a word, and a number at its end is none of it.
fn names(text: &str, protocol: &Protocol) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).flat_map(humps).any(|word| {
        protocol
            .words()
            .any(|own| own.eq_ignore_ascii_case(word.trim_end_matches(char::is_numeric)))
    })
}

/// The words of a name in camel case.
fn humps(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let begins =
        |&at: &usize| bytes[at].is_ascii_uppercase() && !bytes[at - 1].is_ascii_uppercase();
    let starts: Vec<usize> = [0].into_iter().chain((1..name.len()).filter(begins)).collect();
    let ends: Vec<usize> = starts.iter().copied().skip(1).chain([name.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &name[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "## What a protocol touches\n\n| file | what |\n|---|---|\n\
                        | `Cargo.toml` | its crate |\n\n## Next\n\n| `b.rs` | of another list |\n";

    /// The word of a protocol that is counted.
    fn own() -> &'static str {
        protocols::ALL[1].name
    }

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        let all: Vec<_> = [(PAGE, LIST)].into_iter().chain(files.iter().copied()).collect();
        let mut said: Vec<_> = check(&Tree::of(&all)).iter().map(ToString::to_string).collect();
        said.sort();
        said
    }

    #[test]
    fn the_list_is_exact() {
        let own = own();
        assert_eq!(said(&[("Cargo.toml", &format!("{own}-client = 1\n"))]), [""; 0]);
        let (first, rest) = own.split_at(1);
        let part = format!("fn f() {{}}\nuse x::{}{rest}3Part;\n", first.to_uppercase());
        let [missing, unlisted] = &said(&[("a.rs", &part)])[..] else {
            panic!("two complaints");
        };
        assert!(missing.starts_with("CONTRIBUTING.md:1: lists `Cargo.toml`"), "{missing}");
        assert!(unlisted.starts_with(&format!("a.rs:2: names {own}")), "{unlisted}");
        let unlisted = said(&[("Cargo.toml", own), ("b.rs", &format!("// on_{own}\n"))]);
        assert_eq!(unlisted.len(), 1, "rows below the next heading do not count: {unlisted:?}");
    }

    #[test]
    fn own_files_pages_and_other_words_do_not_count() {
        let own = own();
        let of_it = ["crates/tenure-X/src/lib.rs", "crates/a/tests/X_faults.rs", "x/no_X.txt"];
        let others = ["docs/picture.svg", "docs/a.md", "README.md", "Cargo.lock"];
        for path in
            of_it.map(|path| path.replace('X', own)).into_iter().chain(others.map(Into::into))
        {
            assert_eq!(said(&[("Cargo.toml", own), (&path, own)]), [""; 0], "{path}");
        }
        let longer = format!("// x{own} {own}x\n");
        assert_eq!(said(&[("Cargo.toml", own), ("a.rs", &longer)]), [""; 0]);
    }

    #[test]
    fn the_list_is_short() {
        let rows: String = (0..9).map(|n| format!("| `{n}.rs` | x |\n")).collect();
        let page = format!("{HEADING}\n{rows}");
        let files: Vec<String> = (0..9).map(|n| format!("{n}.rs")).collect();
        let mut tree = vec![(PAGE, page.as_str())];
        tree.extend(files.iter().map(|path| (path.as_str(), own())));
        let [long] = &check(&Tree::of(&tree))[..] else { panic!("one complaint") };
        assert!(long.what.contains("touches 9 files, the limit is 8"), "{long}");
    }
}
