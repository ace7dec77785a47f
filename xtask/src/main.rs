//! Every check and chore of this repository behind one command: `cargo xtask`.
//!
//! `test` and `tidy` only read. `fix` and `bless` are those that write.
#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]

mod bench;
mod bless;
mod command;
mod error;
mod facts;
mod mutants;
mod package;
mod protocols;
mod run;
mod services;
mod sim;
mod soak;
mod steps;
mod tests;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::command::Cmd;
use crate::error::Error;
use crate::steps::Step;
use crate::workspace::Workspace;

/// Checks and chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check, stopping at the first that fails. Writes nothing but build output.
    #[command(visible_alias = "ci")]
    Test(Selection),
    /// Explore with drawn seeds, long rounds of faults, and all that takes minutes or needs root.
    Soak(soak::Selection),
    /// Measure what elections cost, and say whether the targets are met.
    Bench(bench::Selection),
    /// Get the real services that tests run against, and start them by hand.
    Services(services::Selection),
    /// Check on real services what our protocols rely on, and say what has changed.
    Facts(facts::Selection),
    /// Build the Debian package of the command, and print its path.
    Package,
    /// Check what compilers do not: sizes, leftovers, links, decisions.
    Tidy,
    /// Write what can be corrected by machine: lints with a known correction, then formatting.
    Fix,
    /// Write golden texts anew, to be reviewed: what nodes say, what errors say.
    Bless(bless::Selection),
    /// Run made-up worlds until one shows a violation (`sweep --help` has the options).
    Sweep(sim::Rest),
    /// Run one made-up world again, and show it (`replay --help` has the options).
    Replay(sim::Rest),
    /// Break one rule after the other, by the patches in `mutants/`, and see that a test notices.
    Mutants(mutants::Selection),
}

#[derive(Args)]
struct Selection {
    /// Run these steps only.
    #[arg(long, value_name = "STEP", value_delimiter = ',', num_args = 1..)]
    #[arg(conflicts_with = "without")]
    only: Vec<Step>,
    /// Leave these steps out.
    #[arg(long, value_name = "STEP", value_delimiter = ',', num_args = 1..)]
    without: Vec<Step>,
    /// Print the steps and what each runs, and stop.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let workspace = Workspace::find();
    let done = match cli.task {
        Task::Test(selection) => test(&workspace, &selection),
        Task::Soak(selection) => soak::run(&workspace, &selection),
        Task::Bench(selection) => bench::run(&workspace, &selection),
        Task::Services(service) => services::run(&service),
        Task::Facts(facts) => facts::run(&workspace, &facts),
        Task::Package => package::run(&workspace),
        Task::Tidy => tidy::run(&workspace),
        Task::Fix => fix(&workspace),
        Task::Bless(selection) => bless::run(&workspace, &selection),
        Task::Sweep(rest) => sim::sweep(&workspace, &rest),
        Task::Replay(rest) => sim::replay(&workspace, &rest),
        Task::Mutants(selection) => mutants::run(&workspace, &selection),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn test(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let chosen = Step::choose(&selection.only, &selection.without);
    if selection.list {
        return run::list(workspace, &chosen);
    }
    run::run(workspace, &chosen)
}

fn fix(workspace: &Workspace) -> Result<(), Error> {
    tools::component(workspace, "clippy")?;
    tools::component(workspace, "rustfmt")?;
    let fix = "clippy --workspace --all-targets --fix --allow-dirty --allow-staged";
    Cmd::cargo(fix).run(workspace)?;
    Cmd::cargo("fmt --all").run(workspace)
}
