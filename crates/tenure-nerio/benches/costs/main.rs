//! Costs of Nerio beside the costs that every election has. `cargo xtask bench` runs it;
//! docs/internals/simulation.md explains.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

#[path = "../common/mod.rs"]
mod common;
mod floor;
mod gone;
mod keys;
mod latency;
mod load;
mod loss;
mod pair;
mod parts;
mod placements;
mod question;
mod sample;
mod target;

use std::process::ExitCode;

use common::cluster::Cluster;
use common::{CHILD, Result, is_asked_to_measure, role};
use parts::Part;
use tenure_nerio::Node;

/// Measurements that can run alone.
const PARTS: [(&str, Part<Box<dyn std::error::Error>>); 7] = [
    ("campaign", latency::campaign),
    ("handover", latency::handover),
    ("keys", keys::measure),
    ("question", question::measure),
    ("loss", loss::measure),
    ("gone", gone::measure),
    ("load", load::measure),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, role)) if first == CHILD => match role {
            [role] if role == "echo" => floor::echo(),
            role => role::play(role, || 0),
        },
        _ if is_asked_to_measure(&arguments) => parts::measure(&PARTS, &arguments, ""),
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A node of this process, which only campaigns.
fn node(cluster: &Cluster, name: &str) -> Result<Node> {
    Ok(cluster.settings.node(name, false)?.start()?)
}
