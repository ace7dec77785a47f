//! `cargo xtask bless`: writes golden texts anew, for people to read.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;

/// Golden texts that belong to no single protocol: the errors of wrong invocations, and the
/// reference pages. Each entry names a test and the arguments for `cargo test`. A build without
/// features prints other errors than a build with all features.
const COMMON: [(&str, &str); 3] = [
    ("errors", "--package tenure-cli --no-default-features"),
    ("errors", "--package tenure-cli --features full"),
    ("reference", "--package tenure-cli --features full"),
];

#[derive(Args)]
pub(crate) struct Selection {
    /// Write only these golden texts.
    #[arg(long, value_name = "TEXTS", value_delimiter = ',', num_args = 1..)]
    #[arg(value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,
}

fn golden() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMON.into_iter().chain(protocols::ALL.iter().map(|protocol| protocol.golden))
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = golden().map(|(test, _)| test).collect();
    names.dedup();
    names
}

/// Runs the golden tests in the mode in which they write their texts.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let Selection { only } = selection;
    for (test, build) in golden() {
        if only.is_empty() || only.iter().any(|name| name == test) {
            let command = Cmd::cargo("test").args(build).arg("--test").arg(test);
            command.env("TENURE_BLESS", "1").run()?;
        }
    }
    println!("\nRead `git diff` before you keep what has changed.");
    Ok(())
}
