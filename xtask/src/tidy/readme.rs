//! The README: what it shows is compiled and run with the tests of the library.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::tree::Tree;
use super::{Complaint, complaint};

const README: &str = "README.md";
const LIBRARY: &str = "crates/tenure/src/";

/// How the library takes the README into its doctests.
const INCLUDE: &str = "include_str!(\"../../../README.md\")";
/// The one command that checks everything.
const TEST: &str = "cargo xtask test";

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let Some(readme) = tree.text(README) else {
        return vec![complaint(README, 1, "there is none", "write it")];
    };
    let mut complaints = Vec::new();
    if !blocks(readme).iter().any(|language| language.split(',').any(|word| word == "rust")) {
        let remedy = "show in a ```rust block how the library is used";
        complaints.push(complaint(README, 1, "no Rust that could be tested", remedy));
    }
    if !readme.contains(TEST) {
        let remedy = format!("say that `{TEST}` runs every check");
        complaints.push(complaint(README, 1, "does not name the test command", remedy));
    }
    let mut library = tree.texts().filter(|(path, _)| path.starts_with(LIBRARY));
    if !library.any(|(_, text)| text.contains(INCLUDE)) {
        let remedy = format!("put `#[cfg(doctest)] #[doc = {INCLUDE}] struct Readme;` there");
        complaints.push(complaint("crates/tenure/src/lib.rs", 1, "README is not tested", remedy));
    }
    complaints
}

/// The language of each block of code.
fn blocks(text: &str) -> Vec<String> {
    let language = |event| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
            Some(language.into_string())
        }
        _ => None,
    };
    Parser::new_ext(text, Options::all()).filter_map(language).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: (&str, &str) =
        ("crates/tenure/src/lib.rs", "#[doc = include_str!(\"../../../README.md\")]");

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_readme_shows_tested_code_and_names_the_command() {
        let good = "`cargo xtask test`\n\n```rust,no_run\nlet a = 1;\n```\n";
        assert_eq!(said(&[LIB, (README, good)]), [""; 0]);
        assert_eq!(said(&[LIB]), ["README.md:1: there is none: write it"]);
        assert_eq!(said(&[LIB, (README, "```rust\n```\n")]).len(), 1);
        assert_eq!(said(&[LIB, (README, "cargo xtask test\n```sh\nrust\n```\n")]).len(), 1);
        assert_eq!(said(&[(README, good)]).len(), 1);
    }
}
