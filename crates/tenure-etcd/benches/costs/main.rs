//! What elections on etcd cost, beside etcd's own election service and beside the bare requests.
//! `cargo xtask bench etcd` runs it; docs/benchmarks.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod campaign;
mod crowd;
mod handover;
mod load;
mod looks;
#[path = "../../../tenure/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure/benches/costs/sample.rs"]
mod sample;
mod stage;
#[path = "../../../tenure/benches/costs/target.rs"]
mod target;
mod waiters;

use std::process::ExitCode;

use parts::Part;

/// Whatever goes wrong ends the run: nothing is measured then.
pub(crate) type Result<T> = std::result::Result<T, Error>;
type Error = Box<dyn std::error::Error + Send + Sync>;

/// What can be measured by itself.
const PARTS: [(&str, Part<Error>); 6] = [
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
        _ => {
            let on = format!("One member of {}; each part has one of its own.\n", stage::VERSION);
            parts::measure(&PARTS, &arguments, &on)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
