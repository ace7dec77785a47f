//! Patches of `mutants/`: each names the rule that it breaks and an existing test, and applies.

use crate::command::Cmd;
use crate::mutants::{Notice, noticed_by};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, patch) in tree.patches() {
        let Some(Notice { package, program, test }) = noticed_by(patch) else {
            complaints.push(format!(
                "{path}:1: no head: write three lines, `rule: `, `source: ` and `noticed by: ` \
                 with a test program (of another crate than the core: CRATE/PROGRAM) and its test"
            ));
            continue;
        };
        let function = format!("fn {}(", test.rsplit("::").next().unwrap_or(test));
        let folder = format!("crates/{package}/tests/{program}");
        let mut texts = tree.texts.iter().filter(|(path, _)| path.starts_with(&folder));
        if !texts.any(|(_, text)| text.contains(&function)) {
            complaints.push(format!("{path}:3: no test {test} in {folder}: name one that notices"));
        }
    }
    complaints
}

/// Patches that do not apply to the present source.
pub(super) fn misfits(tree: &Tree) -> Vec<String> {
    let applies = |path: &str| Cmd::new("git", "apply --check").arg(path).ask().is_some();
    let misfits = tree.patches().filter(|(path, _)| !applies(path));
    let complaint = |path| format!("{path}: does not apply: adapt it, git apply --reject {path}");
    misfits.map(|(path, _)| complaint(path)).collect()
}
