//! Costs of elections on Kafka, beside a take-over in a bare consumer group. `cargo xtask bench
//! nele` runs it; docs/internals/simulation.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod load;
mod ours;
#[path = "../../../tenure-nerio/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure-nerio/benches/costs/processor.rs"]
mod processor;
#[path = "../../../tenure-nerio/benches/costs/program.rs"]
mod program;
mod stage;
mod take_over;
#[path = "../../../tenure-nerio/benches/costs/target.rs"]
mod target;
#[path = "../../../tenure-nerio/benches/costs/used_by.rs"]
mod used_by;

use std::process::ExitCode;

use parts::Part;
use program::{Error, Result, block_on};
use tenure_services::kafka::SERVICE;

const PARTS: [(&str, Part<Error>); 2] = [
    ("takeover", |quick, targets| block_on(take_over::measure(quick, targets))),
    ("load", |quick, targets| block_on(load::measure(quick, targets))),
];

fn main() -> ExitCode {
    let on = format!(
        "One broker of Kafka {}; each part has one of its own. All processes of an election are in \
         this one, each with clients of its own, and have the default settings.\n",
        SERVICE.number(stage::VERSION)
    );
    program::run(|arguments| parts::measure(&PARTS, arguments, &on))
}
