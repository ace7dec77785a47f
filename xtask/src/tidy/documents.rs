//! Documents: links, the decisions in `docs/decisions/`, and the README.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::tree::Tree;

const DECISIONS: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";
const CRATES: &str = "docs/decisions/dependencies.md";

/// Parts of a decision, in this order.
const PARTS: [&str; 3] = ["## Decision", "## Reason", "## Rejected"];
const LINES: usize = 60;

/// Line by which a driver takes the README into its doctests.
const INCLUDE: &str = "include_str!(\"../../../README.md\")";

/// Checks that links to other files lead somewhere. A target with a colon is a link to another site
/// or to a Rust item, which rustdoc checks.
pub(super) fn links(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".md")) {
        let page = tree.root.join(path);
        for (event, place) in Parser::new_ext(text, Options::all()).into_offset_iter() {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            let target = dest_url.split('#').next().unwrap_or_default();
            if !dest_url.contains([':', '@']) && !page.with_file_name(target).exists() {
                let line = text[..place.start].matches('\n').count() + 1;
                complaints.push(format!(
                    "{path}:{line}: the link to `{target}` leads nowhere: \
                     name a file of the repository, from this file's folder"
                ));
            }
        }
    }
    complaints
}

/// Checks that each decision is in the index, has the form of a decision, and is short.
pub(super) fn decisions(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts.iter().filter(|(path, _)| *path != INDEX) {
        let name = path.strip_prefix(DECISIONS).filter(|name| name.ends_with(".md"));
        let Some(name) = name else { continue };
        if !tree.text(INDEX).contains(&format!("]({name})")) {
            complaints.push(format!("{path}: not in the index: add a line to {INDEX}"));
        }
        let parts: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        if !text.starts_with("# ") || parts != PARTS || text.lines().count() > LINES {
            complaints.push(format!(
                "{path}: not in the form of a decision: a title, then {}, in {LINES} lines",
                PARTS.join(", ")
            ));
        }
    }
    complaints
}

/// Checks that every foreign crate has a row. Crates with one purpose share a row.
pub(super) fn crates(tree: &Tree) -> Vec<String> {
    let rows = tree.text(CRATES).lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let listed: Vec<&str> = cells.flat_map(|cell| cell.split(", ")).collect();
    let manifest = tree.text("Cargo.toml").split("[workspace.dependencies]\n").nth(1);
    let lines = manifest.unwrap_or_default().lines().take_while(|line| !line.starts_with('['));
    let foreign = lines.filter(|line| !line.is_empty() && !line.contains("path = "));
    let names = foreign.filter_map(|line| line.split(" = ").next());
    let missing = names.filter(|name| !listed.iter().any(|cell| cell.trim_matches('`') == *name));
    let complaint =
        |name| format!("Cargo.toml: no reason for the crate `{name}`: add a row to {CRATES}");
    missing.map(complaint).collect()
}

/// Checks that a driver compiles and runs the code of the README.
pub(super) fn readme(tree: &Tree) -> Vec<String> {
    let library = tree.text("crates/tenure-nerio/src/lib.rs");
    let is_tested = tree.text("README.md").contains("```rust\n") && library.contains(INCLUDE);
    let complaint = "README.md: its code is not tested: show some in a ```rust block, and put \
                     `#[cfg(doctest)] #[doc = include_str!(…)] struct Readme;` into tenure-nerio";
    if is_tested { Vec::new() } else { vec![complaint.to_owned()] }
}
