//! The made-up world: `sweep`, `replay` and `mutants` of `tenure-sweep`.

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
use crate::planted::planted;
use crate::protocols::{self, Protocol};
use crate::steps::FULL;
use crate::workspace::Workspace;

/// Events of each protocol in the ordinary test run.
const ORDINARY_EVENTS: &str = "1e7";

/// The seed of the ordinary test run: the same on each commit.
const ORDINARY_SEED: &str = "1";

/// What goes on to `tenure-sweep` as it is; its `--help` says what there is.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn with(command: Cmd, rest: &Rest) -> Cmd {
    rest.arguments.iter().fold(command, |command, argument| command.arg(argument))
}

fn tool(task: &str) -> Cmd {
    Cmd::cargo(&format!("run --quiet --release --package tenure-sweep -- {task}"))
}

fn planted_tool(task: &str, workspace: &Workspace) -> Cmd {
    planted("run --quiet --profile planted --package tenure-sweep", workspace).arg("--").arg(task)
}

/// `cargo xtask sweep`. With a rule that only a build with planted bugs can break, in such a one.
pub(crate) fn sweep(workspace: &Workspace, rest: &Rest) -> Result<(), Error> {
    with(with_rule("sweep", workspace, rest), rest).run(workspace)
}

/// `cargo xtask replay`.
pub(crate) fn replay(workspace: &Workspace, rest: &Rest) -> Result<(), Error> {
    with(with_rule("replay", workspace, rest), rest).run(workspace)
}

/// `cargo xtask mutants`.
pub(crate) fn mutants(workspace: &Workspace, rest: &Rest) -> Result<(), Error> {
    with(planted_tool("mutants", workspace), rest).run(workspace)
}

fn with_rule(task: &str, workspace: &Workspace, rest: &Rest) -> Cmd {
    let breaks = rest.arguments.iter().any(|argument| argument.starts_with("--rule"));
    if breaks { planted_tool(task, workspace) } else { tool(task) }
}

fn with_worlds() -> impl Iterator<Item = &'static Protocol> {
    protocols::ALL.iter().filter(|protocol| protocol.worlds)
}

/// The sweeps of the ordinary test run, from a fixed seed, by the program that the tests were built
/// with: its assertions are on.
pub(crate) fn ordinary(workspace: &Workspace) -> Vec<Cmd> {
    let build = Cmd::cargo("build --workspace --bins --features").arg(FULL);
    let program = workspace.target.join("debug/tenure-sweep").display().to_string();
    let sweep = |protocol: &Protocol| {
        Cmd::new(&program, "sweep --protocol")
            .arg(protocol.name)
            .args("--events")
            .arg(ORDINARY_EVENTS)
            .args("--seed")
            .arg(ORDINARY_SEED)
    };
    [build].into_iter().chain(with_worlds().map(sweep)).collect()
}

/// A sweep of each protocol, by an optimized program.
pub(crate) fn each(events: &str, seed: &str) -> Vec<Cmd> {
    let sweep = |protocol: &Protocol| {
        let name = protocol.name;
        tool(&format!("sweep --protocol {name} --events {events} --seed {seed}"))
    };
    with_worlds().map(sweep).collect()
}

/// Every rule is broken once: in stories, and in as many worlds as found it when the table in
/// docs/simulation.md was made, and then some.
pub(crate) fn rules(workspace: &Workspace) -> Vec<Cmd> {
    let packages = "--package tenure-core --package tenure-sim --package tenure-sweep";
    // Unit tests know of no rules.
    let stories = planted(&format!("test {packages} --test * --profile planted"), workspace);
    let mutants = |protocol: &Protocol| {
        planted_tool("mutants", workspace).args("--protocol").arg(protocol.name)
    };
    [stories].into_iter().chain(with_worlds().map(mutants)).collect()
}
