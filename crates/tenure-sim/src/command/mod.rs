//! What the command line offers.

#[cfg(tenure_planted)]
mod mutants;
mod replay;
mod sweep;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_sim::nerio::driver::DriverRule;
use tenure_sim::nerio::plan::Climate;
use tenure_sim::sweep::Source;
use tenure_sim::{etcd, nerio};

/// Worlds of the made-up kind for Tenure's cores.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run many worlds until one shows a violation, and make that one small.
    Sweep(sweep::Sweeping),
    /// Run one world again, with every event on a line and as a picture.
    Replay(replay::Replay),
    /// Break one rule after the other, and see who notices.
    #[cfg(tenure_planted)]
    Mutants(mutants::Mutants),
}

impl Cli {
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.task {
            Task::Sweep(sweep) => sweep.world.with(&sweep),
            Task::Replay(replay) => replay.world.with(&replay),
            #[cfg(tenure_planted)]
            Task::Mutants(mutants) => mutants.run(),
        };
        match done {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                println!("error: {error}");
                ExitCode::from(2)
            }
        }
    }
}

/// Of which protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Protocol {
    /// Quorum leases.
    Nerio,
    /// Leases and creation revisions of etcd.
    Etcd,
}

/// What kind of worlds.
#[derive(Clone, Debug, Args)]
struct World {
    /// Whose elections.
    #[arg(long, value_enum, default_value_t = Protocol::Nerio)]
    protocol: Protocol,
    /// Clocks beyond rho, and jumps: leaders may overlap there, and fences must hold. Of Nerio.
    #[arg(long)]
    broken_clocks: bool,
    /// Break this rule of the core (in a build with planted bugs) or of the driver.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
}

/// Something that is done with worlds of any protocol.
trait Job {
    /// Does it; false if something was violated.
    fn run<S: Source>(&self, source: S) -> Result<bool, String>;
}

impl World {
    /// Does something with the worlds that are wanted. A rule of a core is broken at once, for
    /// the rest of the process.
    fn with(&self, task: &impl Job) -> Result<bool, String> {
        match self.protocol {
            Protocol::Nerio => {
                let climate = if self.broken_clocks { Climate::BrokenClocks } else { Climate::Any };
                task.run(nerio::Worlds { climate, broken: self.broken_by_driver()? })
            }
            Protocol::Etcd if self.broken_clocks => {
                Err("--broken-clocks is about worlds of Nerio".to_owned())
            }
            Protocol::Etcd => {
                if let Some(name) = &self.rule
                    && !break_etcd(name)
                {
                    return Err(unbroken(name, "there are none"));
                }
                task.run(etcd::Worlds)
            }
        }
    }

    /// The rule of Nerio's driver that is to be broken.
    fn broken_by_driver(&self) -> Result<Option<DriverRule>, String> {
        let Some(name) = &self.rule else { return Ok(None) };
        let rule = DriverRule::ALL.into_iter().find(|rule| format!("{rule:?}") == *name);
        if rule.is_some() || break_nerio(name) {
            return Ok(rule);
        }
        let names = DriverRule::ALL.map(|rule| format!("{rule:?}")).join(", ");
        Err(unbroken(name, &format!("they are {names}")))
    }
}

fn unbroken(name: &str, of_driver: &str) -> String {
    format!(
        "no rule {name:?} can be broken in this build: of the driver's {of_driver}; those of the \
         core need `cargo xtask mutants`, which builds with planted bugs"
    )
}

#[cfg(tenure_planted)]
fn break_nerio(name: &str) -> bool {
    break_for_ever(tenure_core::nerio::planted::RULES, name)
}

#[cfg(tenure_planted)]
fn break_etcd(name: &str) -> bool {
    break_for_ever(tenure_core::etcd::planted::RULES, name)
}

#[cfg(tenure_planted)]
fn break_for_ever(rules: &[tenure_core::planted::Planted], name: &str) -> bool {
    let mut all = rules.iter().chain(tenure_core::planted::RULES);
    let rule = all.find(|rule| rule.name == name);
    rule.inspect(|rule| std::mem::forget(rule.break_it())).is_some()
}

#[cfg(not(tenure_planted))]
const fn break_nerio(_: &str) -> bool {
    false
}

#[cfg(not(tenure_planted))]
const fn break_etcd(_: &str) -> bool {
    false
}

/// On how many threads, unless it is said.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
