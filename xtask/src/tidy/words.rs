//! Finds sentences that open with a pronoun, so that a reader must search for the actor.

use crate::tree::Tree;

const OPENINGS: [&str; 10] =
    ["Who", "What", "One", "Those", "That", "It", "Nobody", "Somebody", "None", "Of"];

/// Complaints about all Rust files.
pub(super) fn check(tree: &Tree) -> Vec<String> {
    let sources = tree.texts.iter().filter(|(path, _)| path.ends_with(".rs"));
    sources.flat_map(|(path, text)| openings(path, text)).collect()
}

/// Complaints about sentences in comments and errors that open with one of [`OPENINGS`].
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
    use super::*;

    #[test]
    fn openings_are_listed_with_their_place() {
        let text = "/// It is.\n/// A cell. What it is.\nfn f() {}\n\n//! - Of two\n//! That is\n\
                    #[error(\"nobody led\")]\n#[error(\n    \"one led\"\n)]\n// One-way, It\n";
        let expected = [(1, "It"), (2, "What"), (5, "Of"), (7, "nobody"), (9, "one")];
        let expected = expected.map(|(line, word)| {
            format!("a.rs:{line}: a sentence opens with `{word}`: name what acts")
        });
        assert_eq!(openings("a.rs", text), expected);
    }
}
