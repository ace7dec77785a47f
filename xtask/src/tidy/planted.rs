//! The rules that can be broken stay out of what is shipped: nothing sets the flag but the commands
//! of this program, which say so when they run. And no test runs beside the one that breaks them.

use super::tree::Tree;
use super::{Complaint, complaint};
use crate::protocols;

/// In two halves, so that this file does not complain about itself.
const FLAG: &str = concat!("tenure_", "planted");

/// The test that breaks the rules.
const BREAKS: &str = "planted.rs";

/// Only the root's list of flags that rustc knows may name it.
const KNOWN: &str = "check-cfg";

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| sets_flags(path)) {
        for (index, line) in text.lines().enumerate() {
            if line.contains(FLAG) && !(path == "Cargo.toml" && line.contains(KNOWN)) {
                let what = format!("`{FLAG}` where every build would get it");
                let remedy = "set it for one command, as `cargo xtask test --only planted` does";
                complaints.push(complaint(path, index + 1, what, remedy));
            }
        }
    }
    for (path, text) in tree.texts().filter(|(path, _)| is_story(path)) {
        let bare = text.lines().enumerate().filter(|(_, line)| line.trim() == "#[test]");
        complaints.extend(bare.map(|(index, _)| {
            let what = "a story that also runs while another one's rule is broken";
            let remedy = format!("write `#[cfg_attr(not({FLAG}), test)]`");
            complaint(path, index + 1, what, remedy)
        }));
    }
    complaints
}

/// Whether it is of the stories that are run with their rule broken. A rule is broken for all
/// threads, so an ordinary test of the same program would fail by it now and then.
fn is_story(path: &str) -> bool {
    let name = protocols::ALL.iter().find_map(|protocol| path.strip_prefix(protocol.stories));
    name.is_some_and(|name| name.ends_with(".rs") && name != BREAKS)
}

/// Whether cargo or CI reads the file before it compiles anything.
fn sets_flags(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let of_cargo = matches!(name, "Cargo.toml" | "build.rs" | "rust-toolchain.toml");
    of_cargo || folder.split('/').any(|part| matches!(part, ".cargo" | ".ci" | ".github"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn the_flag_is_found_where_it_reaches_every_build() {
        let flags = format!("rustflags = [\"--cfg\", \"{FLAG}\"]\n");
        for path in ["Cargo.toml", ".cargo/config.toml", "crates/a/.cargo/config", ".ci/run"] {
            assert_eq!(said(path, &flags), 1, "{path}");
        }
        let build = format!("fn main() {{ println!(\"cargo::rustc-cfg={FLAG}\"); }}\n");
        assert_eq!(said("crates/a/build.rs", &build), 1);
    }

    #[test]
    fn stories_do_not_run_while_another_ones_rule_is_broken() {
        let story = protocols::ALL[0].stories.to_owned() + "terms.rs";
        assert_eq!(said(&story, "#[test]\nfn told() {}\n"), 1);
        assert_eq!(said(&story, &format!("#[cfg_attr(not({FLAG}), test)]\nfn told() {{}}\n")), 0);
        assert_eq!(
            said(&(protocols::ALL[0].stories.to_owned() + BREAKS), "#[test]\nfn breaks() {}\n"),
            0
        );
        assert_eq!(said("crates/a/src/lib.rs", "#[test]\nfn other() {}\n"), 0);
    }

    #[test]
    fn where_it_reaches_one_command_it_is_welcome() {
        let known = format!("unexpected_cfgs = {{ {KNOWN} = [\"cfg({FLAG})\"] }}\n");
        assert_eq!(said("Cargo.toml", &known), 0);
        assert_eq!(said("crates/a/Cargo.toml", &known), 1, "the root's list is enough");
        assert_eq!(said("crates/a/src/rule.rs", &format!("#[cfg({FLAG})]\n")), 0);
    }
}
