//! Loss of a machine with the leader and one of three grantors.

use std::thread::sleep;
use std::time::Duration;

use tenure::{Time, clock};
use tokio::runtime::Builder;

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::common::process::Process;
use crate::node;
use crate::sample::{Nanos, Samples};
use crate::target::Targets;

const LEASE: Duration = Duration::from_secs(2);
/// Longest take-over, as a multiple of the rest of the lease. Grantors hold a lease a little longer
/// than its leader, because of the clock drift.
const BEYOND: f64 = 1.02;

pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 3 } else { 10 };
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let mut cluster = Cluster::start(Settings { lease: LEASE, ..Settings::new()? })?;
    let election = node(&cluster, "one")?.election("service-00000")?;
    let trip = trip(&runtime, &cluster)?;
    println!(
        "loss of a machine: kill -9 of a leader that is also one of 3 grantors, {rounds} rounds"
    );
    println!("  lease {LEASE:?}, round trip {} (median campaign)", Nanos(trip));
    let mut ratios = Samples::new();
    let mut worst = f64::MIN;
    for _ in 0..rounds {
        let mut lost = cluster.grantors.remove(0);
        lost.ask("hold 1")?;
        let (left, took, leadership) = runtime.block_on(async {
            let mut waiting = Box::pin(election.campaign("10.0.0.8:8080"));
            tokio::select! {
                _ = &mut waiting => return Err("two leaders at once".into()),
                () = tokio::time::sleep(LEASE / 2) => {}
            }
            let until = until_renewed(&mut lost)?;
            let began = clock::now();
            drop(lost);
            let leadership = waiting.await?;
            let took = clock::now().since(began);
            Ok::<_, Box<dyn std::error::Error>>((until.since(began), took, leadership))
        })?;
        let left = left.as_nanos() as f64;
        let took = took.as_nanos() as f64;
        let ratio = (took - trip) / left;
        println!(
            "  remaining {:>9}  taken over after {:>9}  less a round trip {ratio:.4}",
            { Nanos(left).to_string() },
            Nanos(took)
        );
        ratios.push(ratio);
        worst = worst.max(ratio);
        runtime.block_on(leadership.resign());
        let again = cluster.grantor("a", "existing")?;
        cluster.grantors.insert(0, again);
    }
    targets.at_most("median of (take-over − round trip) / remaining", ratios.median(), BEYOND, "");
    targets.at_most("the slowest of them", worst, BEYOND, "");
    Ok(())
}

/// Waits until the leader has just renewed, and returns the end of its lease by its own claim. A
/// renewal between the question and the end of the process would extend the lease.
fn until_renewed(leader: &mut Process) -> Result<Time> {
    loop {
        let until = Time::from_nanos(leader.ask("until")?.parse()?);
        if until.since(clock::now()) > LEASE.mul_f64(0.8) {
            return Ok(until);
        }
        sleep(Duration::from_millis(20));
    }
}

/// The time of an uncontended campaign in this cluster.
fn trip(runtime: &tokio::runtime::Runtime, cluster: &Cluster) -> Result<f64> {
    let election = node(cluster, "two")?.election("round-trip")?;
    let mut trips = Samples::new();
    for _ in 0..50 {
        sleep(Duration::from_millis(2));
        let began = clock::now();
        let leadership = runtime.block_on(election.campaign(""))?;
        trips.push_span(clock::now().since(began));
        runtime.block_on(leadership.resign());
    }
    Ok(trips.median())
}
