//! What elections on NATS cost, beside an election by NATS's own key-value bucket.
//! `cargo xtask bench allcall` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bucket;
mod elections;
mod load;
mod meter;
mod stage;
mod take_over;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;

use std::process::ExitCode;

use target::Targets;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures something and prints it; fewer rounds when it is told to be quick.
type Part = fn(bool, &mut Targets) -> Result<()>;

/// What can be measured by itself.
const PARTS: [(&str, Part); 4] = [
    ("load", |quick, _| stage::block_on(load::measure(quick))),
    ("takeover", |quick, targets| stage::block_on(take_over::measure(quick, targets))),
    ("elections", |quick, targets| stage::block_on(elections::measure(quick, targets))),
    ("bucket", |quick, _| stage::block_on(bucket::measure(quick))),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts it too, without this flag.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    match measure(&arguments) {
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
         One server of {}; each part has one of its own. All participants are of one process, each \
         with a thread and a connection.\n",
        stage::busy()?,
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
    println!("After it {} did.", stage::busy()?);
    Ok(target::conclude(judged)?)
}
