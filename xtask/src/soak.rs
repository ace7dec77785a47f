//! `cargo xtask soak`: what draws seeds, needs minutes or root, or depends on other versions.
//!
//! Parts that end run once each; parts that explore go on in turn until the time is over.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;
use crate::run::Meter;
use crate::sim;
use crate::steps::FULL;
use crate::tests::{self, nextest};
use crate::tools;
use crate::workspace::Workspace;

/// The variable that asks a test for its long form.
const LONG: &str = "TESTS_LONG";

/// Events of each protocol in one turn of [`Part::Sweep`].
const EVENTS: &str = "2e8";

#[derive(Args)]
pub(crate) struct Selection {
    /// Explore until this time is over (`2h`, `90m`); without it, each part runs once.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Run these parts only.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<Part>,
    /// Print the parts and the commands of each, and stop.
    #[arg(long)]
    list: bool,
}

/// One part of the soak, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Long,
    Release,
    Facts,
    Mutants,
    Tests,
    Sweep,
}

impl Part {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Long => "crates/*/tests/*_long.rs: network namespaces, systemd, upgrades, models",
            Self::Release => "refusals and settings of a release build",
            Self::Facts => "what protocols rely on, on each version of each service",
            Self::Mutants => "each patch in mutants/ breaks a rule, and a test notices",
            Self::Tests => "all tests in their long form, with drawn seeds: rounds of faults",
            Self::Sweep => "made-up worlds of each protocol from a drawn seed",
        }
    }

    /// Whether another turn, with another seed, can find something else.
    fn explores(self) -> bool {
        matches!(self, Self::Tests | Self::Sweep)
    }

    fn commands(self, workspace: &Workspace, seed: u64) -> Result<Vec<Cmd>, Error> {
        Ok(match self {
            Self::Long => workspace
                .long_tests()?
                .iter()
                .map(|test| nextest(&format!("--test {test} --features {FULL}")).env(LONG, "1"))
                .collect(),
            // Debug assertions must make no difference. One crate at a time is optimized: nothing
            // that is refused depends on how.
            Self::Release => vec![nextest(&format!(
                "--cargo-profile release --config profile.release.lto=false --test errors \
                 --test settings --features {FULL}"
            ))],
            Self::Facts => {
                let services = protocols::ALL.iter().filter_map(|protocol| protocol.service);
                services.map(|service| Cmd::cargo(&format!("xtask facts {service}"))).collect()
            }
            Self::Mutants => vec![Cmd::cargo("xtask mutants")],
            Self::Tests => vec![
                nextest(&format!("--features {FULL}"))
                    .env(LONG, "1")
                    .env("TESTS_SEED", seed.to_string())
                    .env("PROPTEST_RNG_SEED", seed.to_string()),
            ],
            Self::Sweep => sim::each(EVENTS, &seed.to_string()),
        })
    }
}

/// The outcome of one command.
struct Outcome {
    part: Part,
    took: String,
    failed: Option<String>,
}

/// Runs all parts whatever becomes of those before, prints a table, and fails with what failed.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let chosen = |part: &Part| selection.only.is_empty() || selection.only.contains(part);
    let parts: Vec<Part> = Part::value_variants().iter().copied().filter(chosen).collect();
    if selection.list {
        for part in parts {
            println!("{:10}{}", part.name(), part.purpose());
            for command in part.commands(workspace, 0)? {
                println!("{:10}  {command}", "");
            }
        }
        return Ok(());
    }
    build_tools()?;
    tools::NEXTEST.ensure(workspace)?;
    let (all, mut outcomes) = (Meter::start(), Vec::new());
    for part in &parts {
        turn(workspace, *part, &mut outcomes)?;
    }
    let exploring: Vec<Part> = parts.into_iter().filter(|part| part.explores()).collect();
    let mut turns = exploring.iter().cycle();
    while selection.time.is_some_and(|time| all.elapsed() < time)
        && let Some(part) = turns.next()
    {
        turn(workspace, *part, &mut outcomes)?;
    }
    report(&outcomes)
}

fn turn(workspace: &Workspace, part: Part, outcomes: &mut Vec<Outcome>) -> Result<(), Error> {
    let seed = RandomState::new().hash_one(0_u8);
    println!("\n== {}: {}; seed {seed}", part.name(), part.purpose());
    for command in part.commands(workspace, seed)? {
        println!("   {command}");
        let meter = Meter::start();
        let shown = command.to_string();
        let done = match part {
            Part::Tests => {
                let done = tests::run(workspace, command);
                tests::print(&tests::slowest(workspace));
                done
            }
            _ => command.run(workspace),
        };
        let failed = done.is_err().then_some(shown);
        outcomes.push(Outcome { part, took: meter.read(), failed });
    }
    Ok(())
}

fn report(outcomes: &[Outcome]) -> Result<(), Error> {
    println!("\n{:10}{:8}time", "part", "result");
    for Outcome { part, took, failed } in outcomes {
        let result = if failed.is_some() { "FAILED" } else { "passed" };
        println!("{:10}{result:8}{took}", part.name());
    }
    let failed: Vec<&str> =
        outcomes.iter().filter_map(|outcome| outcome.failed.as_deref()).collect();
    match failed.len() {
        0 => Ok(()),
        count => Err(Error::Soaked { count, commands: failed.join("\n    ") }),
    }
}

#[cfg(test)]
mod tests_of_soak {
    use super::*;

    #[test]
    fn every_drawn_seed_is_in_the_command() {
        let workspace = Workspace::find();
        for part in Part::value_variants().iter().filter(|part| part.explores()) {
            let commands = part.commands(&workspace, 4711).unwrap();
            assert!(
                commands.iter().all(|command| command.to_string().contains("4711")),
                "{part:?}"
            );
        }
    }
}
