//! What the command line offers.

#[cfg(tenure_planted)]
mod mutants;
mod replay;
mod sweep;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tenure_sim::nerio::plan::Climate;

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
            Task::Sweep(sweep) => sweep.run(),
            Task::Replay(replay) => replay.run(),
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

/// What kind of worlds.
#[derive(Clone, Debug, Args)]
struct World {
    /// Clocks beyond rho, and jumps: leaders may overlap there, and fences must hold.
    #[arg(long)]
    broken_clocks: bool,
    /// Break this rule of the core (in a build with planted bugs) or of the driver.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
}

impl World {
    const fn climate(&self) -> Climate {
        if self.broken_clocks { Climate::BrokenClocks } else { Climate::Any }
    }

    /// The rule of the driver that is to be broken. A rule of the core is broken at once, for the
    /// rest of the process.
    fn broken(&self) -> Result<Option<tenure_sim::nerio::driver::DriverRule>, String> {
        let Some(name) = &self.rule else { return Ok(None) };
        let of_driver = tenure_sim::nerio::driver::DriverRule::ALL;
        if let Some(rule) = of_driver.into_iter().find(|rule| format!("{rule:?}") == *name) {
            return Ok(Some(rule));
        }
        #[cfg(tenure_planted)]
        {
            use tenure_core::nerio::planted::{Rule, break_rule};
            let rule = Rule::ALL.iter().find(|rule| format!("{rule:?}") == *name);
            if let Some(rule) = rule {
                std::mem::forget(break_rule(*rule));
                return Ok(None);
            }
        }
        let names = of_driver.map(|rule| format!("{rule:?}")).join(", ");
        Err(format!(
            "no rule {name:?} can be broken in this build: the driver's are {names}; those of the \
             core need `cargo xtask mutants`, which builds with planted bugs"
        ))
    }
}

/// On how many threads, unless it is said.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
