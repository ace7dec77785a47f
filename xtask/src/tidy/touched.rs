//! A new protocol touches some files beside its own. The list of these files in
//! `docs/internals/adding-a-protocol.md` is exact and short.
//!
//! The first protocol is the example for all others, so its name is allowed everywhere.

use std::collections::BTreeSet;

use crate::protocols::{self, Protocol};
use crate::tree::Tree;

/// The page of the list, whose rows below the heading are `` | `path` | what | ``.
const PAGE: &str = "docs/internals/adding-a-protocol.md";
const HEADING: &str = "\n## What a protocol touches\n";

/// Bound on the length of the list.
const MOST: usize = 8;

pub(super) fn check(tree: &Tree) -> Vec<String> {
    let below = tree.text(PAGE).split(HEADING).nth(1).unwrap_or_default();
    let rows = below.split("\n## ").next().unwrap_or_default().lines();
    let listed: BTreeSet<&str> =
        rows.filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0)).collect();
    let touched: BTreeSet<&str> = tree
        .texts
        .iter()
        .filter(|(path, _)| counts(path))
        .filter(|(path, text)| {
            protocols::ALL[1..].iter().any(|one| !names(path, one) && names(text, one))
        })
        .map(|(path, _)| path.as_str())
        .collect();
    let new = touched.difference(&listed).map(|path| {
        format!("{path}: names a protocol: ask a table, or add the file to the list of {PAGE}")
    });
    let gone = listed.difference(&touched);
    let gone = gone.map(|path| format!("{PAGE}: lists `{path}`, which no protocol touches"));
    let long = (listed.len() > MOST).then(|| format!("{PAGE}: more than {MOST} files are touched"));
    new.chain(gone).chain(long).collect()
}

/// Whether a change of this file counts. A new protocol brings pages of its own, and tools write
/// the golden texts and `Cargo.lock`.
fn counts(path: &str) -> bool {
    let is_page = path.ends_with(".md") || path.starts_with("docs/");
    let is_golden = path.ends_with(".txt") && path.contains("/tests/");
    !is_page && !is_golden && path != "Cargo.lock"
}

/// Whether a word of `text` is the name of the protocol or of its service. The protocol's own files
/// have the name in their path.
fn names(text: &str, protocol: &Protocol) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| {
        let is = |own: &str| own.eq_ignore_ascii_case(word);
        is(protocol.name) || protocol.service.is_some_and(is)
    })
}
