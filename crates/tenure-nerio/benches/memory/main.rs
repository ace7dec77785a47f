//! Heap bytes of an election. `cargo xtask bench` runs it; docs/internals/simulation.md explains.
//!
//! This is a program of its own, because its counting allocator would slow down every other
//! measurement.
#![expect(clippy::print_stdout, reason = "a measurement talks on standard output")]

#[path = "../common/mod.rs"]
mod common;

use std::process::ExitCode;
use std::thread::sleep;

use common::cluster::Cluster;
use common::process::Process;
use common::{CHILD, Result, cluster, is_asked_to_measure, role};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const FEW: usize = 100;
const MANY: usize = 10_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, role)) if first == CHILD => role::play(role, || HEAP.current_usage()),
        _ if is_asked_to_measure(&arguments) => measure(),
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

fn measure() -> Result<()> {
    let mut cluster = Cluster::start(cluster::Settings::new()?)?;
    let mut candidate = cluster.candidate("one")?;
    let mut read = |count: usize| -> Result<(u64, u64)> {
        let held: usize = candidate.ask(&format!("hold {count}"))?.parse()?;
        if held != count {
            return Err(format!("{held} of {count} elections are held").into());
        }
        // Let every election be renewed for a full lease, so that buffers reach their size.
        sleep(cluster.settings.lease);
        Ok((heap(&mut candidate)?, heap(&mut cluster.grantors[0])?))
    };
    let few = read(FEW)?;
    let many = read(MANY)?;
    let each = |few: u64, many: u64| many.saturating_sub(few) / (MANY - FEW) as u64;
    println!("memory for each election: allocated bytes, {MANY} held less {FEW} held, over {}", {
        MANY - FEW
    });
    println!("  candidate, its handle included {:>10} B", each(few.0, many.0));
    println!("  grantor                        {:>10} B", each(few.1, many.1));
    Ok(())
}

fn heap(process: &mut Process) -> Result<u64> {
    Ok(process.ask("heap")?.parse()?)
}
