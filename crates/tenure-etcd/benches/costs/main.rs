//! Costs of elections on etcd, beside etcd's own election service and beside the bare requests.
//! `cargo xtask bench etcd` runs it; docs/internals/simulation.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

mod bare;
mod campaign;
mod crowd;
mod handover;
mod load;
#[path = "../../../tenure-nerio/benches/costs/parts.rs"]
mod parts;
#[path = "../../../tenure-nerio/benches/costs/program.rs"]
mod program;
#[path = "../../../tenure-nerio/benches/costs/sample.rs"]
mod sample;
mod stage;
#[path = "../../../tenure-nerio/benches/costs/target.rs"]
mod target;
mod waiters;

use std::process::ExitCode;

use parts::Part;
use program::{Error, Result, block_on};
use tenure_services::etcd::SERVICE;

const PARTS: [(&str, Part<Error>); 5] = [
    ("campaign", |quick, _| block_on(campaign::measure(quick))),
    ("handover", |quick, targets| block_on(handover::measure(quick, targets))),
    ("waiters", |quick, targets| block_on(waiters::measure(quick, targets))),
    ("crowd", |quick, targets| block_on(crowd::measure(quick, targets))),
    ("load", |quick, targets| block_on(load::measure(quick, targets))),
];

fn main() -> ExitCode {
    program::run(|arguments| match arguments {
        [_, first, endpoint, number] if first == crowd::MEMBER => {
            block_on(crowd::wait(endpoint, number.parse()?))
        }
        _ => {
            let number = SERVICE.number(stage::VERSION);
            let on = format!("One member of etcd {number}; each part has one of its own.\n");
            parts::measure(&PARTS, arguments, &on)
        }
    })
}
