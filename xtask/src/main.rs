//! Every check and chore of this repository, as `cargo xtask`.
//!
//! The tasks `fix` and `bless` write files of the repository; all others only read them.
#![expect(clippy::print_stdout, reason = "a command line tool talks on standard output")]

mod bench;
mod bless;
mod book;
mod command;
mod dist;
mod error;
mod facts;
mod generated;
mod mutants;
mod package_pages;
mod protocols;
mod publish;
mod services;
mod sim;
mod soak;
mod steps;
mod tests;
mod tidy;
mod tools;
mod tree;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::command::Cmd;
use crate::error::Error;

/// Checks and chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Run every check up to the first that fails. Writes nothing but build output.
    #[command(visible_alias = "ci")]
    Test(steps::Selection),
    /// Run checks with drawn seeds, long rounds of faults, slow checks, and checks that need root.
    Soak(soak::Selection),
    /// Measure what elections cost, and fail if a target is missed.
    Bench(bench::Selection),
    /// Install the real services that tests run against, and start one by hand.
    Services(services::Selection),
    /// Check on real services the facts that our protocols rely on, and report changes.
    Facts(facts::Selection),
    /// Build what users install: binaries, Debian packages, pages, check sums, in target/dist.
    #[command(alias = "package")]
    Dist(dist::Selection),
    /// Check what each published crate says of itself, and the files in its package.
    Publish,
    /// Build the documents as a book, in target/book, and check its links.
    Book,
    /// Check what compilers do not: sizes, leftovers, links, decisions, patches, words.
    Tidy,
    /// Apply corrections by machine: lints with a known correction, then formatting.
    Fix,
    /// Rewrite golden texts, for you to review: conversations of nodes, and errors.
    Bless(bless::Selection),
    /// Simulate world after world up to the first violation (`sweep --help` has the options).
    Sweep(sim::Rest),
    /// Simulate one world again, and show it (`replay --help` has the options).
    Replay(sim::Rest),
    /// Break one rule after the other, by the patches in `mutants/`, and check that a test notices.
    Mutants(mutants::Selection),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test(selection) => steps::run(&selection),
        Task::Soak(selection) => soak::run(&selection),
        Task::Bench(selection) => bench::run(&selection),
        Task::Services(selection) => services::run(&selection),
        Task::Facts(selection) => facts::run(&selection),
        Task::Dist(selection) => dist::run(&selection),
        Task::Publish => publish::run(),
        Task::Book => book::run(),
        Task::Tidy => tidy::run(),
        Task::Fix => fix(),
        Task::Bless(selection) => bless::run(&selection),
        Task::Sweep(rest) => sim::run("sweep", &rest),
        Task::Replay(rest) => sim::run("replay", &rest),
        Task::Mutants(selection) => mutants::run(&selection),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn fix() -> Result<(), Error> {
    tools::component("clippy")?;
    tools::component("rustfmt")?;
    Cmd::cargo("clippy --workspace --all-targets --fix --allow-dirty --allow-staged").run()?;
    Cmd::cargo("fmt --all").run()
}
