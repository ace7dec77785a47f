//! Costs of elections between regional voters, beside bare exchanges over HTTP. `cargo xtask bench
//! voter` runs it; docs/internals/simulation.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod company;
mod distance;
mod election;
mod idle;
#[path = "../../../tenure-nerio/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure-nerio/benches/costs/processor.rs"]
mod processor;
#[path = "../../../tenure-nerio/benches/costs/program.rs"]
mod program;
#[path = "../../../tenure-nerio/benches/costs/sample.rs"]
mod sample;
#[path = "../../../tenure-nerio/benches/costs/target.rs"]
mod target;

use std::process::ExitCode;

use parts::Part;
use program::{Error, Result, block_on};

const PARTS: [(&str, Part<Error>); 2] = [
    ("election", |quick, targets| block_on(election::measure(quick, targets))),
    ("idle", |quick, targets| block_on(idle::measure(quick, targets))),
];

fn main() -> ExitCode {
    let on = "All voters are of one process, each with a thread, connections and a state directory \
              of its own; they speak HTTP on loopback.\n";
    program::run(|arguments| parts::measure(&PARTS, arguments, on))
}
