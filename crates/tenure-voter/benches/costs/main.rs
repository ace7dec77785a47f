//! What elections between regional voters cost, beside bare exchanges over HTTP.
//! `cargo xtask bench voter` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod company;
mod distance;
mod election;
mod idle;
#[path = "../../../tenure/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure/benches/costs/processor.rs"]
mod processor;
#[path = "../../../tenure/benches/costs/sample.rs"]
mod sample;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;

use std::process::ExitCode;

use parts::Part;
use tokio::runtime::Builder;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Error>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// What can be measured by itself.
const PARTS: [(&str, Part<Error>); 2] = [
    ("election", |quick, targets| block_on(election::measure(quick, targets))),
    ("idle", |quick, targets| block_on(idle::measure(quick, targets))),
];

/// The application's thread.
fn block_on(measure: impl Future<Output = Result<()>>) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(measure)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts it too, without this flag.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let on = "All voters are of one process, each with a thread, connections and a state directory \
              of its own; they speak HTTP on loopback.\n";
    match parts::measure(&PARTS, &arguments, on) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
