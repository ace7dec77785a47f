//! `cargo xtask soak`: checks with drawn seeds, slow checks, and checks that need root or other
//! versions.
//!
//! Parts that explore run in turn until the time is over; all other parts run once.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tenure_services::build_tools;

use crate::command::Cmd;
use crate::error::Error;
use crate::generated;
use crate::protocols;
use crate::publish;
use crate::sim;
use crate::steps::{FULL, list, name, now, purpose};
use crate::tests::{self, nextest};
use crate::tools;

/// The variable that makes a test run in its long form.
const LONG: &str = "TESTS_LONG";

#[derive(Args)]
pub(crate) struct Selection {
    /// Explore for this time (`2h`, `90m`); without it, each part runs once.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// Run only these parts.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<Part>,
    /// Print the parts and their commands, and stop.
    #[arg(long)]
    list: bool,
}

/// A part of the soak. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Tests without a short form: network namespaces, systemd, upgrades, models.
    Long,
    /// Tests of errors and settings, with a release build.
    Release,
    /// The package of each published crate, compiled from its own files.
    Packages,
    /// Facts on which protocols rely, on each version of each service.
    Facts,
    /// Patches in mutants/: each breaks a rule, and a test must notice.
    Mutants,
    /// All tests in their long form, with drawn seeds: rounds of faults.
    Tests,
    /// Simulated elections of each protocol, from a drawn seed.
    Sweep,
    /// A drawn share of the mutants that `cargo mutants` generates; the table lists survivors.
    Generated,
}

impl Part {
    /// Whether another run of this part, with another seed, can find something new.
    fn explores(self) -> bool {
        matches!(self, Self::Tests | Self::Sweep | Self::Generated)
    }

    fn commands(self, seed: u64) -> Result<Vec<Cmd>, Error> {
        Ok(match self {
            Self::Long => tests::long()?
                .iter()
                .map(|test| nextest(&format!("--test {test} --features {FULL}")).env(LONG, "1"))
                .collect(),
            // Debug assertions must not change the errors. Without LTO across crates the build is
            // faster, and errors do not depend on LTO.
            Self::Release => vec![nextest(&format!(
                "--cargo-profile release --config profile.release.lto=false --test errors \
                 --test settings --features {FULL}"
            ))],
            Self::Packages => vec![publish::packages()?],
            Self::Facts => {
                let services = protocols::ALL.iter().filter_map(|protocol| protocol.service);
                services.map(|service| Cmd::cargo("xtask facts").arg(service)).collect()
            }
            Self::Mutants => vec![Cmd::cargo("xtask mutants")],
            Self::Tests => vec![
                nextest(&format!("--features {FULL}"))
                    .env(LONG, "1")
                    .env("TESTS_SEED", seed.to_string())
                    .env("PROPTEST_RNG_SEED", seed.to_string()),
            ],
            Self::Sweep => sim::drawn(seed),
            Self::Generated => vec![generated::share(seed)],
        })
    }
}

/// Outcome of the commands so far.
#[derive(Default)]
struct Outcome {
    table: Vec<String>,
    failed: Vec<String>,
}

/// Runs all parts even if some fail, prints a table, and fails with the commands that failed.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let chosen = |part: &Part| selection.only.is_empty() || selection.only.contains(part);
    let parts: Vec<Part> = Part::value_variants().iter().copied().filter(chosen).collect();
    if selection.list {
        return list(&parts, |part| part.commands(0));
    }
    build_tools()?;
    tools::NEXTEST.ensure()?;
    let start = now();
    let mut outcome = Outcome::default();
    for part in &parts {
        turn(*part, &mut outcome)?;
    }
    let mut exploring = parts.iter().filter(|part| part.explores()).cycle();
    while selection.time.is_some_and(|time| start.elapsed() < time)
        && let Some(part) = exploring.next()
    {
        turn(*part, &mut outcome)?;
    }
    let Outcome { table, failed } = outcome;
    println!("\n{:10}{:8}time\n{}", "part", "result", table.join("\n"));
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::Said(format!(
        "{} failed. To repeat them, in the root of the repository:\n\n    {}\n",
        failed.len(),
        failed.join("\n    ")
    )))
}

fn turn(part: Part, outcome: &mut Outcome) -> Result<(), Error> {
    let seed = RandomState::new().hash_one(0_u8);
    println!("\n== {}: {}; seed {seed}", name(&part), purpose(&part));
    for command in part.commands(seed)? {
        println!("   {command}");
        let shown = command.to_string();
        let start = now();
        let done = match part {
            Part::Tests => tests::run(command),
            Part::Generated => generated::run(&command),
            _ => command.run(),
        };
        let result = if done.is_ok() { "passed" } else { "FAILED" };
        let seconds = start.elapsed().as_secs_f64();
        outcome.table.push(format!("{:10}{result:8}{seconds:.1} s", name(&part)));
        if done.is_err() {
            outcome.failed.push(shown);
        } else if part == Part::Generated {
            outcome.table.extend(generated::survivors());
        }
    }
    Ok(())
}
