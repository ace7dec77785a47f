//! The decisions in `docs/decisions/`: all in the index, all short, every crate with its reason.

use super::links::links;
use super::tree::Tree;
use super::{Complaint, complaint};

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
const CRATES: &str = "docs/decisions/dependencies.md";
const MANIFEST: &str = "Cargo.toml";

/// What a decision consists of, in this order.
const PARTS: [&str; 3] = ["## Decision", "## Reason", "## Rejected"];
const LINES: usize = 60;

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let index = tree.text(INDEX).unwrap_or_default();
    let listed: Vec<_> = links(INDEX, index).into_iter().filter_map(|link| link.path).collect();
    let mut complaints = Vec::new();
    for (path, text) in tree.texts() {
        if !path.starts_with(FOLDER) || !path.ends_with(".md") || path == INDEX {
            continue;
        }
        if !listed.iter().any(|listed| listed == path) {
            let remedy = format!("add a line with a link to {INDEX}");
            complaints.push(complaint(path, 1, "not in the index", remedy));
        }
        complaints.extend(form(path, text));
    }
    complaints.extend(crates(tree));
    complaints
}

fn form(path: &str, text: &str) -> Option<Complaint> {
    let lines = text.lines().count();
    if lines > LINES {
        let what = format!("{lines} lines, the limit for a decision is {LINES}");
        return Some(complaint(path, 1, what, "one decision for each file, and only its reasons"));
    }
    let parts: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
    if text.starts_with("# ") && parts == PARTS {
        return None;
    }
    let remedy = format!("a title, then {}", PARTS.join(", "));
    Some(complaint(path, 1, "not in the form of a decision", remedy))
}

/// Every crate of the workspace has its row.
fn crates(tree: &Tree) -> Vec<Complaint> {
    let manifest = tree.text(MANIFEST).unwrap_or_default();
    let reasons = tree.text(CRATES).unwrap_or_default();
    let missing = dependencies(manifest).into_iter().filter(|name| {
        let name = format!("`{name}`");
        // Those that are there for one thing share a row.
        let names = |line: &str| line.strip_prefix("| ")?.split(" | ").next().map(str::to_owned);
        let mut rows = reasons.lines().filter_map(names);
        !rows.any(|row| row.split(", ").any(|one| one == name))
    });
    let complaint = |name: String| {
        let remedy = format!("add a row \"| `{name}` | for | why | rejected |\" to {CRATES}");
        let is_entry = |line: &str| line.split(['=', '.', ' ']).next() == Some(name.as_str());
        let line = manifest.lines().position(is_entry).map_or(1, |index| index + 1);
        complaint(MANIFEST, line, format!("no reason for the crate `{name}`"), remedy)
    };
    missing.map(complaint).collect()
}

/// The names in `[workspace.dependencies]` that are not crates of our own.
fn dependencies(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let entries = || manifest.get("workspace")?.get("dependencies")?.as_table();
    let foreign =
        |(name, entry): (&String, &toml::Value)| entry.get("path").is_none().then(|| name.clone());
    entries().into_iter().flatten().filter_map(foreign).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# A\n\n## Decision\n\nDo.\n\n## Reason\n\nWhy.\n\n## Rejected\n\nElse.\n";

    fn said(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_decision_is_in_the_index() {
        let a = ("docs/decisions/a.md", GOOD);
        assert_eq!(said(&[(INDEX, "[A](a.md)"), a]), [""; 0]);
        let expected = "docs/decisions/a.md:1: not in the index: \
                        add a line with a link to docs/decisions/README.md";
        assert_eq!(said(&[(INDEX, "[B](b.md)"), a]), [expected]);
        assert_eq!(said(&[a]), [expected]);
    }

    #[test]
    fn a_decision_has_the_short_form() {
        let index = (INDEX, "[A](a.md)");
        let (unordered, long) = (
            GOOD.replace("Decision", "X").replace("Reason", "Decision").replace("X", "Reason"),
            GOOD.to_owned() + &"more\n".repeat(60),
        );
        for bad in ["", "text", "# A\n", "## Decision\n## Reason\n## Rejected\n", &unordered, &long]
        {
            assert_eq!(said(&[index, ("docs/decisions/a.md", bad)]).len(), 1, "{bad}");
        }
        assert_eq!(said(&[index, ("docs/decisions/a.md", GOOD)]), [""; 0]);
    }

    #[test]
    fn a_crate_has_its_reason() {
        let manifest = "[workspace.dependencies]\nours = { path = \"x\" }\nserde = \"1\"\n";
        let expected = "Cargo.toml:3: no reason for the crate `serde`: add a row \
                        \"| `serde` | for | why | rejected |\" to docs/decisions/dependencies.md";
        assert_eq!(said(&[(MANIFEST, manifest)]), [expected]);
        let table = format!("{GOOD}\n| `serde` | data | known | none |\n");
        let index = (INDEX, "[C](dependencies.md)");
        assert_eq!(said(&[(MANIFEST, manifest), index, (CRATES, &table)]), [""; 0]);
        let shared = table.replace("`serde`", "`bytes`, `serde`");
        assert_eq!(said(&[(MANIFEST, manifest), index, (CRATES, &shared)]), [""; 0]);
        let others = table.replace("`serde`", "`serde_json`");
        assert_eq!(said(&[(MANIFEST, manifest), index, (CRATES, &others)]), [expected]);
    }
}
