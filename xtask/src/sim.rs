//! Simulation: `sweep` and `replay` of `tenure-sweep`.

use clap::Args;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols;
use crate::steps::FULL;
use crate::workspace::target;

/// Arguments for `tenure-sweep`, whose `--help` describes them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// `tenure-sweep`, optimized.
fn optimized(task: &str) -> Cmd {
    Cmd::cargo("run --quiet --release --package tenure-sweep --").arg(task)
}

pub(crate) fn run(task: &str, rest: &Rest) -> Result<(), Error> {
    rest.arguments.iter().fold(optimized(task), Cmd::arg).run()
}

/// A sweep for each protocol.
fn each(sweep: &Cmd, events: &str, seed: u64) -> Vec<Cmd> {
    let names = protocols::ALL.iter().map(|protocol| protocol.name);
    let of = |name| format!("--protocol {name} --events {events} --seed {seed}");
    names.map(|name| sweep.clone().args(&of(name))).collect()
}

/// The sweeps of `cargo xtask test`, from a fixed seed, with debug assertions. The program is built
/// beside the tests, so that both share their dependencies.
pub(crate) fn ordinary() -> Vec<Cmd> {
    let build = Cmd::cargo("build --workspace --bins --tests --features").arg(FULL);
    let program = target().join("debug/tenure-sweep").display().to_string();
    [vec![build], each(&Cmd::new(program, "sweep"), "1e7", 1)].concat()
}

/// The sweeps of one turn of the soak.
pub(crate) fn drawn(seed: u64) -> Vec<Cmd> {
    each(&optimized("sweep"), "2e8", seed)
}
