//! Command line of the sweep.

mod replay;
mod sweep;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_sim::sweep::Source;

/// Simulates Tenure's elections, and looks for violations of their promises.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run many worlds until one shows a violation, and reduce that world to what the violation
    /// needs.
    Sweep(sweep::SweepOptions),
    /// Run one world again, and show its events as text and as a picture.
    Replay(replay::Replay),
}

impl Cli {
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.task {
            Task::Sweep(sweep) => sweep.world.with(&sweep),
            Task::Replay(replay) => replay.world.with(&replay),
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

/// Declares the protocols of the command line.
macro_rules! declare {
    ($($module:ident $name:ident $about:literal;)+) => {
        /// Protocol of the worlds.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
        enum Protocol {
            $(#[doc = $about] $name,)+
        }

        impl Protocol {
            /// Runs a task on worlds of this protocol.
            fn with(self, world: &World, task: &impl Job) -> Result<bool, String> {
                match self {
                    $(Self::$name => task.run(world.of::<tenure_sim::$module::Worlds>()?),)+
                }
            }
        }
    };
}
tenure_sim::protocols!(declare);

/// Kind of worlds.
#[derive(Clone, Debug, Args)]
struct World {
    /// Protocol of the elections.
    #[arg(long, value_enum, default_value_t = Protocol::Nerio)]
    protocol: Protocol,
    /// Worlds whose clocks drift beyond rho and jump: leaders may overlap, and fences must hold.
    /// Only Nerio has such worlds.
    #[arg(long)]
    broken_clocks: bool,
}

/// A task on worlds of any protocol.
trait Job {
    /// Runs the task; false if it found a violation.
    fn run<S: Source>(&self, source: S) -> Result<bool, String>;
}

impl World {
    /// Runs a task on the worlds that the command line selects.
    fn with(&self, task: &impl Job) -> Result<bool, String> {
        self.protocol.with(self, task)
    }

    /// The worlds that the command line selects.
    fn of<S: Source + Default>(&self) -> Result<S, String> {
        if !self.broken_clocks {
            return Ok(S::default());
        }
        let none = || format!("there are no worlds of {} with --broken-clocks", S::NAME);
        S::default().with_broken_clocks().ok_or_else(none)
    }
}

/// Default of `--threads`: the number of processors.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
