//! `cargo xtask bless`: writes golden texts anew, for people to read.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;
use crate::workspace::Workspace;

/// The variable that tells a golden test to write what it finds.
const BLESS: &str = "TENURE_BLESS";

/// One set of golden texts: a test, and the folder of its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Golden {
    test: &'static str,
    package: &'static str,
    /// The builds that say something: those with everything and those without differ.
    features: &'static [&'static str],
}

const FULL: &str = " --features full";

/// What nodes say to each other, what the command says to wrong invocations, and what it says to
/// services that are wrong, which have to be there.
fn every() -> impl Iterator<Item = Golden> {
    let common = [
        Golden { test: "conversations", package: "tenure-core", features: &[""] },
        Golden { test: "errors", package: "tenure-cli", features: &["", FULL] },
    ];
    let own = protocols::ALL.iter().filter_map(|protocol| protocol.golden);
    let of_services = |test| Golden { test, package: "tenure-cli", features: &[FULL] };
    let recorded = protocols::ALL.iter().filter_map(|protocol| protocol.recorded);
    let of_cores = |test| Golden { test, package: "tenure-core", features: &[""] };
    common.into_iter().chain(own.map(of_services)).chain(recorded.map(of_cores))
}

fn names() -> impl Iterator<Item = &'static str> {
    every().map(|golden| golden.test)
}

impl Golden {
    fn commands(self) -> Vec<Cmd> {
        let Self { test, package, features } = self;
        let command = |features: &&str| {
            Cmd::cargo(&format!("test --package {package}{features} --test {test}")).env(BLESS, "1")
        };
        features.iter().map(command).collect()
    }

    fn folder(self) -> String {
        format!("crates/{}/tests/{}", self.package, self.test)
    }
}

#[derive(Args)]
pub(crate) struct Selection {
    /// Write these only.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', num_args = 1..)]
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,
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

fn chosen(only: &[String]) -> Vec<Golden> {
    let wanted = |golden: &Golden| only.is_empty() || only.iter().any(|name| name == golden.test);
    every().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_blessed_unless_some_are_named() {
        let said = |only: &[String]| -> Vec<String> {
            let commands = chosen(only).into_iter().flat_map(Golden::commands);
            commands.map(|command| command.to_string()).collect()
        };
        let all = [
            "TENURE_BLESS=1 cargo test --package tenure-core --test conversations",
            "TENURE_BLESS=1 cargo test --package tenure-cli --test errors",
            "TENURE_BLESS=1 cargo test --package tenure-cli --features full --test errors",
        ];
        assert_eq!(said(&[])[..3], all);
        assert_eq!(said(&["errors".to_owned()]), all[1..]);
    }

    #[test]
    fn every_golden_test_is_where_it_is_looked_for() {
        let workspace = Workspace::find();
        for golden in every() {
            let folder = workspace.root.join(golden.folder());
            assert!(folder.join("main.rs").is_file(), "{}", folder.display());
        }
    }
}
