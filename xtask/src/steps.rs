//! The steps of `cargo xtask test`, in the order in which they run. Two steps never run at the same
//! time, because the tests of real processes need the whole machine.

use std::time::Instant;

use clap::{Args, ValueEnum};
use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::publish;
use crate::services;
use crate::sim;
use crate::tests::{self, nextest};
use crate::tidy;
use crate::tools::{self, BARE_METAL};

/// The command with all features: the default features leave out protocols that need more tools
/// than Rust.
pub(crate) const FULL: &str = "tenure-cli/full";

/// Advisories are left out; deny.toml gives the reason.
const DENY: &str =
    "deny --workspace --all-features check --hide-inclusion-graph bans licenses sources";

#[derive(Args)]
pub(crate) struct Selection {
    /// Run only these steps.
    #[arg(long, value_name = "STEP", value_delimiter = ',', num_args = 1..)]
    #[arg(conflicts_with = "without")]
    only: Vec<Step>,
    /// Leave out these steps.
    #[arg(long, value_name = "STEP", value_delimiter = ',', num_args = 1..)]
    without: Vec<Step>,
    /// Print the steps and their commands, and stop.
    #[arg(long)]
    list: bool,
}

/// A check. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Step {
    /// Formatting, by rustfmt.
    Fmt,
    /// Sizes, leftovers, links, decisions, patches, words, and the test of the README's code.
    Tidy,
    /// Descriptions of published crates, and the files in their packages.
    Publish,
    /// Licences, bans and sources of dependencies (deny.toml).
    Deny,
    /// Installation of the services that tests run against.
    Services,
    /// Lints of every target, by Clippy.
    Clippy,
    /// The core, compiled for a target without std.
    BareMetal,
    /// Documentation, of private items too, without a warning.
    Doc,
    /// Tests: units, cores, drivers on real services, real processes.
    Test,
    /// The command without features, whose errors name the missing feature.
    Bare,
    /// Examples in the documentation.
    Doctest,
    /// Simulated elections of each protocol, from fixed seeds.
    Sweep,
}

impl Step {
    /// The commands of this step. `run` runs commands of xtask itself in this process.
    fn commands(self) -> Result<Vec<Cmd>, Error> {
        let command = match self {
            Self::Fmt => Cmd::cargo("fmt --all --check"),
            Self::Tidy => Cmd::cargo(tidy::COMMAND),
            Self::Publish => Cmd::cargo(publish::COMMAND),
            Self::Deny => Cmd::cargo(DENY),
            Self::Services => Cmd::cargo(services::COMMAND),
            Self::Clippy => return clippy(),
            Self::BareMetal => {
                Cmd::cargo(&format!("check --package tenure-core --target {BARE_METAL}"))
            }
            Self::Doc => {
                let doc = "doc --workspace --no-deps --document-private-items --features";
                Cmd::cargo(doc).arg(FULL).env("RUSTDOCFLAGS", "-D warnings")
            }
            Self::Test => nextest(&format!("--features {FULL}")),
            // Name the whole workspace, so that dependencies keep the features of the earlier
            // builds.
            Self::Bare => nextest("--no-default-features --test errors missing_features_are_named"),
            Self::Doctest => Cmd::cargo("test --workspace --doc --features").arg(FULL),
            Self::Sweep => return Ok(sim::ordinary()),
        };
        Ok(vec![command])
    }

    fn run(self) -> Result<(), Error> {
        match self {
            Self::Tidy => return tidy::run(),
            Self::Publish => return publish::run(),
            Self::Services => return services::install_all(),
            Self::Test => return self.commands()?.into_iter().try_for_each(tests::run),
            Self::Bare => tools::NEXTEST.ensure()?,
            Self::Deny => tools::DENY.ensure()?,
            Self::Fmt => tools::component("rustfmt")?,
            Self::Clippy => {
                tools::component("clippy")?;
                build_tools()?;
            }
            Self::BareMetal => tools::bare_metal()?,
            Self::Doc | Self::Doctest | Self::Sweep => build_tools()?,
        }
        self.commands()?.iter().try_for_each(Cmd::run)
    }
}

/// The commands of the step `clippy`: `--all-targets` leaves out the long tests, as `cargo test`
/// does, so a second command names the long tests.
fn clippy() -> Result<Vec<Cmd>, Error> {
    let long: String = tests::long()?.iter().map(|test| format!("--test {test} ")).collect();
    let of = |targets| format!("clippy --workspace {targets} --features {FULL} -- -D warnings");
    Ok(["--all-targets", &long].map(|targets| Cmd::cargo(&of(targets))).into())
}

/// Runs steps in order up to the first that fails. Prints at the end how long each step took.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let Selection { only, without, list } = selection;
    let wanted = |step: &Step| !without.contains(step) && (only.is_empty() || only.contains(step));
    let steps: Vec<Step> = Step::value_variants().iter().copied().filter(wanted).collect();
    if *list {
        return self::list(&steps, Step::commands);
    }
    let all = now();
    let mut times = Vec::new();
    let mut done = Ok(());
    for step in &steps {
        let name = name(step);
        println!("\n== {name}: {}", purpose(step));
        let start = now();
        done = step.run();
        let seconds = start.elapsed().as_secs_f64();
        let result = if done.is_ok() { "passed" } else { "FAILED" };
        println!("\n== {name} {result} after {seconds:.1} s");
        times.push(format!("{seconds:>9.1} s  {name} {result}"));
        if done.is_err() {
            break;
        }
    }
    let seconds = all.elapsed().as_secs_f64();
    println!("\n{} of {} steps in {seconds:.1} s:\n{}", times.len(), steps.len(), times.join("\n"));
    done
}

/// Prints steps, or parts of the soak, with their commands.
pub(crate) fn list<T: ValueEnum + Copy>(
    all: &[T],
    commands: impl Fn(T) -> Result<Vec<Cmd>, Error>,
) -> Result<(), Error> {
    for one in all {
        println!("{:12}{}", name(one), purpose(one));
        for command in commands(*one)? {
            println!("{:12}  {command}", "");
        }
    }
    Ok(())
}

/// Name of a step or a part on the command line.
pub(crate) fn name(of: &impl ValueEnum) -> String {
    of.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Documentation of a step or a part, as its help prints it.
pub(crate) fn purpose(of: &impl ValueEnum) -> String {
    let value = of.to_possible_value();
    value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "people read how long a step takes")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
