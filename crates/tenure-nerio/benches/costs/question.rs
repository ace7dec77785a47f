//! The question whether a node still leads, which the work asks before each act.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use tenure::clock;
use tokio::runtime::Builder;

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::node;
use crate::sample::Samples;
use crate::target::Targets;

const BATCH: u32 = 1_000;

/// Nanoseconds of one call, the mean of a batch.
fn batch<T>(mut call: impl FnMut() -> T) -> f64 {
    let began = clock::now();
    for _ in 0..BATCH {
        black_box(call());
    }
    clock::now().since(began).as_nanos() as f64 / f64::from(BATCH)
}

pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let batches = if quick { 1_000 } else { 5_000 };
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let cluster = Cluster::start(Settings::new()?)?;
    let node = node(&cluster, "one")?;
    let leadership = runtime.block_on(node.election("billing")?.campaign("10.0.0.7:8080"))?;
    let edicts_of = node.edicts(&leadership)?;
    let mut samples = [const { Samples::new() }; 3];
    let [reads, questions, edicts] = &mut samples;
    for _ in 0..batches {
        reads.push(batch(|| clock_gettime(ClockId::Boottime).tv_nsec));
        questions.push(batch(|| black_box(&leadership).is_current()));
        edicts.push(batch(|| black_box(&edicts_of).create()));
    }
    if !leadership.is_current() {
        return Err("the leadership was lost while it was asked".into());
    }
    println!("one call: mean of {BATCH} in a row, {batches} such batches of each in turn");
    reads.print("floor: clock_gettime(CLOCK_BOOTTIME)");
    questions.print("is_current()");
    edicts.print("Edicts::create(), made and dropped");
    targets.at_most(
        "is_current() over the clock read",
        questions.median() - reads.median(),
        3.0,
        " ns",
    );
    targets.at_most("Edicts::create()", edicts.median(), 40.0, " ns");
    Ok(())
}
