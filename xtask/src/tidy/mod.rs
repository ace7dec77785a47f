//! Checks that no compiler has: sizes, leftovers, links, tables, decisions, patches, words.
//!
//! Each rule is a function from the repository's files to complaints, with its limit beside it.

mod documents;
mod pages;
mod patches;
mod source;
mod tables;
mod touched;
mod words;

use crate::error::Error;
use crate::tree::Tree;
use crate::workspace::root;

/// The arguments for `cargo` that repeat these checks.
pub(crate) const COMMAND: &str = "xtask tidy";

pub(crate) fn run() -> Result<(), Error> {
    let tree = Tree::read(&root())?;
    let words = words::check(&tree);
    let complaints = [check(&tree), patches::misfits(&tree), words].concat();
    for complaint in &complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(Error::Said(format!("{count} complaints; `cargo {COMMAND}` looks again"))),
    }
}

/// Complaints as lines: place, complaint, advice.
fn check(tree: &Tree) -> Vec<String> {
    let complaints = [
        source::check(tree),
        documents::links(tree),
        documents::decisions(tree),
        documents::crates(tree),
        documents::readme(tree),
        pages::check(tree),
        patches::check(tree),
        tables::check(tree),
        touched::check(tree),
    ];
    complaints.concat()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::protocols;

    const DECISION: &str = "# A\n\n## Decision\n\n## Reason\n\n## Rejected\n";
    const LIBRARY: &str = "#[doc = include_str!(\"../../../README.md\")]\nstruct Readme;\n";
    const PATCH: &str = "rule: x\nsource: V1\nnoticed by: core leasing::one\n";
    const SEED: &str = "| what | built in | shown by |\n|---|---|---|\n\
                        | one | [`lib.rs`](../../crates/tenure-nerio/src/lib.rs) `Readme` \
                        | [`source.rs`](../../crates/tenure-core/tests/a/source.rs) `s1_one` |\n";
    const MAP: &str =
        "## Where is…?\n\n||A|\n|---|---|\n|x|`b.rs` `f`|\n## B\n\n|c|\n|---|\n|`c.rs`|\n";

    /// Complaints about a good repository in which `path` has this text.
    fn said(path: &str, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let good: [(&str, &str); 11] = [
            (
                "docs/SUMMARY.md",
                "[i](decisions/README.md) [a](decisions/a.md) [d](decisions/dependencies.md) \
                 [s](seeds/a.md)",
            ),
            (
                "README.md",
                "[a decision](docs/decisions/a.md#decision)\n\n```rust\nlet a = 1;\n```\n",
            ),
            ("Cargo.toml", "[workspace.dependencies]\nours = { path = \"x\" }\nserde = \"1\"\n"),
            ("crates/tenure-nerio/src/lib.rs", LIBRARY),
            ("crates/tenure-core/tests/core/leasing.rs", "fn one() {}\n"),
            ("docs/decisions/README.md", "[A](a.md), [crates](dependencies.md)\n"),
            ("docs/decisions/a.md", DECISION),
            ("docs/decisions/dependencies.md", &format!("{DECISION}\n| `x`, `serde` | data |\n")),
            ("mutants/a/one.patch", PATCH),
            ("crates/tenure-core/tests/a/source.rs", "#[test]\nfn s1_one() {}\n"),
            ("docs/seeds/a.md", SEED),
        ];
        for (path, text) in good.into_iter().chain([(path, text)]) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check(&Tree::read(folder.path()).unwrap())
    }

    #[test]
    fn right_files_have_no_complaints() {
        let wide = "x".repeat(98);
        let right = [
            ("a.rs", "fn f() {}\n// code\n".repeat(300) + "\n#[cfg(test)]\nmod tests {\n}\n"),
            ("a.rs", format!("//! | a | {wide} |\n// see https://example.org/{wide}\n")),
            (
                "a.md",
                "# Part\n\n[x](docs) [y](#part) <a@b.org> [z](https://example.org/home/x)"
                    .to_owned(),
            ),
        ];
        for (path, text) in right {
            assert_eq!(said(path, &text), [""; 0], "{path}");
        }
    }

    #[test]
    fn complaints_name_their_place() {
        let long = "// code\n".repeat(601);
        let unordered = DECISION.replace("Reason", "Why");
        let row = SEED.lines().last().unwrap();
        let unshown = format!("{SEED}{}\n", row.replace(" `s1_one`", ""));
        let renamed = format!("{SEED}{}\n", row.replace("s1_one", "s1_two"));
        let untold = "#[test]\nfn s1_one() {}\n#[test]\nfn s2_two() {}\n".to_owned();
        let wrong: [(&str, &str, &str); 18] = [
            ("a.rs", long.as_str(), "a.rs:1: 601 lines"),
            ("a.rs", &format!("\n// {}", "x".repeat(98)), "a.rs:2: 101 columns"),
            ("ARCHITECTURE.md", MAP, "ARCHITECTURE.md:5: no file `crates/tenure-core/src/a/b.rs`"),
            ("docs/seeds/a.md", &unshown, "docs/seeds/a.md:4: no answer"),
            ("docs/seeds/a.md", &renamed, "docs/seeds/a.md:4: no `s1_two` in"),
            ("crates/tenure-core/tests/a/source.rs", &untold, "docs/seeds/a.md: does not name"),
            ("a.rs", "// TODO: later", "a.rs:1: `TODO`"),
            ("a.md", "see (/home/me/x)", "a.md:1: `/home/`"),
            ("a.rs", "#[ignore]\nfn f() {}", "a.rs:1: `#[ignore`"),
            ("a.rs", "#[expect(unsafe_code)]\nfn f() {}", "a.rs: `unsafe` code"),
            ("b.md", "\n[x](c.md)", "b.md:2: the link to `c.md`"),
            ("docs/decisions/b.md", DECISION, "docs/decisions/b.md: not in the index"),
            ("docs/decisions/a.md", &unordered, "docs/decisions/a.md: not in the form"),
            ("Cargo.toml", "[workspace.dependencies]\ntoml = \"1\"\n", "Cargo.toml: no reason"),
            ("README.md", "text", "README.md: its code is not tested"),
            ("mutants/a/two.patch", "rule: x\n", "mutants/a/two.patch:1: no head"),
            ("crates/tenure-core/tests/core/leasing.rs", "", "mutants/a/one.patch:3: no test"),
            ("a.rs", &format!("// on_{}\n", protocols::ALL[1].name), "a.rs: names a protocol"),
        ];
        for (path, text, expected) in wrong {
            // The summary of this repository does not list the pages of these cases.
            let said: Vec<_> = said(path, text)
                .into_iter()
                .filter(|said| !said.contains("not in the book"))
                .collect();
            assert!(matches!(&said[..], [one] if one.starts_with(expected)), "{said:?}");
        }
    }
}
