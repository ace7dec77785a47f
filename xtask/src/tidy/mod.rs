//! What no compiler checks: sizes, leftovers, links, decisions.
//!
//! Each rule is a function from the repository's files to complaints, in a module of its own,
//! with its limit beside it.

mod decisions;
mod leftovers;
mod links;
mod mutants;
mod readme;
mod shape;
mod source;
mod tokens;
mod touched;
mod tree;

use std::fmt;

use crate::error::Error;
use crate::tidy::source::Source;
use crate::tidy::tree::Tree;
use crate::workspace::Workspace;

/// The arguments for `cargo` that repeat all of this.
pub(crate) const COMMAND: &str = "xtask tidy";

/// One thing to correct.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Complaint {
    path: String,
    /// Counted from 1.
    line: usize,
    /// What is wrong, with the limit.
    what: String,
    /// What to do about it.
    remedy: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, remedy } = self;
        write!(f, "{path}:{line}: {what}: {remedy}")
    }
}

fn complaint(
    path: &str,
    line: usize,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> Complaint {
    Complaint { path: path.to_owned(), line, what: what.into(), remedy: remedy.into() }
}

pub(crate) fn run(workspace: &Workspace) -> Result<(), Error> {
    let tree = Tree::read(&workspace.root)?;
    let mut complaints = check(&tree);
    complaints.extend(readme::check(&tree));
    complaints.extend(mutants::applied(workspace, &tree));
    report(&complaints)
}

fn check(tree: &Tree) -> Vec<Complaint> {
    let (sources, mut complaints) = Source::all(tree);
    for source in &sources {
        complaints.extend(shape::check(source));
        complaints.extend(tokens::check(source));
    }
    complaints.extend(leftovers::check(tree));
    complaints.extend(links::check(tree));
    complaints.extend(mutants::check(tree));
    complaints.extend(decisions::check(tree));
    complaints.extend(touched::check(tree));
    complaints.sort();
    complaints
}

fn report(complaints: &[Complaint]) -> Result<(), Error> {
    for complaint in complaints {
        println!("{complaint}");
    }
    match complaints.len() {
        0 => Ok(()),
        count => Err(Error::Complaints { count, command: COMMAND }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a repository that holds `files`.
    fn said(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_complaint_names_place_limit_and_remedy() {
        let long = format!("// {}\n", "x".repeat(98));
        assert_eq!(
            said(&[("crates/a/src/b.rs", &long)]),
            ["crates/a/src/b.rs:1: 101 columns, the limit is 100: break the line"]
        );
    }

    #[test]
    fn complaints_come_sorted_by_place() {
        let unsafe_code = concat!("fn f() { un", "safe { g() } }\n");
        let said = said(&[("b.rs", unsafe_code), ("a.rs", unsafe_code)]);
        let places: Vec<_> = said.iter().map(|said| &said[..6]).collect();
        assert_eq!(places, ["a.rs:1", "b.rs:1"]);
    }

    #[test]
    fn source_that_does_not_parse_is_a_complaint() {
        let said = said(&[("a.rs", "fn f( {\n")]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("a.rs:1: not Rust"), "{said:?}");
    }
}
