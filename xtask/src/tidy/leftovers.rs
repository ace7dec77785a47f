//! What somebody meant to come back to, and paths that exist on one machine only.

use super::tree::Tree;
use super::{Complaint, complaint};

/// In two halves, so that this file does not complain about itself.
const MARKERS: [&str; 2] = [concat!("FIX", "ME"), concat!("TO", "DO")];

/// Where people and machines keep their checkouts.
const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            let found = marker(line).or_else(|| home(line)).or_else(|| unread_example(path, line));
            complaints.extend(found.map(|(what, remedy)| complaint(path, index + 1, what, remedy)));
        }
    }
    complaints
}

fn marker(line: &str) -> Option<(String, &'static str)> {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let marker = MARKERS
        .iter()
        .find(|marker| line.split(|c| !part_of_word(c)).any(|word| word == **marker))?;
    Some((format!("`{marker}` is left over"), "do it, or open an issue and take it out"))
}

fn home(line: &str) -> Option<(String, &'static str)> {
    let begins_path =
        |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~/})$*".contains(c));
    let home =
        HOMES.iter().find(|home| line.match_indices(**home).any(|(at, _)| begins_path(at)))?;
    let remedy = "name it from the root of the repository, or make up a path under /srv/";
    Some((format!("`{home}` is a path of one machine"), remedy))
}

/// An example that rustdoc neither compiles nor shows as plain text.
fn unread_example(path: &str, line: &str) -> Option<(String, &'static str)> {
    let text = line.trim_start().trim_start_matches(['/', '!', '*']).trim_start();
    let fence = text.strip_prefix("```")?;
    let skips = fence.split([',', ' ']).any(|word| word == "ignore");
    let is_documentation = path.ends_with(".rs") || path.ends_with(".md");
    (skips && is_documentation).then(|| {
        ("an example that is never compiled".to_owned(), "use `no_run`, `compile_fail` or `text`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn markers_are_found_as_words() {
        for marker in MARKERS {
            let expected = format!(
                "a.toml:2: `{marker}` is left over: do it, or open an issue and take it out"
            );
            assert_eq!(said("a.toml", &format!("\n# {marker}: later\n")), [expected]);
            assert!(said("a.rs", &format!("// {marker}S and MY_{marker}\n")).is_empty());
        }
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for home in HOMES {
            for bad in [format!("see {home}me/x"), format!("(\"{home}x\")"), format!("{home}x")] {
                let said = said("a.md", &bad);
                assert_eq!(said.len(), 1, "{bad}");
                assert!(said[0].contains("is a path of one machine"), "{said:?}");
            }
            for good in [format!("..{home}x"), format!("https://example.org{home}x")] {
                assert!(said("a.md", &good).is_empty(), "{good}");
            }
        }
    }

    #[test]
    fn examples_that_are_never_compiled_are_found() {
        for bad in ["/// ```ignore", "//! ```rust,ignore", "    /// ``` ignore"] {
            assert_eq!(said("a.rs", bad).len(), 1, "{bad}");
        }
        assert_eq!(said("README.md", "```rust,ignore").len(), 1);
        for good in ["/// ```no_run", "/// ```", "/// ignore"] {
            assert!(said("a.rs", good).is_empty(), "{good}");
        }
    }
}
