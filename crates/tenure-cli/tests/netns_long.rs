//! Two CMDs never run at once, with a machine for each process: the rounds of `chaos` in network
//! namespaces, with partitions and loss by iptables.
//!
//! Needs root, `ip` (iproute2) and `iptables`; `cargo xtask test --long` runs it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, though without #[test]")]
#![allow(dead_code, reason = "uses its part of what `chaos` has")]

#[path = "chaos/cluster.rs"]
mod cluster;
#[path = "chaos/faults.rs"]
mod faults;
#[path = "chaos/host.rs"]
mod host;
#[path = "chaos/journal.rs"]
mod journal;
#[path = "chaos/judge.rs"]
mod judge;
#[path = "chaos/line.rs"]
mod line;
#[path = "chaos/marked.rs"]
mod marked;
#[path = "chaos/namespaces.rs"]
mod namespaces;
#[path = "chaos/network.rs"]
mod network;
#[path = "chaos/rng.rs"]
mod rng;
#[path = "chaos/rounds.rs"]
mod rounds;
#[path = "chaos/wait.rs"]
mod wait;
#[path = "chaos/worker.rs"]
mod worker;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use crate::namespaces::Namespaces;

/// Each kind of fault three times.
const ROUNDS: usize = 42;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|role| role.to_str()) {
        Some(worker::ROLE) => worker::main(args),
        _ => {
            let trials = vec![Trial::test("two_commands_never_run_at_once", || {
                let command = "TENURE_SEED={} cargo test -p tenure-cli --test netns_long";
                rounds::play(ROUNDS, command, |_| Namespaces::create());
                Ok(())
            })];
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}
