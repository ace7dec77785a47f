//! `cargo xtask bless`: writes golden texts anew, for people to read.

use clap::{Args, ValueEnum};

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// The variable that tells a golden test to write what it finds.
const BLESS: &str = "TENURE_BLESS";

/// One set of golden texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Golden {
    /// What nodes say to each other: crates/tenure-core/tests/conversations.
    Conversations,
    /// What the command says to wrong invocations: crates/tenure-cli/tests/errors.
    Errors,
}

impl Golden {
    fn package(self) -> &'static str {
        match self {
            Self::Conversations => "tenure-core",
            Self::Errors => "tenure-cli",
        }
    }

    /// The test's name, which is also its folder.
    fn test(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Errors => "errors",
        }
    }

    fn command(self) -> Cmd {
        let (package, test) = (self.package(), self.test());
        Cmd::cargo(&format!("test --package {package} --test {test}")).env(BLESS, "1")
    }

    fn folder(self) -> String {
        format!("crates/{}/tests/{}", self.package(), self.test())
    }
}

#[derive(Args)]
pub(crate) struct Selection {
    /// Write these only.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', num_args = 1..)]
    only: Vec<Golden>,
}

/// Runs the golden tests with leave to write, and shows which files are not as committed.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let chosen = chosen(&selection.only);
    chosen.iter().try_for_each(|golden| golden.command().run(workspace))?;
    let changed = chosen.iter().map(|golden| golden.folder());
    let changed = changed.fold(Cmd::new("git", "diff --name-only --"), Cmd::arg).ask(workspace);
    match changed.as_deref() {
        Some("") => println!("\nAll golden texts are as committed."),
        Some(changed) => println!("\n{changed}\n\nRead `git diff` before you keep them."),
        None => println!("\nRead what has changed before you keep it."),
    }
    Ok(())
}

fn chosen(only: &[Golden]) -> Vec<Golden> {
    let wanted = |golden: &Golden| only.is_empty() || only.contains(golden);
    Golden::value_variants().iter().copied().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_blessed_unless_some_are_named() {
        let said = |only: &[Golden]| -> Vec<String> {
            chosen(only).iter().map(|golden| golden.command().to_string()).collect()
        };
        let errors = "TENURE_BLESS=1 cargo test --package tenure-cli --test errors";
        let all = ["TENURE_BLESS=1 cargo test --package tenure-core --test conversations", errors];
        assert_eq!(said(&[]), all);
        assert_eq!(said(&[Golden::Errors]), [errors]);
    }

    #[test]
    fn every_golden_test_is_where_it_is_looked_for() {
        let workspace = Workspace::find();
        for golden in Golden::value_variants() {
            let folder = workspace.root.join(golden.folder());
            assert!(folder.join("main.rs").is_file(), "{}", folder.display());
        }
    }
}
