//! What elections on NATS cost, beside an election by NATS's own key-value bucket.
//! `cargo xtask bench allcall` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bucket;
mod elections;
mod load;
mod meter;
#[path = "../../../tenure/benches/costs/parts.rs"]
mod parts;
mod stage;
mod take_over;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;
#[path = "../../../tenure/benches/costs/used_by.rs"]
mod used_by;

use std::process::ExitCode;

use parts::Part;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Error>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// What can be measured by itself.
const PARTS: [(&str, Part<Error>); 4] = [
    ("load", |quick, targets| stage::block_on(load::measure(quick, targets))),
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
    let on = format!(
        "One server of {}; each part has one of its own. All participants are of one process, \
         each with a thread and a connection.\n",
        stage::VERSION
    );
    match parts::measure(&PARTS, &arguments, &on) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
