//! The steps of `cargo xtask test`, in the order in which they run.

use std::env;
use std::thread;

use clap::ValueEnum;
use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::lanes;
use crate::planted::planted;
use crate::services;
use crate::sim;
use crate::tidy;
use crate::tools::{self, BARE_METAL};
use crate::workspace::Workspace;

/// The variable that tells a test to run in its long form.
const LONG: &str = "TENURE_LONG";

/// The command with everything in it: its default leaves out what needs more than Rust.
const FULL: &str = "tenure-cli/full";

/// A program that no test needs, so that tests are built without.
const PACKAGE: &str = "tenure-package/program";

/// What the tests are built with, up to the features.
const TESTS: &str = "test --workspace --no-fail-fast --lib --bins --tests --examples --features";

/// What a shipped crate says to the flags of [`planted`].
const NEVER_SHIPPED: &str = "a core whose rules can be broken is never shipped";

/// One check. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    Fmt,
    Services,
    Clippy,
    BareMetal,
    Deny,
    Tidy,
    Readme,
    Test,
    Long,
    Planted,
    Sweep,
    Doctest,
    Doc,
}

impl Step {
    /// All steps, or `only` some, or all `without` some. `long` is there when it is asked for.
    pub(crate) fn choose(only: &[Self], without: &[Self], long: bool) -> Vec<Self> {
        let wanted = |step: &Self| match only {
            [] => (long || *step != Self::Long) && !without.contains(step),
            _ => only.contains(step),
        };
        Self::value_variants().iter().copied().filter(wanted).collect()
    }

    /// Whether it runs beside [`Step::Test`], whose processes mostly wait: it needs no service, and
    /// builds in a folder, or with a profile, of its own; or comes last, when the tests have been
    /// built.
    pub(crate) fn runs_beside_test(self) -> bool {
        matches!(self, Self::Deny | Self::Sweep | Self::Planted | Self::Doctest | Self::Doc)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(crate) fn purpose(self) -> &'static str {
        match self {
            Self::Fmt => "the formatting is rustfmt's",
            Self::Services => "the services that tests run against are there",
            Self::Clippy => "no lint complains about any target",
            Self::BareMetal => "the core compiles where there is no std",
            Self::Deny => "licences, bans and sources of what we depend on (deny.toml)",
            Self::Tidy => "sizes, leftovers, links, decisions",
            Self::Readme => "the README's code is compiled and run, and it names this command",
            Self::Test => {
                "unit, process and property tests, every interleaving of the claim's cell"
            }
            Self::Long => {
                "crates/*/tests/*_long.rs: minutes, or root; and refusals by a release build"
            }
            Self::Sweep => {
                "twenty million events of each protocol in made-up worlds, others for each commit"
            }
            Self::Planted => "every rule that is broken on purpose is noticed",
            Self::Doctest => "every example in the documentation runs",
            Self::Doc => "the documentation builds, private items too, without a warning",
        }
    }

    /// The commands of this step. Those of xtask itself run in this process instead.
    pub(crate) fn commands(self, workspace: &Workspace) -> Result<Vec<Cmd>, Error> {
        Ok(match self {
            Self::Fmt => vec![Cmd::cargo("fmt --all --check")],
            Self::Services => vec![Cmd::cargo(services::COMMAND)],
            Self::Clippy => clippy(workspace)?,
            Self::BareMetal => {
                vec![Cmd::cargo(&format!("check --package tenure-core --target {BARE_METAL}"))]
            }
            Self::Deny => vec![Cmd::new("cargo-deny", DENY)],
            Self::Tidy => vec![Cmd::cargo(tidy::COMMAND)],
            Self::Readme => vec![Cmd::cargo(tidy::README_COMMAND)],
            Self::Test => {
                // What is refused differs; all else of the command is the same in both builds. Of
                // the whole workspace: of one package alone, what it depends on is built with
                // other features, and all of it once more.
                let without = "test --workspace --lib --test errors --test settings";
                let threads = test_threads();
                [Cmd::cargo(TESTS).arg(FULL), Cmd::cargo(without)]
                    .map(|command| command.env("RUST_TEST_THREADS", threads.clone()))
                    .into()
            }
            Self::Long => long(workspace)?,
            Self::Sweep => sim::ordinary(workspace, Cmd::cargo(TESTS).arg(FULL).arg("--no-run")),
            Self::Planted => {
                let checked = "--package tenure-core --package tenure-sim --package tenure-sweep";
                let clippy = planted(&format!("clippy {checked} --all-targets"), workspace);
                // Unit tests know of no rules.
                let test = format!("test {checked} --test * --profile planted");
                let test = planted(&test, workspace);
                let mut commands = vec![clippy.arg("--").arg("-Dwarnings"), test];
                commands.extend(sim::ordinary_mutants(workspace));
                commands
            }
            Self::Doctest => vec![Cmd::cargo("test --workspace --doc")],
            Self::Doc => vec![doc()],
        })
    }

    /// Runs the step; `long` goes to the tests.
    pub(crate) fn run(self, workspace: &Workspace, long: bool) -> Result<(), Error> {
        match self {
            Self::Tidy => return tidy::run(workspace),
            Self::Readme => return tidy::run_readme(workspace),
            Self::Fmt => tools::component(workspace, "rustfmt")?,
            Self::Services => return services::install_all(),
            Self::Clippy => {
                tools::component(workspace, "clippy")?;
                build_tools()?;
            }
            Self::BareMetal => tools::bare_metal(workspace)?,
            Self::Deny => return Cmd::new(tools::cargo_deny(workspace)?, DENY).run(workspace),
            Self::Planted => {
                tools::component(workspace, "clippy")?;
                planted_ships_nowhere(workspace)?;
            }
            Self::Test | Self::Long | Self::Sweep | Self::Doctest | Self::Doc => build_tools()?,
        }
        for command in self.commands(workspace)? {
            match self {
                Self::Test if long => lanes::run(workspace, &command.env(LONG, "1"))?,
                Self::Test => lanes::run(workspace, &command)?,
                _ => command.run(workspace)?,
            }
        }
        Ok(())
    }
}

/// Advisories are left out: deny.toml says why.
const DENY: &str = "--workspace --all-features check --hide-inclusion-graph bans licenses sources";

/// `--all-targets` leaves out the targets that `cargo test` leaves out, so the long tests are
/// named. Without features of the command the whole workspace is chosen all the same: what only the
/// other packages need is then built with the same features, and is there.
fn clippy(workspace: &Workspace) -> Result<Vec<Cmd>, Error> {
    let all =
        format!("clippy --workspace --all-targets --features {FULL},{PACKAGE} -- -D warnings");
    let without = "clippy --workspace --all-targets -- -D warnings";
    let tests = workspace.long_tests()?;
    let tests: String = tests.iter().map(|test| format!("--test {test} ")).collect();
    let long = format!("clippy --workspace {tests}--features {FULL} -- -D warnings");
    Ok([all.as_str(), without, &long].map(Cmd::cargo).into())
}

/// How many tests run at a time, unless the caller has said: most wait for leases and for services,
/// and leave the processors idle.
fn test_threads() -> String {
    let twice = || (2 * thread::available_parallelism().map_or(1, usize::from)).to_string();
    env::var("RUST_TEST_THREADS").unwrap_or_else(|_| twice())
}

fn long(workspace: &Workspace) -> Result<Vec<Cmd>, Error> {
    let tests = workspace.long_tests()?;
    let command = |test: &String| {
        Cmd::cargo(&format!("test --workspace --test {test} --features {FULL}")).env(LONG, "1")
    };
    // What libraries check in debug builds only must make no difference. Optimized as one program
    // each would be built for longer, and say the same.
    let release = format!(
        "test --workspace --release --config profile.release.lto=false --test errors --test \
         settings --features {FULL}"
    );
    Ok(tests.iter().map(command).chain([Cmd::cargo(&release)]).collect())
}

/// All of the workspace with all features, as for clippy: what it depends on is checked once.
fn doc() -> Cmd {
    let all = format!("doc --workspace --features {FULL} --no-deps --document-private-items");
    Cmd::cargo(&all).env("RUSTDOCFLAGS", "-D warnings")
}

/// The library everything shipped is built on does not compile with the rules that can be broken,
/// whoever sets the flag; that nothing in the repository sets it, `tidy` sees to.
fn planted_ships_nowhere(workspace: &Workspace) -> Result<(), Error> {
    let command = planted("check --package tenure --lib --release", workspace);
    println!("   must be refused: {command}");
    command.refuse(workspace, NEVER_SHIPPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_only_when_asked_for() {
        assert!(!Step::choose(&[], &[], false).contains(&Step::Long));
        assert!(Step::choose(&[], &[], true).contains(&Step::Long));
        assert_eq!(Step::choose(&[Step::Long], &[], false), [Step::Long]);
    }

    #[test]
    fn steps_run_in_their_own_order_whatever_the_order_of_the_names() {
        assert_eq!(Step::choose(&[Step::Tidy, Step::Fmt], &[], false), [Step::Fmt, Step::Tidy]);
        let rest = Step::choose(&[], &[Step::Fmt, Step::Doc], false);
        assert_eq!((rest.first(), rest.last()), (Some(&Step::Services), Some(&Step::Doctest)));
    }
}
