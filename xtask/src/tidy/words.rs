//! Sentences that open with a word in place of a noun, so that a reader has to find out what acts.

use std::collections::BTreeMap;

use crate::tree::Tree;

const OPENINGS: [&str; 10] =
    ["Who", "What", "One", "Those", "That", "It", "Nobody", "Somebody", "None", "Of"];

/// The openings of each crate that has more of them than `left` allows.
pub(super) fn check(tree: &Tree, left: &[(&str, usize)]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".rs")) {
        crates.entry(folder(path)).or_default().extend(openings(path, text));
    }
    let mut complaints = Vec::new();
    for (name, places) in crates {
        let limit = left.iter().find(|(known, _)| *known == name).map_or(0, |(_, limit)| *limit);
        let count = places.len();
        if count > limit {
            complaints.extend(places);
        } else if count < limit {
            complaints.push(format!(
                "{name}: {count} sentences open without a noun: lower the {limit} of its row in \
                 xtask/src/protocols.rs"
            ));
        }
    }
    complaints
}

/// The folder of the crate to which a file belongs.
fn folder(path: &str) -> &str {
    let depth = if path.starts_with("xtask/") { 0 } else { 1 };
    let end = path.match_indices('/').nth(depth).map_or(path.len(), |(at, _)| at);
    &path[..end]
}

/// Sentences in comments and errors that open with one of the words.
fn openings(path: &str, text: &str) -> Vec<String> {
    let mut places = Vec::new();
    let mut opens = true;
    let mut before = "";
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let complaint =
            |word| format!("{path}:{}: a sentence opens with `{word}`: name what acts", index + 1);
        let continued = line.strip_prefix('"').filter(|_| before == "#[error(");
        let error = line.strip_prefix("#[error(\"").or(continued);
        let word = error.and_then(|error| error.split_whitespace().next()).unwrap_or_default();
        if OPENINGS.iter().any(|opening| opening.eq_ignore_ascii_case(word)) {
            places.push(complaint(word));
        }
        before = line;
        let comment = line.strip_prefix("//").unwrap_or_default().trim_start_matches(['/', '!']);
        opens |= comment.trim().is_empty();
        for word in comment.split_whitespace() {
            if opens && OPENINGS.contains(&word) {
                places.push(complaint(word));
            }
            opens = word.ends_with(['.', ':', '?', '!']) || matches!(word, "-" | "*" | "|");
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn said(left: &[(&str, usize)]) -> Vec<String> {
        let text = "/// It is.\n/// A cell. What it is.\nfn f() {}\n\n//! - Of two\n//! That is\n\
                    #[error(\"nobody led\")]\n#[error(\n    \"one led\"\n)]\n// One-way, It\n";
        let texts = BTreeMap::from([("crates/a/src/lib.rs".to_owned(), text.to_owned())]);
        check(&Tree { root: PathBuf::new(), texts }, left)
    }

    #[test]
    fn openings_are_listed_with_their_place() {
        let places = said(&[]);
        let expected = [(1, "It"), (2, "What"), (5, "Of"), (7, "nobody"), (9, "one")];
        let expected = expected.map(|(line, word)| {
            format!("crates/a/src/lib.rs:{line}: a sentence opens with `{word}`: name what acts")
        });
        assert_eq!(places, expected);
    }

    #[test]
    fn rows_only_fall() {
        assert_eq!(said(&[("crates/a", 5)]), [""; 0]);
        assert_eq!(said(&[("crates/a", 4)]).len(), 5);
        let lower = said(&[("crates/a", 6)]);
        assert!(matches!(&lower[..], [one] if one.contains("lower the 6")), "{lower:?}");
    }
}
