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
    /// The same, of an etcd that is wrong: crates/tenure-cli/tests/etcd. Needs etcd.
    Etcd,
}

impl Golden {
    fn package(self) -> &'static str {
        match self {
            Self::Conversations => "tenure-core",
            Self::Errors | Self::Etcd => "tenure-cli",
        }
    }

    /// The test's name, which is also its folder.
    fn test(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Errors => "errors",
            Self::Etcd => "etcd",
        }
    }

    /// Builds with etcd and without it refuse different things.
    fn commands(self) -> Vec<Cmd> {
        let (package, test) = (self.package(), self.test());
        let features: &[&str] = match self {
            Self::Conversations => &[""],
            Self::Errors => &["", " --features etcd"],
            Self::Etcd => &[" --features etcd"],
        };
        let command = |features: &&str| {
            Cmd::cargo(&format!("test --package {package}{features} --test {test}")).env(BLESS, "1")
        };
        features.iter().map(command).collect()
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
    let mut commands = chosen.iter().flat_map(|golden| golden.commands());
    commands.try_for_each(|command| command.run(workspace))?;
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
            let commands = chosen(only).into_iter().flat_map(Golden::commands);
            commands.map(|command| command.to_string()).collect()
        };
        let all = [
            "TENURE_BLESS=1 cargo test --package tenure-core --test conversations",
            "TENURE_BLESS=1 cargo test --package tenure-cli --test errors",
            "TENURE_BLESS=1 cargo test --package tenure-cli --features etcd --test errors",
            "TENURE_BLESS=1 cargo test --package tenure-cli --features etcd --test etcd",
        ];
        assert_eq!(said(&[]), all);
        assert_eq!(said(&[Golden::Errors]), all[1..3]);
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
