//! What elections on Kafka cost, beside a take-over in a bare consumer group.
//! `cargo xtask bench nele` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod load;
mod ours;
#[path = "../../../tenure/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure/benches/costs/processor.rs"]
mod processor;
mod stage;
mod take_over;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;
#[path = "../../../tenure/benches/costs/used_by.rs"]
mod used_by;

use std::process::ExitCode;

use parts::Part;
use tokio::runtime::Builder;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Error>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// What can be measured by itself.
const PARTS: [(&str, Part<Error>); 2] = [
    ("takeover", |quick, targets| block_on(take_over::measure(quick, targets))),
    ("load", |quick, targets| block_on(load::measure(quick, targets))),
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
    let on = format!(
        "One broker of Kafka {}; each part has one of its own. All processes of an election are in \
         this one, each with clients of its own, and have the default settings.\n",
        stage::VERSION.number()
    );
    match parts::measure(&PARTS, &arguments, &on) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
