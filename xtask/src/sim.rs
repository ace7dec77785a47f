//! The made-up world: `sweep` and `replay` of `tenure-sweep`.

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
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

/// `cargo xtask sweep`.
pub(crate) fn sweep(workspace: &Workspace, rest: &Rest) -> Result<(), Error> {
    with(tool("sweep"), rest).run(workspace)
}

/// `cargo xtask replay`.
pub(crate) fn replay(workspace: &Workspace, rest: &Rest) -> Result<(), Error> {
    with(tool("replay"), rest).run(workspace)
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
