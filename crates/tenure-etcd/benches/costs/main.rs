//! What elections on etcd cost, beside etcd's own election service and beside the bare requests.
//! `cargo xtask bench etcd` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod campaign;
mod crowd;
mod handover;
mod load;
mod looks;
#[path = "../../../tenure/benches/costs/sample.rs"]
mod sample;
mod stage;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;
mod waiters;

use std::process::ExitCode;

use target::Targets;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures something and prints it; fewer rounds when it is told to be quick.
type Part = fn(bool, &mut Targets) -> Result<()>;

/// What can be measured by itself.
const PARTS: [(&str, Part); 6] = [
    ("campaign", |quick, _| stage::block_on(campaign::measure(quick))),
    ("handover", |quick, targets| stage::block_on(handover::measure(quick, targets))),
    ("waiters", |quick, targets| stage::block_on(waiters::measure(quick, targets))),
    ("looks", |quick, targets| stage::block_on(looks::measure(quick, targets))),
    ("crowd", |quick, targets| stage::block_on(crowd::measure(quick, targets))),
    ("load", |quick, targets| stage::block_on(load::measure(quick, targets))),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts it too, without this flag.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let done = match &arguments[..] {
        [_, first, endpoint, number] if first == crowd::MEMBER => {
            let number = number.parse().map_err(Into::into);
            number.and_then(|number| stage::block_on(crowd::wait(endpoint, number)))
        }
        _ => measure(&arguments),
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
    println!(
        "Before this run {} threads wanted a processor (load average of a minute).\n\
         One member of {}; each part has one of its own.\n",
        busy()?,
        stage::VERSION,
    );
    let mut judged = Vec::new();
    for (name, part) in PARTS {
        if named.is_empty() || named.iter().any(|word| *word == name) {
            let mut targets = Targets::of(name);
            part(quick, &mut targets)?;
            judged.push(targets);
            println!();
        }
    }
    println!("After it {} did.", busy()?);
    Ok(target::conclude(judged)?)
}

fn busy() -> Result<String> {
    let busy = std::fs::read_to_string("/proc/loadavg")?;
    Ok(busy.split_whitespace().next().unwrap_or_default().to_owned())
}
