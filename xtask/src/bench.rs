//! `cargo xtask bench`: measures the cost of elections, beside the cost of the operations on which
//! every election depends.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::command::Cmd;
use crate::error::Error;
use crate::protocols::{self, Protocol};
use crate::services;

/// The part of the first protocol that counts memory. Counting slows a program down, so this part
/// has a program of its own.
const MEMORY: &str = "memory";

#[derive(Args)]
pub(crate) struct Selection {
    /// Protocol to measure.
    #[arg(default_value = protocols::ALL[0].name)]
    #[arg(value_parser = PossibleValuesParser::new(protocols::ALL.iter().map(|one| one.name)))]
    protocol: String,
    /// Measure fewer rounds: a minute or so.
    #[arg(long)]
    quick: bool,
    /// Measure only these parts; the error for an unknown name lists all names.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<String>,
}

/// Prints measurements and whether their targets are met. A missed target is an error, after all
/// measurements are printed.
pub(crate) fn run(selection: &Selection) -> Result<(), Error> {
    let Selection { protocol, quick, only } = selection;
    let protocol = protocols::ALL.iter().find(|one| one.name == *protocol);
    let protocol = protocol.unwrap_or(&protocols::ALL[0]);
    if let Some(service) = protocol.service {
        services::install_newest(service)?;
    }
    let done = commands(protocol, *quick, only).iter().map(Cmd::run).collect::<Vec<_>>();
    done.into_iter().collect()
}

/// The commands: one for each program with a chosen part.
fn commands(protocol: &Protocol, quick: bool, only: &[String]) -> Vec<Cmd> {
    let bench = |name: &str| {
        Cmd::cargo("bench --quiet --package").arg(protocol.driver).arg("--bench").arg(name)
    };
    let is_first = protocol.name == protocols::ALL[0].name;
    let (memory, parts): (Vec<&String>, Vec<&String>) =
        only.iter().partition(|part| is_first && *part == MEMORY);
    let mut commands = Vec::new();
    if only.is_empty() || !parts.is_empty() {
        let costs = parts.into_iter().fold(bench("costs").arg("--"), Cmd::arg);
        commands.push(if quick { costs.arg("--quick") } else { costs });
    }
    if !memory.is_empty() || (is_first && only.is_empty()) {
        commands.push(bench(MEMORY));
    }
    commands
}
