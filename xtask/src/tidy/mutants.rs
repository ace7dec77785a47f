//! Patches that break a rule say which, and name a test that there is. Whether each applies is seen
//! where they are applied: `check` asks git.

use super::tree::Tree;
use super::{Complaint, complaint};
use crate::command::Cmd;
use crate::mutants::{FOLDER, head};
use crate::workspace::Workspace;

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let patches = tree.texts().filter(|(path, _)| path.starts_with(FOLDER));
    patches
        .filter_map(|(path, text)| {
            let head = match head(text) {
                Ok(head) => head,
                Err(lacks) => return Some(complaint(path, 1, "a patch without its head", lacks)),
            };
            let (program, test) = head.noticed_by;
            let name = test.rsplit("::").next().unwrap_or(test);
            let folder = format!("crates/tenure-core/tests/{program}");
            let is_there = tree.texts().any(|(path, text)| {
                path.starts_with(&folder) && text.contains(&format!("fn {name}("))
            });
            (!is_there).then(|| {
                let what = format!("no test {test} in {folder}");
                complaint(path, 3, what, "name the test that notices")
            })
        })
        .collect()
}

/// Those that do not apply to what is there.
pub(crate) fn applied(workspace: &Workspace, tree: &Tree) -> Vec<Complaint> {
    let patches = tree.texts().filter(|(path, _)| path.starts_with(FOLDER));
    patches
        .filter(|(path, _)| Cmd::new("git", "apply --check").arg(*path).ask(workspace).is_none())
        .map(|(path, _)| {
            let remedy = format!("carry it along: git apply --reject {path}");
            complaint(path, 1, "a patch that does not apply", remedy)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_gone_is_told() {
        let patch = "rule: x\nsource: V1\nnoticed by: voter leasing::one\n";
        let said = |tests: &str| {
            let tests = ("crates/tenure-core/tests/voter/leasing.rs", tests);
            check(&Tree::of(&[("mutants/voter/one.patch", patch), tests])).len()
        };
        assert_eq!(said("fn one() {}"), 0);
        assert_eq!(said("fn two() {}"), 1);
        assert_eq!(check(&Tree::of(&[("mutants/voter/one.patch", "rule: x\n")])).len(), 1);
    }
}
