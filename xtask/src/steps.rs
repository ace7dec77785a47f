//! The steps of `cargo xtask test`, in the order in which they run. One runs after the other: tests
//! of real processes share the machine with each other, twenty at a time, and with nothing else.

use clap::ValueEnum;
use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::services;
use crate::sim;
use crate::tests;
use crate::tidy;
use crate::tools::{self, BARE_METAL};
use crate::workspace::Workspace;

/// The command with everything in it: its default leaves out protocols that need more than Rust.
pub(crate) const FULL: &str = "tenure-cli/full";

/// A program that no test needs, so that tests are built without.
const PACKAGE: &str = "tenure-package/program";

/// One check. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    Fmt,
    Tidy,
    Deny,
    Services,
    Clippy,
    BareMetal,
    Doc,
    Test,
    Bare,
    Doctest,
    Sweep,
}

impl Step {
    /// All steps, or `only` some, or all `without` some.
    pub(crate) fn choose(only: &[Self], without: &[Self]) -> Vec<Self> {
        let wanted = |step: &Self| match only {
            [] => !without.contains(step),
            _ => only.contains(step),
        };
        Self::value_variants().iter().copied().filter(wanted).collect()
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Fmt => "rustfmt would change nothing",
            Self::Tidy => {
                "sizes, leftovers, links, decisions, and that the README's code is tested"
            }
            Self::Deny => "licences, bans and sources of dependencies (deny.toml)",
            Self::Services => "the services that tests run against are installed",
            Self::Clippy => "clippy has no complaint about any target",
            Self::BareMetal => "the core compiles where there is no std",
            Self::Doc => "the documentation builds, private items too, without a warning",
            Self::Test => "tests: units, cores, drivers on real services, real processes",
            Self::Bare => "the command without features names the feature that is missing",
            Self::Doctest => "every example in the documentation runs",
            Self::Sweep => "made-up worlds of each protocol, from fixed seeds",
        }
    }

    /// The commands of this step. Those of xtask itself run in this process instead.
    pub(crate) fn commands(self, workspace: &Workspace) -> Result<Vec<Cmd>, Error> {
        Ok(match self {
            Self::Fmt => vec![Cmd::cargo("fmt --all --check")],
            Self::Tidy => vec![Cmd::cargo(tidy::COMMAND)],
            Self::Deny => vec![Cmd::cargo(DENY)],
            Self::Services => vec![Cmd::cargo(services::COMMAND)],
            Self::Clippy => clippy(workspace)?,
            Self::BareMetal => {
                vec![Cmd::cargo(&format!("check --package tenure-core --target {BARE_METAL}"))]
            }
            Self::Doc => vec![doc()],
            Self::Test => vec![tests::all()],
            Self::Bare => vec![tests::bare()],
            Self::Doctest => vec![Cmd::cargo("test --workspace --doc --features").arg(FULL)],
            Self::Sweep => sim::ordinary(workspace),
        })
    }

    pub(crate) fn run(self, workspace: &Workspace) -> Result<(), Error> {
        match self {
            Self::Tidy => return tidy::run(workspace),
            Self::Services => return services::install_all(),
            Self::Test => return tests::run(workspace, tests::all()),
            Self::Bare => tools::NEXTEST.ensure(workspace)?,
            Self::Deny => tools::DENY.ensure(workspace)?,
            Self::Fmt => tools::component(workspace, "rustfmt")?,
            Self::Clippy => {
                tools::component(workspace, "clippy")?;
                build_tools()?;
            }
            Self::BareMetal => tools::bare_metal(workspace)?,
            Self::Doc | Self::Doctest | Self::Sweep => build_tools()?,
        }
        self.commands(workspace)?.iter().try_for_each(|command| command.run(workspace))
    }
}

/// Advisories are left out: deny.toml says why.
const DENY: &str =
    "deny --workspace --all-features check --hide-inclusion-graph bans licenses sources";

/// `--all-targets` leaves out the targets that `cargo test` leaves out, so a second command names
/// the long tests.
fn clippy(workspace: &Workspace) -> Result<Vec<Cmd>, Error> {
    let features = format!("--features {FULL},{PACKAGE} -- -D warnings");
    let tests = workspace.long_tests()?;
    let long: String = tests.iter().map(|test| format!("--test {test} ")).collect();
    Ok(["--all-targets ", &long]
        .map(|targets| Cmd::cargo(&format!("clippy --workspace {targets}{features}")))
        .into())
}

/// The documentation of the workspace, with the features that clippy has checked.
fn doc() -> Cmd {
    let features = format!("--features {FULL},{PACKAGE}");
    let doc = format!("doc --workspace {features} --no-deps --document-private-items");
    Cmd::cargo(&doc).env("RUSTDOCFLAGS", "-D warnings")
}

#[cfg(test)]
mod tests_of_steps {
    use super::*;

    #[test]
    fn steps_keep_their_own_order() {
        assert_eq!(Step::choose(&[Step::Tidy, Step::Fmt], &[]), [Step::Fmt, Step::Tidy]);
        let rest = Step::choose(&[], &[Step::Fmt, Step::Sweep]);
        assert_eq!((rest.first(), rest.last()), (Some(&Step::Tidy), Some(&Step::Doctest)));
    }
}
