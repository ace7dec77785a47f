//! The made-up world: `sweep`, `replay` and `mutants` of `tenure-sweep`.

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
use crate::planted::planted;
use crate::protocols::{self, Protocol};
use crate::workspace::Workspace;

/// How much the ordinary test run sweeps of each.
const ORDINARY_EVENTS: &str = "2e7";

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

/// The sweeps of the ordinary test run: from a seed that changes with the commit, by the program
/// that the tests are `built` with. It takes a third longer than one made for sweeps, which takes
/// two minutes to build, and it has the assertions.
pub(crate) fn ordinary(workspace: &Workspace, built: Cmd) -> Vec<Cmd> {
    let program = workspace.target.join("debug/tenure-sweep").display().to_string();
    let commit = Cmd::new("git", "rev-parse HEAD").ask(workspace);
    let seed = commit.unwrap_or_else(|| "no commit".to_owned());
    let sweep = |protocol: &Protocol| {
        let sweep = Cmd::new(&program, "sweep --protocol").arg(protocol.name);
        sweep.arg("--events").arg(ORDINARY_EVENTS).arg("--seed").arg(&seed)
    };
    [built].into_iter().chain(with_worlds().map(sweep)).collect()
}

/// Every planted bug is caught again, each in the worlds that were enough when the table in
/// docs/simulation.md was made, and then some: by the program that the planted tests were built
/// with, as one built alone would be built anew.
pub(crate) fn ordinary_mutants(workspace: &Workspace) -> Vec<Cmd> {
    let program = workspace.target.join("planted/planted/tenure-sweep").display().to_string();
    let mutants = |protocol: &Protocol| {
        let mutants = Cmd::new(&program, "mutants --protocol").arg(protocol.name);
        mutants.arg("--directed-events").arg("1")
    };
    with_worlds().map(mutants).collect()
}
