//! What Nerio costs beside what nothing can do without. `cargo xtask bench` runs it;
//! docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

#[path = "../common/mod.rs"]
mod common;
mod floor;
mod latency;
mod load;
mod loss;
mod question;
mod sample;
mod target;

use std::process::ExitCode;

use common::cluster::Cluster;
use common::{CHILD, Result, is_asked_to_measure, role};
use target::Targets;
use tenure::nerio::Node;

/// Measures something and prints it; fewer rounds when it is told to be quick.
type Part = fn(bool, &mut Targets) -> Result<()>;

/// What can be measured by itself.
const PARTS: [(&str, Part); 5] = [
    ("campaign", latency::campaign),
    ("handover", latency::handover),
    ("question", question::measure),
    ("loss", loss::measure),
    ("load", load::measure),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, role)) if first == CHILD => match role {
            [role] if role == "echo" => floor::echo(),
            role => role::play(role, || 0),
        },
        _ if is_asked_to_measure(&arguments) => measure(&arguments),
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All parts, or those that are named; fewer rounds with `--quick`. A target that is not met is an
/// error in the end.
fn measure(arguments: &[String]) -> Result<()> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<_> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|word| PARTS.iter().all(|(name, _)| name != *word)) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        return Err(format!("no part is called {unknown}; there are {names}").into());
    }
    let busy = std::fs::read_to_string("/proc/loadavg")?;
    let busy = busy.split_whitespace().next().unwrap_or_default();
    println!("Before this run {busy} threads wanted a processor (load average of a minute).\n");
    let mut judged = Vec::new();
    for (name, part) in PARTS {
        if named.is_empty() || named.iter().any(|word| *word == name) {
            let mut targets = Targets::of(name);
            part(quick, &mut targets)?;
            judged.push(targets);
            println!();
        }
    }
    Ok(target::conclude(judged)?)
}

/// A node of this process, which only campaigns.
fn node(cluster: &Cluster, name: &str) -> Result<Node> {
    Ok(Node::builder(cluster.settings.config()?, name.parse()?).start()?)
}
