//! Costs of elections on NATS, beside an election by NATS's own key-value bucket. `cargo xtask
//! bench allcall` runs it; docs/internals/simulation.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bucket;
mod elections;
mod load;
mod meter;
#[path = "../../../tenure-nerio/benches/costs/parts.rs"]
mod parts;
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
use tenure_services::nats::SERVICE;

const PARTS: [(&str, Part<Error>); 4] = [
    ("load", |quick, targets| block_on(load::measure(quick, targets))),
    ("takeover", |quick, targets| block_on(take_over::measure(quick, targets))),
    ("elections", |quick, targets| block_on(elections::measure(quick, targets))),
    ("bucket", |quick, _| block_on(bucket::measure(quick))),
];

fn main() -> ExitCode {
    let on = format!(
        "One server of NATS {}; each part has one of its own. All participants are of one process, \
         each with a thread and a connection.\n",
        SERVICE.number(stage::VERSION)
    );
    program::run(|arguments| parts::measure(&PARTS, arguments, &on))
}
