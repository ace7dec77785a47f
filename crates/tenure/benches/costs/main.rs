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

use std::process::ExitCode;

use common::{CHILD, Result, is_asked_to_measure, role};

/// What can be measured by itself: name and what does it.
const PARTS: [(&str, fn(bool) -> Result<()>); 5] = [
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

/// All parts, or those that are named; fewer rounds with `--quick`.
fn measure(arguments: &[String]) -> Result<()> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<_> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|word| PARTS.iter().all(|(name, _)| name != *word)) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        return Err(format!("no part is called {unknown}; there are {names}").into());
    }
    for (name, part) in PARTS {
        if named.is_empty() || named.iter().any(|word| *word == name) {
            part(quick)?;
            println!();
        }
    }
    Ok(())
}
